package limiter

import (
	"time"

	"golang.org/x/time/rate"
)

// pace is a steady rate on the limiter's own time line.
type pace struct {
	limiter *rate.Limiter
	every   float64 // seconds a token
}

// newPace returns nil where there is none to keep.
func newPace(limit rate.Limit, burst int) *pace {
	if limit == 0 || limit == rate.Inf {
		return nil
	}
	return &pace{limiter: rate.NewLimiter(limit, burst), every: 1 / float64(limit)}
}

// clockTime is t as x/time/rate takes it: only differences matter to it.
func clockTime(t instant) time.Time { return time.Unix(0, 0).Add(t) }

// may says when a token is there. It takes none.
func (p *pace) may(t instant) answer {
	// The limiter itself rounds down to whole nanoseconds, so take does not fail
	// where this is zero.
	missing := 1 - p.limiter.TokensAt(clockTime(t))
	if missing <= 0 {
		return answer{}
	}
	wait := missing * p.every * float64(time.Second)
	if wait < 1 {
		return answer{}
	}
	at := never
	if wait < float64(never) {
		at = after(t, time.Duration(wait))
	}
	return answer{ReasonPace, at, at}
}

// full reports whether nothing of the burst is missing.
func (p *pace) full(t instant) bool {
	return p.limiter.TokensAt(clockTime(t)) >= float64(p.limiter.Burst())
}

// take takes a token that may has said is there.
func (p *pace) take(t instant) { p.limiter.AllowN(clockTime(t), 1) }
