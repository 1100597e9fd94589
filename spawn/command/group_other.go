//go:build !unix

package command

import (
	"os/exec"
	"time"
)

// A group is a command alone: there are no process groups here.
type group struct{ cmd *exec.Cmd }

func newGroup(cmd *exec.Cmd) group { return group{cmd} }

// end kills the command. There is no way to ask it first.
func (g group) end(time.Duration, <-chan struct{}) {
	_ = g.cmd.Process.Kill() // it fails for one that has ended
}
