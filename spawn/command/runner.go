package command

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
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
	// Grace is the time between SIGTERM and SIGKILL when the context ends. It is
	// real time. 0 is 5 s; negative is none: SIGKILL at once. The pipes of a command
	// that has ended are read on for as long, or for 5 s if it is negative, unless
	// cmd.WaitDelay says otherwise.
	Grace time.Duration
}

// Run runs cmd to its end, and returns what it wrote to its standard output, also
// with an error. cmd is one made by exec.Command that has not been started, a new
// one for each attempt. A Stdin that is not a file must come to an end by itself:
// os/exec waits for it.
//
// Writers in its Stdout and Stderr get what it writes as well; one that is both is
// never called by two goroutines at once. One that fails is not called again, and
// cmd goes on without it. The returned output is empty if there is a Stdout and no
// Record, so that a large one need not be held in memory.
//
// The error is nil if cmd ended by itself with exit code 0, without an error
// record, and all it wrote was read and passed on. It is a *retry.ProcessError
// otherwise, joined with the cause of ctx if cmd was still running when that
// ended; or the error of os/exec if cmd could not be started. It is
// exec.ErrWaitDelay too if a writer was so slow that the end of the output, where
// an error record may be, was not read in time.
func (r Runner) Run(ctx context.Context, cmd *exec.Cmd) ([]byte, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	grace := cmp.Or(r.Grace, defaultGrace)
	var output bytes.Buffer
	end := &tail{max: maxStderr}
	stdout, stderr := &stream{to: cmd.Stdout}, &stream{to: cmd.Stderr, keep: end}
	if same(cmd.Stdout, cmd.Stderr) {
		both := &locked{to: cmd.Stdout}
		stdout.to, stderr.to = both, both
	}
	if cmd.Stdout == nil || r.Record != nil {
		stdout.keep = &output
	}
	if _, file := cmd.Stdout.(*os.File); !file || stdout.keep != nil {
		cmd.Stdout = stdout // cmd writes to a file by itself
	}
	cmd.Stderr = stderr
	// os/exec takes 0 for no limit. How long output is read has nothing to do with
	// how soon a command is killed.
	cmd.WaitDelay = cmp.Or(cmd.WaitDelay, max(grace, 0), defaultGrace)
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
			stopped <- group.end(grace, ended)
		}
	}()
	err := cmd.Wait()
	close(ended)
	canceled := <-stopped

	if errors.Is(err, exec.ErrWaitDelay) {
		if stdout.cut || stderr.cut {
			err = fmt.Errorf("the end of its output was not read in %v: %w", cmd.WaitDelay, err)
		} else {
			// It has ended well, and others hold its pipes.
			err = cmp.Or(stdout.err, stderr.err)
		}
	}
	failure := r.failure(cmd, err, output.Bytes(), end.bytes())
	if canceled {
		// Also if it ended well: it was asked to end before it had.
		failure = errors.Join(context.Cause(ctx), failure)
	}
	return output.Bytes(), failure
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
	failure := &retry.ProcessError{ExitCode: cmd.ProcessState.ExitCode(), Stderr: stderr, Record: record, Err: err}
	if failure.ExitCode == 0 && len(record) == 0 {
		return fmt.Errorf("command: %w: %w", err, failure) // the code does not tell
	}
	return failure
}

// after is real time: a process lives in it, whatever clock the fleet has.
func after(d time.Duration) <-chan time.Time { return clock.Real{}.After(d) }
