// Package clock is the one place where holdoff reads time. Every public package
// aliases Clock, so that one fake serves all of them.
package clock

import "time"

// A Clock tells the time and waits for it. The fakes of clockwork,
// benbjohnson/clock and k8s.io/utils/clock satisfy it as they are.
// Implementations must be safe for concurrent use.
type Clock interface {
	// Now returns the current time.
	Now() time.Time
	// After returns a channel that receives once, when d has passed.
	After(d time.Duration) <-chan time.Time
}

// A Reading is one look at both of a clock's times.
type Reading struct {
	Wall time.Time     // the time of day; it can be set, and goes on while the host sleeps
	Mono time.Duration // since an arbitrary start; it never steps, and stands still while the host sleeps
}

// A Reader is a Clock whose two times differ. A fake clock has only one, and
// need not be a Reader.
type Reader interface {
	Clock
	Read() Reading
}

// Or returns c, or the real clock when c is nil.
func Or(c Clock) Clock {
	if c == nil {
		return Real{}
	}
	return c
}

// Real is the system's clock. It behaves under testing/synctest.
type Real struct{}

// started is where Real's monotonic readings count from.
var started = time.Now()

// Now returns the system's time.
func (Real) Now() time.Time { return time.Now() }

// After waits on the system's time.
func (Real) After(d time.Duration) <-chan time.Time { return time.After(d) }

// Read returns the system's two times.
func (Real) Read() Reading {
	now := time.Now()
	return Reading{Wall: now, Mono: now.Sub(started)}
}

// Until returns what is left of real time until a context's deadline, which is
// real whatever clock the caller uses.
func Until(deadline time.Time) time.Duration { return time.Until(deadline) }
