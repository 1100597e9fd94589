package spawn

import (
	"time"

	"github.com/cenkalti/backoff/v4"

	"github.com/holdoff-go/holdoff/retry"
)

// A ladder is the policy's for one run, with a look ahead: whether a retry is the
// last one decides how it queues.
type ladder struct {
	steps backoff.BackOff
	wait  time.Duration // the step handed out last
	ahead time.Duration // the one after it
	taken int           // steps since the last reset
}

func newLadder(p retry.Policy) *ladder {
	l := &ladder{steps: p.BackOff()}
	l.reset()
	return l
}

// next takes the next step. When there is none, it returns the last again, and
// false.
func (l *ladder) next() (wait time.Duration, ok bool) {
	if l.last() {
		return l.wait, false
	}
	l.taken++
	l.wait, l.ahead = l.ahead, l.steps.NextBackOff()
	return l.wait, true
}

// last reports whether no step follows the present one.
func (l *ladder) last() bool { return l.ahead == backoff.Stop }

// reset starts the ladder anew.
func (l *ladder) reset() {
	l.steps.Reset()
	l.taken, l.wait = 0, 0
	l.ahead = l.steps.NextBackOff()
}
