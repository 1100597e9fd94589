package retry

import (
	"fmt"
	"os/exec"
	"strings"

	"github.com/holdoff-go/holdoff/retry/internal/evidence"
)

// ExitTryLater is the exit code by which a subprocess says that it was refused
// and may be run again later: EX_TEMPFAIL of sysexits.h.
const ExitTryLater = 75

// A ProcessError is the end of a subprocess as an error. Its standard output is
// left out on purpose: it is the work's own words, which may well speak of rate
// limits, and is never searched.
type ProcessError struct {
	// ExitCode is the exit code; -1 for a process that was killed. Of a killed
	// process (an exit code below 0, or 137) only the Record counts.
	ExitCode int
	// Stderr is what the process wrote to its standard error, or the end of it.
	// It does not count if it says that memory ran out.
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
	collectStderr(e.ExitCode, e.Stderr, to)
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
	if exit, ok := err.(*exec.ExitError); ok {
		collectStderr(to.ExitCode, exit.Stderr, to)
	}
	return true
}

// collectStderr notes what a process wrote to its standard error, if that is why
// it ended. A process that succeeded, or that was killed, did not end for what it
// had been complaining about: a worker that ran out of memory while it refreshed
// its token blames no credential.
func collectStderr(code int, stderr []byte, to *evidence.Evidence) {
	if code == 0 || code < 0 || code == exitKilled {
		return
	}
	if end := tail(stderr); !outOfMemory(end) {
		to.Prose(end)
	}
}

// exitKilled is what a shell or a container returns for a process that was ended
// by SIGKILL, as the kernel does when memory runs out: 128 + 9.
const exitKilled = 137

// outOfMemory reports whether a text speaks of the end of memory, as runtimes and
// the kernel do, in whole words: no zoom is an OOM.
func outOfMemory(text string) bool {
	for _, words := range [...]string{"out of memory", "outofmemory", "oom", "oomkilled"} {
		for at := 0; ; {
			i := indexFold(text[at:], words)
			if i < 0 {
				break
			}
			start, end := at+i, at+i+len(words)
			if (start == 0 || !isLetter(text[start-1]|0x20)) && (end == len(text) || words == "outofmemory" || !isLetter(text[end]|0x20)) {
				return true
			}
			at = end
		}
	}
	return false
}

// indexFold is strings.Index for words in lower case and a text in any.
func indexFold(text, words string) int {
	for i := 0; i+len(words) <= len(text); i++ {
		if text[i]|0x20 == words[0] && strings.EqualFold(text[i:i+len(words)], words) {
			return i
		}
	}
	return -1
}

// maxStderr is how much of the end of a process's standard error is read. What
// it said long before it ended, such as a refusal that it got over by itself, is
// not why it ended.
const maxStderr = 16 << 10

// tail returns the end of what a process wrote.
func tail(b []byte) string { return string(b[max(0, len(b)-maxStderr):]) }
