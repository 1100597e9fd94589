package limiter

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// A Reason says in one stable word why the gate is shut. The empty Reason says
// that it is open.
type Reason string

// The reasons, in the order in which they are looked at.
const (
	ReasonNone        Reason = ""
	ReasonHold        Reason = "hold"         // an operator holds the gate; only Resume ends it
	ReasonRateLimited Reason = "rate_limited" // a pause after a refusal
	ReasonOverloaded  Reason = "overloaded"   // a pause after an overload
	ReasonProbing     Reason = "probing"      // after a pause: those let in have not been answered yet
	ReasonBudget      Reason = "budget"       // as many slots as the budget has are in flight
	ReasonPace        Reason = "pace"         // the steady pace of Config.Pace
	ReasonWaiting     Reason = "waiting"      // others are ahead in the queue
	ReasonQueueFull   Reason = "queue_full"   // Config.MaxWaiting callers wait already
	ReasonConfig      Reason = "config"       // of a Gate: GroupConfig.Config makes no sense for one of its keys
)

// A BlockedError says why a caller was not let in, and until when that is known
// to last. It comes from TryAcquire, from Acquire and Wait when the context's
// deadline ends before the gate can open, and from a full queue.
//
// It is context.DeadlineExceeded (for errors.Is) when a deadline was the cause.
type BlockedError struct {
	Name   string // of the limiter
	Reason Reason
	Until  time.Time // when the caller could first pass; zero when not known
	// Wanted is how long the caller would have had to wait, and Allowed what was
	// left until its deadline. Both are zero without a deadline or where Until is
	// not known.
	Wanted, Allowed time.Duration

	cause error // why waiting ended: the deadline
}

// Error returns one line that says what blocks and what to do.
func (e *BlockedError) Error() string {
	name := "limiter"
	if e.Name != "" {
		name += " " + e.Name
	}
	s := name + " is blocked (" + string(e.Reason) + ")"
	switch {
	case e.Reason == ReasonQueueFull:
		s = name + ": its queue is full; try again later or raise MaxWaiting"
	case !e.Until.IsZero():
		s += " until " + e.Until.Format(time.RFC3339)
	}
	switch {
	case e.Wanted > 0:
		s += fmt.Sprintf("; the wait of %v is longer than the %v left until the deadline",
			e.Wanted.Round(time.Millisecond), e.Allowed.Round(time.Millisecond))
	case e.cause != nil:
		s += "; the deadline ended the wait"
	}
	return s
}

// Is reports whether target is context.DeadlineExceeded and a deadline was the cause.
func (e *BlockedError) Is(target error) bool {
	return target == context.DeadlineExceeded && e.cause != nil
}

// Unwrap returns the cause that the context gave, if any.
func (e *BlockedError) Unwrap() error { return e.cause }

// Timeout reports whether a deadline was the cause. It is what net.Error asks.
func (e *BlockedError) Timeout() bool { return e.cause != nil }

// blockedBy returns the error for ctx, which has ended while its caller waited
// for what a says: a deadline becomes e, anything else is the context's cause.
func blockedBy(ctx context.Context, e *BlockedError) error {
	cause := context.Cause(ctx)
	if !errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return cause
	}
	e.cause = cause
	return e
}
