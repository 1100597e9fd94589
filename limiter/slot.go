package limiter

import (
	"context"
	"time"
)

// A Slot is leave to run one worker. Its reports say what the upstream answered
// to the worker, with the slot's origin: the limiter knows whether the call
// began before or after the last refusal. A slot must be released once; further
// Releases do nothing. All methods are safe for concurrent use, and do nothing
// on a nil Slot, which is what a failed Acquire returns.
type Slot struct {
	limiter  *Limiter
	origin   origin // its counted is guarded by limiter.mu
	released bool   // guarded by limiter.mu
}

// Release gives the slot back. It says nothing about the upstream: without a
// report before it, a probe passes its turn on.
func (s *Slot) Release() {
	if s == nil {
		return
	}
	l := s.limiter
	l.mu.Lock()
	if !s.released {
		s.released = true
		t := l.advance()
		l.state.release(s.origin)
		s.origin.counted = false
		l.handOut(t)
	}
	l.unlock()
}

// Wait gates one further call that is made under this slot, as Limiter.Wait
// does. While the slot is a probe that has not been answered, its Call answers
// for it.
func (s *Slot) Wait(ctx context.Context) (*Call, error) {
	if s == nil {
		return nil, context.Cause(ctx)
	}
	c, err := s.limiter.Wait(ctx)
	if err != nil {
		return nil, err
	}
	c.slot = s
	return c, nil
}

// ReportRateLimited says that the slot's call was refused, and that retryAfter
// should pass first; zero, negative and past times state nothing. It counts
// after Release too.
func (s *Slot) ReportRateLimited(retryAfter time.Duration) {
	if s != nil {
		s.limiter.refuse(&s.origin, ReasonRateLimited, retryAfter)
	}
}

// ReportOverloaded says that the upstream was short of capacity for the slot's
// call. Otherwise it is ReportRateLimited.
func (s *Slot) ReportOverloaded(retryAfter time.Duration) {
	if s != nil {
		s.limiter.refuse(&s.origin, ReasonOverloaded, retryAfter)
	}
}

// ReportSuccess says that the slot's call was accepted.
func (s *Slot) ReportSuccess() {
	if s != nil {
		s.limiter.succeed(&s.origin)
	}
}

// A Call is one call of running work, got from Wait. Its reports are those of a
// Slot, with the origin of this call: a worker that makes many, in parallel too,
// has a Call for each. It holds nothing and needs no release. All methods are
// safe for concurrent use, and do nothing on a nil Call.
type Call struct {
	limiter *Limiter
	origin  origin
	slot    *Slot // nil: none is known
}

// ReportRateLimited says that the call was refused; see Slot.ReportRateLimited.
func (c *Call) ReportRateLimited(retryAfter time.Duration) {
	if c != nil {
		c.limiter.refuse(c.answers(), ReasonRateLimited, retryAfter)
	}
}

// ReportOverloaded says that the upstream was short of capacity for the call.
func (c *Call) ReportOverloaded(retryAfter time.Duration) {
	if c != nil {
		c.limiter.refuse(c.answers(), ReasonOverloaded, retryAfter)
	}
}

// ReportSuccess says that the call was accepted.
func (c *Call) ReportSuccess() {
	if c != nil {
		c.limiter.succeed(c.answers())
	}
}

// answers is the origin that a report of c is about: the slot's when both were
// admitted in one generation, so that a probe is answered by its first call.
func (c *Call) answers() *origin {
	if c.slot != nil && c.slot.origin.generation == c.origin.generation {
		return &c.slot.origin
	}
	return &c.origin
}

// An origin says when the call that a report is about was admitted. Its zero
// value is the unknown origin of the plain hooks.
type origin struct {
	generation uint64
	known      bool
	counted    bool // it belongs to a slot that counts in the window
	jumped     bool // and that took the pause's one turn for an emergency
}
