package spawn

import (
	"time"

	"github.com/cenkalti/backoff/v4"

	"github.com/holdoff-go/holdoff/retry"
)

// A ladder is the policy's for one run, with a look at the step after the next:
// whether a retry is the last one decides how it queues.
type ladder struct {
	steps  backoff.BackOff
	ahead  time.Duration // the step after the one handed out
	looked bool
}

func newLadder(p retry.Policy) *ladder { return &ladder{steps: p.BackOff()} }

// next returns the wait before the next retry, and whether that retry is the
// last; ok is false when there is none.
func (l *ladder) next() (wait time.Duration, last, ok bool) {
	if !l.looked {
		l.ahead, l.looked = l.steps.NextBackOff(), true
	}
	wait = l.ahead
	if wait == backoff.Stop {
		return 0, false, false
	}
	l.ahead = l.steps.NextBackOff()
	return wait, l.ahead == backoff.Stop, true
}

// reset starts the ladder anew.
func (l *ladder) reset() {
	l.steps.Reset()
	l.looked = false
}
