package limiter

import (
	"math"
	"time"
)

// An instant is a time on the limiter's own line (clock.Line), which starts at
// zero and never goes back.
type instant = time.Duration

const never instant = math.MaxInt64

// after is t+d, or never where that would overflow.
func after(t instant, d time.Duration) instant {
	if d > never-t {
		return never
	}
	return t + d
}

func twice(d time.Duration) time.Duration { return after(d, d) }
