package retry

import "fmt"

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
