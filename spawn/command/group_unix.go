//go:build unix

package command

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// A group is a command and its children, and theirs: a process group.
type group struct{ cmd *exec.Cmd }

// newGroup makes cmd, which has not been started, the leader of its own group.
func newGroup(cmd *exec.Cmd) group {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = new(syscall.SysProcAttr)
	}
	if !cmd.SysProcAttr.Setsid { // the leader of a session has a group of its own
		cmd.SysProcAttr.Setpgid, cmd.SysProcAttr.Pgid = true, 0
	}
	return group{cmd}
}

// end ends the group, and returns when it is dead or has been killed. It reports
// whether the leader was still running. ended is closed when the leader has ended,
// and its pipes are not read any more.
func (g group) end(grace time.Duration, ended <-chan struct{}) bool {
	running := !errors.Is(g.cmd.Process.Signal(syscall.Signal(0)), os.ErrProcessDone)
	if grace > 0 {
		g.signal(syscall.SIGTERM)
		select {
		case <-ended:
		case <-after(grace):
		}
	}
	// The leader may be gone while others of the group ignore the first signal. Its
	// number is not given to another process while they live, nor soon after.
	g.signal(syscall.SIGKILL)
	return running
}

func (g group) signal(s syscall.Signal) {
	// Only that there is nobody left to signal can fail.
	_ = syscall.Kill(-g.cmd.Process.Pid, s)
}
