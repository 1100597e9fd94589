package command

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"

	"github.com/holdoff-go/holdoff/internal/clock"
	"github.com/holdoff-go/holdoff/retry"
)

const (
	// defaultGrace is enough to save a session file, and little beside a pause.
	defaultGrace = 5 * time.Second
	// maxStderr is how much of the end of standard error is kept: the reason comes
	// last.
	maxStderr = 64 << 10
)

// A Runner runs commands. Its zero value is ready to use. It is safe for
// concurrent use.
type Runner struct {
	// Record returns the error record in what a command wrote to its standard
	// output, or nil for none. It is called when the command has ended. JSON is one
	// for agents with a JSON mode. nil looks for none, and standard output is not
	// looked at.
	Record func(stdout []byte) []byte
	// Grace is the time between SIGTERM and SIGKILL when the context ends, and for
	// which the pipes of a command that has ended are read on, if others hold them.
	// It is real time. 0 is 5 s; negative is none: SIGKILL at once.
	Grace time.Duration
}

// Run runs cmd to its end, and returns what it wrote to its standard output, also
// with an error. cmd is one made by exec.Command that has not been started, a new
// one for each attempt. Writers in its Stdout and Stderr get what it writes as
// well; the returned output is empty if there is a Stdout and no Record, so that a
// large one need not be held in memory. A Stdin that is not a file must come to an
// end by itself: os/exec waits for it.
//
// The error is nil if cmd ended by itself with exit code 0 and no error record. It
// is a *retry.ProcessError otherwise, joined with the cause of ctx if that ended
// the command; or the error of os/exec if cmd could not be started.
func (r Runner) Run(ctx context.Context, cmd *exec.Cmd) ([]byte, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	grace := max(0, cmp.Or(r.Grace, defaultGrace))
	var stdout bytes.Buffer
	stderr := &tail{max: maxStderr}
	switch {
	case cmd.Stdout == nil:
		cmd.Stdout = &stdout
	case r.Record != nil:
		cmd.Stdout = io.MultiWriter(cmd.Stdout, &stdout)
	}
	if cmd.Stderr == nil {
		cmd.Stderr = stderr
	} else {
		cmd.Stderr = io.MultiWriter(cmd.Stderr, stderr)
	}
	// os/exec takes 0 for no limit.
	cmd.WaitDelay = cmp.Or(cmd.WaitDelay, max(grace, time.Millisecond))
	if cmd.Cancel != nil {
		// One made by CommandContext would kill its process without any grace.
		cmd.Cancel = func() error { return os.ErrProcessDone }
	}
	group := newGroup(cmd)
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("command: %w", err)
	}

	ended := make(chan struct{})
	stopped := make(chan bool)
	go func() {
		select {
		case <-ended:
			stopped <- false
		case <-ctx.Done():
			group.end(grace, ended)
			stopped <- true
		}
	}()
	err := cmd.Wait()
	close(ended)
	canceled := <-stopped

	if errors.Is(err, exec.ErrWaitDelay) {
		err = nil // it has ended well; others hold its pipes
	}
	failure := r.failure(cmd, err, stdout.Bytes(), stderr.bytes())
	switch {
	case canceled:
		// Also if it ended well: it was asked to end before it had.
		return stdout.Bytes(), errors.Join(context.Cause(ctx), failure)
	case failure != nil:
		return stdout.Bytes(), failure
	default:
		return stdout.Bytes(), nil
	}
}

// failure returns how the command failed, if it did: the record first, because
// an exit code of 0 does not outweigh it.
func (r Runner) failure(cmd *exec.Cmd, err error, stdout, stderr []byte) error {
	var record []byte
	if r.Record != nil {
		record = r.Record(stdout)
	}
	if err == nil && len(record) == 0 {
		return nil
	}
	return &retry.ProcessError{ExitCode: cmd.ProcessState.ExitCode(), Stderr: stderr, Record: record, Err: err}
}

// after is real time: a process lives in it, whatever clock the fleet has.
func after(d time.Duration) <-chan time.Time { return clock.Real{}.After(d) }
