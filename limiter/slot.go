package limiter

import (
	"context"
	"fmt"
	"time"
)

// A Slot is leave to run one worker. Its reports say what the upstream answered
// to the worker, with the slot's origin: the limiter knows whether the call
// began before or after the last refusal. A slot must be released once; further
// Releases do nothing. All methods are safe for concurrent use, and do nothing
// on a nil Slot, which is what a failed Acquire returns. A Slot comes from Acquire;
// its zero value is of no use.
//
// A Slot of a Gate stands for one in each of its limiters. Its success is one for
// all of them; its refusals are of the narrowest, and At says so of another.
type Slot struct {
	pass
	released bool // guarded by the limiter's lock
}

// acquire gets s from the limiters that it names. That its callers make it lets
// the compiler put it on the stack where they are inlined; so for tryAcquire and
// for the wait of a Call.
func (s *Slot) acquire(ctx context.Context, p Priority) (*Slot, error) {
	if p < Normal || p > Emergency {
		return nil, fmt.Errorf("limiter: priority is %d: it must be Normal, Resumed or Emergency", int(p))
	}
	if err := s.enter(ctx, p); err != nil {
		return nil, err
	}
	return s, nil
}

func (s *Slot) tryAcquire() (*Slot, error) {
	if err := s.tryEnter(); err != nil {
		return nil, err
	}
	return s, nil
}

// Release gives the slot back. It says nothing about the upstream: without a
// report before it, a probe passes its turn on.
func (s *Slot) Release() {
	if s == nil {
		return
	}
	d := s.limiter.domain
	d.mu.Lock()
	if !s.released {
		s.released = true
		t := s.advance()
		s.release()
		s.handOut(t)
	}
	d.unlock()
}

// Wait gates one further call that is made under this slot, as Limiter.Wait
// does. While the slot is a probe that has not been answered, its Call answers
// for it.
func (s *Slot) Wait(ctx context.Context) (*Call, error) {
	if s == nil {
		return nil, context.Cause(ctx)
	}
	return (&Call{pass: s.again(), slot: &s.pass}).wait(ctx)
}

// At returns the slot's part at one limiter of a Gate, to report by: that of the
// first of scopes that the gate has a key of, else that of the narrowest key, which
// is the only part of a slot that no Gate gave. Of several keys of a scope it is
// the narrowest.
func (s *Slot) At(scopes ...string) *Call {
	if s == nil {
		return nil
	}
	x := s.at(scopes)
	return &Call{pass: pass{limiter: x.limiter, origin: x.said()}, slot: x}
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
	if s == nil {
		return
	}
	for x := &s.pass; x != nil; x = x.wider {
		x.limiter.succeed(&x.origin)
	}
}

// A Call is one call of running work, got from Wait. Its reports are those of a
// Slot, with the origin of this call: a worker that makes many, in parallel too,
// has a Call for each. It holds nothing and needs no release. All methods are
// safe for concurrent use, and do nothing on a nil Call. Its zero value is of no use.
//
// A Call of a Gate is one at each of its limiters, as a Slot is.
type Call struct {
	pass
	slot *pass // of the slot it is made under; nil: none is known
}

func (c *Call) wait(ctx context.Context) (*Call, error) {
	if err := c.enter(ctx, call); err != nil {
		return nil, err
	}
	return c, nil
}

// At returns the call's part at one limiter of a Gate, as Slot.At does.
func (c *Call) At(scopes ...string) *Call {
	if c == nil {
		return nil
	}
	x := c.at(scopes)
	part := &Call{pass: pass{limiter: x.limiter, origin: x.said()}, slot: c.slot}
	for y := &c.pass; y != x && part.slot != nil; y = y.wider {
		part.slot = part.slot.wider
	}
	return part
}

// ReportRateLimited says that the call was refused; see Slot.ReportRateLimited.
func (c *Call) ReportRateLimited(retryAfter time.Duration) {
	if c != nil {
		c.limiter.refuse(c.answers(c.slot), ReasonRateLimited, retryAfter)
	}
}

// ReportOverloaded says that the upstream was short of capacity for the call.
func (c *Call) ReportOverloaded(retryAfter time.Duration) {
	if c != nil {
		c.limiter.refuse(c.answers(c.slot), ReasonOverloaded, retryAfter)
	}
}

// ReportSuccess says that the call was accepted.
func (c *Call) ReportSuccess() {
	if c == nil {
		return
	}
	slot := c.slot
	for x := &c.pass; x != nil; x = x.wider {
		x.limiter.succeed(x.answers(slot))
		if slot != nil {
			slot = slot.wider
		}
	}
}

// answers is the origin that a report of the call x is about: the slot's when both
// were admitted in one generation, so that a probe is answered by its first call.
func (x *pass) answers(slot *pass) *origin {
	if slot != nil && slot.origin.generation == x.origin.generation {
		return &slot.origin
	}
	return &x.origin
}

// An origin says when the call that a report is about was admitted. Its zero
// value is the unknown origin of the plain hooks. It has no field more than a
// compiler keeps in registers, which is half the cost of an Acquire.
type origin struct {
	generation uint64
	counted    bool // it belongs to a slot that was let in through the window
	gone       bool // which has been released since, and is in its count no more
	jumped     bool // and that took the pause's one turn for an emergency
}

func (o origin) known() bool { return o.generation != 0 }
