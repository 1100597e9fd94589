//go:build !unix

package command

import (
	"errors"
	"os"
	"os/exec"
	"time"
)

// A group is a command alone: there are no process groups here.
type group struct{ cmd *exec.Cmd }

func newGroup(cmd *exec.Cmd) group { return group{cmd} }

// end kills the command, and reports whether it was still running. There is no
// way to ask it first.
func (g group) end(time.Duration, <-chan struct{}) bool {
	return !errors.Is(g.cmd.Process.Kill(), os.ErrProcessDone)
}
