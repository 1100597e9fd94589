package limiter

import (
	"time"

	"golang.org/x/time/rate"
)

// pace is a steady rate on the limiter's own time line. A nil pace is none.
type pace struct {
	limiter *rate.Limiter
	every   float64 // seconds a token
}

func newPace(limit rate.Limit, burst int) *pace {
	if limit == 0 || limit == rate.Inf {
		return nil
	}
	return &pace{limiter: rate.NewLimiter(limit, burst), every: 1 / float64(limit)}
}

// clockTime is t as x/time/rate takes it: only differences matter to it.
func clockTime(t instant) time.Time { return time.Unix(0, 0).Add(t) }

// delay is how long after t a token will be there. It takes none.
func (p *pace) delay(t instant) time.Duration {
	if p == nil {
		return 0
	}
	// The limiter itself rounds down to whole nanoseconds, so take does not fail
	// where this is zero.
	missing := 1 - p.limiter.TokensAt(clockTime(t))
	if missing <= 0 {
		return 0
	}
	if d := missing * p.every * float64(time.Second); d < float64(never) {
		return time.Duration(d)
	}
	return never / 2
}

// take takes a token that delay has said is there.
func (p *pace) take(t instant) {
	if p != nil {
		p.limiter.AllowN(clockTime(t), 1)
	}
}
