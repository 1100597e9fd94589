package retry

import (
	"fmt"
	"os/exec"

	"github.com/holdoff-go/holdoff/retry/internal/evidence"
)

// ExitTryLater is the exit code by which a subprocess says that it was refused
// and may be run again later: EX_TEMPFAIL of sysexits.h.
const ExitTryLater = 75

// A ProcessError is the end of a subprocess as an error. Its standard output is
// left out on purpose: it is the work's own words, which may well speak of rate
// limits, and is never searched.
type ProcessError struct {
	// ExitCode is the exit code; -1 for a process that was killed.
	ExitCode int
	// Stderr is what the process wrote to its standard error, or the end of it.
	Stderr []byte
	// Record is the error record the process emitted in a machine-readable mode,
	// such as one line of JSON. It counts whatever the exit code is.
	Record []byte
	// Err is the error of os/exec, if there is one.
	Err error
}

// Error returns the exit code and the start of the record or of stderr.
func (e *ProcessError) Error() string {
	s := fmt.Sprintf("exit code %d", e.ExitCode)
	said := e.Record
	if len(said) == 0 {
		said = e.Stderr
	}
	if line := oneLine(string(said[:min(len(said), 4*maxRule)]), maxRule); line != "" {
		s += ": " + line
	}
	return s
}

// Unwrap returns the error of os/exec.
func (e *ProcessError) Unwrap() error { return e.Err }

// collect notes what the process said of its failure. Exit code 0 without a
// record is a success, whatever is on standard error.
func (e *ProcessError) collect(to *evidence.Evidence) {
	to.Exited, to.ExitCode = true, e.ExitCode
	to.Text(string(e.Record[:min(len(e.Record), maxBody)]), true)
	if e.ExitCode != 0 {
		to.Prose(tail(e.Stderr))
	}
}

// collectExit notes an error of os/exec, or of a kin of it, and reports whether
// err is one. Its text is only "exit status 1".
func collectExit(err error, to *evidence.Evidence) bool {
	x, ok := err.(interface{ ExitCode() int })
	if !ok || to.Exited {
		return ok
	}
	defer func() { _ = recover() }() // an ExitError without a ProcessState
	to.Exited, to.ExitCode = true, x.ExitCode()
	if exit, ok := err.(*exec.ExitError); ok && to.ExitCode != 0 {
		to.Prose(tail(exit.Stderr))
	}
	return true
}

// maxStderr is how much of the end of a process's standard error is read. What
// it said long before it ended, such as a refusal that it got over by itself, is
// not why it ended.
const maxStderr = 16 << 10

// tail returns the end of what a process wrote.
func tail(b []byte) string { return string(b[max(0, len(b)-maxStderr):]) }
