package spawn

import (
	"time"

	"github.com/cenkalti/backoff/v4"

	"github.com/holdoff-go/holdoff/retry"
)

// A ladder is the policy's for one run, with a look at the step after the next:
// whether a retry is the last one decides how it queues.
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

// next takes the next step. Last says that none follows it. When none is left,
// ok is false and wait the one before.
func (l *ladder) next() (wait time.Duration, last, ok bool) {
	if l.ahead == backoff.Stop {
		return l.wait, true, false
	}
	l.taken++
	l.wait, l.ahead = l.ahead, l.steps.NextBackOff()
	return l.wait, l.ahead == backoff.Stop, true
}

// reset starts the ladder anew.
func (l *ladder) reset() {
	l.steps.Reset()
	l.taken, l.wait = 0, 0
	l.ahead = l.steps.NextBackOff()
}
