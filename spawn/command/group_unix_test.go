//go:build unix

package command_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdoff-go/holdoff/retry"
	"github.com/holdoff-go/holdoff/spawn/command"
)

// alive gives cmd a descriptor 3, and returns a function that waits until one of
// the processes that have it is ready, and one that waits until all of them are
// gone.
func alive(t *testing.T, cmd *exec.Cmd) (ready, gone func()) {
	r, w, err := os.Pipe()
	require.NoError(t, err)
	t.Cleanup(func() { _ = r.Close() })
	cmd.ExtraFiles = []*os.File{w}
	in := bufio.NewReader(r)
	return func() {
			_, err := in.ReadString('\n')
			require.NoError(t, err)
		}, func() {
			require.NoError(t, w.Close())
			_, err := io.ReadAll(in)
			require.NoError(t, err)
		}
}

func TestRun_Cancel(t *testing.T) {
	over := errors.New("the operator went home")
	for name, tt := range map[string]struct {
		role   string
		grace  time.Duration
		exit   int
		stdout string
	}{
		"a command that ends":                 {"waits", time.Hour, 1, ""},
		"one that claims success":             {"ends well when asked", time.Hour, 0, "half of it\n"},
		"one that does not listen":            {"does not listen", time.Millisecond, -1, ""},
		"without a grace":                     {"waits", -1, -1, ""},
		"one with a child":                    {"has a child", time.Hour, 1, ""},
		"one with a child that does not hear": {"has a child that does not listen", 100 * time.Millisecond, 1, ""},
	} {
		t.Run(name, func(t *testing.T) {
			cmd := agent(tt.role)
			ready, gone := alive(t, cmd)
			ctx, cancel := context.WithCancelCause(t.Context())
			go func() {
				ready()
				cancel(over)
			}()
			out, err := command.Runner{Grace: tt.grace}.Run(ctx, cmd)
			gone()
			require.ErrorIs(t, err, over)
			require.Equal(t, tt.stdout, string(out))
			require.Equal(t, retry.Canceled, retry.Standard(nil).Classify(ctx, err).Class)
			var failure *retry.ProcessError
			if tt.exit != 0 {
				require.ErrorAs(t, err, &failure)
				require.Equal(t, tt.exit, failure.ExitCode)
			}
		})
	}
}

func TestRun_CancelOfACommandMadeWithTheContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	plain := agent("ends well when asked")
	cmd := exec.CommandContext(ctx, plain.Path)
	cmd.Env = plain.Env
	ready, gone := alive(t, cmd)
	go func() {
		ready()
		cancel()
	}()
	out, err := command.Runner{Grace: time.Hour}.Run(ctx, cmd)
	gone()
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, "half of it\n", string(out), "it had its grace")
}

func TestRun_DoesNotWaitForWhoeverHoldsThePipes(t *testing.T) {
	cmd := agent("leaves a child")
	ready, gone := alive(t, cmd)
	out, err := command.Runner{Grace: 10 * time.Millisecond}.Run(t.Context(), cmd)
	require.NoError(t, err, "the command itself has ended well")
	require.Equal(t, "the artefact\n", string(out))
	ready() // the child is alive
	endGroup(t, cmd)
	gone()
}

// A command that has ended before its context is not canceled by it, although a
// process in the background still holds its pipes.
func TestRun_CancelAfterTheEnd(t *testing.T) {
	for role, exit := range map[string]int{"leaves a child that knows": 0, "fails and leaves a child that knows": 1} {
		t.Run(role, func(t *testing.T) {
			cmd := agent(role)
			ready, gone := alive(t, cmd)
			ctx, cancel := context.WithCancel(t.Context())
			go func() {
				ready()
				cancel()
			}()
			out, err := command.Runner{Grace: time.Hour}.Run(ctx, cmd)
			gone() // the context ends the group all the same
			require.Equal(t, "the artefact\n", string(out))
			if exit == 0 {
				require.NoError(t, err)
				return
			}
			require.NotErrorIs(t, err, context.Canceled)
			var failure *retry.ProcessError
			require.ErrorAs(t, err, &failure)
			require.Equal(t, exit, failure.ExitCode)
		})
	}
}

// An error record may be in what a slow writer has kept from being read.
func TestRun_OutputThatIsCutOffIsNoSuccess(t *testing.T) {
	cmd := agent("leaves a child that talks")
	_, gone := alive(t, cmd)
	first := true
	cmd.Stdout = writerFunc(func(p []byte) (int, error) {
		if first {
			first = false
			gone() // the child ends when nobody reads the pipe any more
		}
		return len(p), nil
	})
	out, err := command.Runner{Grace: time.Millisecond, Record: command.JSON}.Run(t.Context(), cmd)
	require.NotContains(t, string(out), "rate_limit_error")
	require.ErrorIs(t, err, exec.ErrWaitDelay)
	require.ErrorContains(t, err, "not read in 1ms")
	var failure *retry.ProcessError
	require.ErrorAs(t, err, &failure)
	require.Zero(t, failure.ExitCode)
}

// endGroup ends what a command has left in its group.
func endGroup(t *testing.T, cmd *exec.Cmd) {
	require.NoError(t, syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL))
}
