package spawn

import (
	"time"

	"github.com/holdoff-go/holdoff/retry"
)

// kept is how many of the first and of the last attempts a Result holds.
const kept = 16

// A Result is how a run ended.
type Result struct {
	ID    string
	State State
	// Attempts are the records of the first 16 and the last 16 attempts, in order.
	Attempts []AttemptRecord
	// Total is how many attempts there were.
	Total int
	// RetryAt is when the limit that ended the run is known to pass; zero when it
	// is not known, or no limit ended it.
	RetryAt time.Time
	// Checkpoint is what the attempts saved last, else Worker.Checkpoint; nil if
	// there is neither. To resume from it elsewhere, give it to a new Worker.
	Checkpoint any
	// Partial is the output that attempts handed out before they were done, as far
	// as it is kept: the last 1024 chunks. PartialDropped is how many came before.
	Partial        []Unverified
	PartialDropped int
	// Effects is the trace of what the attempts did to the world, by Once and by
	// Declare: the first 16 and the last 16, in the order in which they began.
	Effects []Effect
}

// An AttemptRecord is one attempt of a worker.
type AttemptRecord struct {
	ID         string // unique to the attempt within its run
	Number     int    // from 1
	Start, End time.Time
	// Verdict is what the classifier made of Err; its zero value for a success.
	Verdict retry.Verdict
	Err     error // nil for a success
}

// A Death is what the death path is told.
type Death struct {
	Result
	// Err is what Run returns: a *retry.Error with every attempt's cause.
	Err error
}

// add records an attempt, and drops from the middle what is too much.
func (r *Result) add(a AttemptRecord) {
	r.Total++
	r.Attempts = appendKept(r.Attempts, a)
}

// appendKept appends to a list of which the first and the last entries are kept.
func appendKept[T any](list []T, last T) []T {
	if len(list) < 2*kept {
		return append(list, last)
	}
	copy(list[kept:], list[kept+1:])
	list[2*kept-1] = last
	return list
}

// err returns the error of a run of class c that ended for the reasons given,
// which follow the causes of its attempts.
func (r *Result) err(c retry.Class, reasons ...error) *retry.Error {
	e := &retry.Error{Class: c, Attempts: r.Total, RetryAt: r.RetryAt}
	for _, a := range r.Attempts {
		if a.Err != nil {
			e.Causes = append(e.Causes, a.Err)
		}
	}
	for _, reason := range reasons {
		if reason != nil {
			e.Causes = append(e.Causes, reason)
		}
	}
	return e
}
