package spawn

import (
	"context"
	"time"

	"github.com/holdoff-go/holdoff/internal/outcall"
	"github.com/holdoff-go/holdoff/retry"
	"github.com/holdoff-go/holdoff/spawn/pool"
)

// leaveFor is how long a slot that was just got, or an Attempt.Wait, is leave for
// a call through a transport, which is then not gated a second time: the steady
// pace would count it twice. A call that begins later is gated anew, because the
// gate may have shut and opened again in between, and its answer would be taken
// for old news.
const leaveFor = time.Second

// calls is what an attempt knows of the calls that a transport makes in it, which
// are reported where they are made. Attempt.mu guards it.
type calls struct {
	leave   outcall.Reporter // for the next call; nil: none
	leaveAt time.Time        // when it was got

	reported bool // the worker's present call was: its Report and Progress are not news to the limiter
	begun    int  // how many calls have
	failure  *failure
}

// A failure is the last failed call that no success of a later one has answered.
// The worker's own error will as a rule be about the same.
type failure struct {
	verdict retry.Verdict
	at      time.Time
	begun   int  // calls, by then
	blamed  bool // the pool has been told of it
}

func (c *calls) give(leave outcall.Reporter, at time.Time) {
	c.leave, c.leaveAt, c.reported = leave, at, false
}

// transport is an Attempt as a transport sees it: an outcall.Attempt.
type transport struct{ *Attempt }

func (a transport) Classifier() retry.Classifier { return a.run.spawner.policy.Classifier }

func (a transport) Enter(ctx context.Context, l any) (outcall.Call, bool, error) {
	own := outcall.Same(l, a.run.limiter)
	c := &call{attempt: a.Attempt, lease: a.leased()}
	if own {
		if c.to = a.takeLeave(); c.to == nil {
			gated, lease, err := a.gate(ctx)
			if err != nil {
				return nil, true, err
			}
			c.to, c.lease = gated, lease
		}
	}
	a.mu.Lock()
	a.calls.begun++
	c.number = a.calls.begun
	a.calls.reported = a.calls.reported || own
	a.mu.Unlock()
	return c, own, nil
}

// takeLeave returns the leave that nobody has used yet; nil if there is none, or
// none that is still good.
func (a *Attempt) takeLeave() outcall.Reporter {
	a.mu.Lock()
	leave, at := a.calls.leave, a.calls.leaveAt
	a.calls.leave = nil
	a.mu.Unlock()
	if leave == nil || a.run.spawner.clock.Now().Sub(at) > leaveFor {
		return nil
	}
	if s := a.gates.Status(); s.Hold != "" || !s.BlockedUntil.IsZero() {
		return nil // Wait knows whether that is for calls too
	}
	return leave
}

// A call is one call of an attempt that a transport makes: an outcall.Call.
type call struct {
	attempt *Attempt
	to      outcall.Reporter // nil: the transport reports it, to a limiter of its own
	number  int
	lease   pool.Lease
}

func (c *call) Accepted() {
	a := c.attempt
	a.mu.Lock()
	a.answered, a.accepted = true, true
	if f := a.calls.failure; f != nil && c.number > f.begun {
		a.calls.failure = nil
	}
	a.mu.Unlock()
	if c.to != nil {
		c.to.ReportSuccess()
		a.run.spawner.accepted(c.lease)
	}
}

func (c *call) Failed(v retry.Verdict) {
	a := c.attempt
	now := a.run.spawner.clock.Now()
	a.mu.Lock()
	a.answered = false
	a.calls.failure = &failure{verdict: v, at: now, begun: a.calls.begun, blamed: c.to != nil}
	a.mu.Unlock()
	if c.to != nil {
		a.run.report(c.to, v)
		a.run.blame(c.lease, v, true)
	}
}

// explains reports whether an error that is v to the classifier tells of f. SDKs
// lose headers and bodies, and frameworks the rest, so an error of a refusal may
// have been a quota's, and one that says nothing any failure.
func (f *failure) explains(v retry.Verdict) bool {
	switch {
	case f == nil:
		return false
	case v.Class == retry.Unknown, v.Class == f.verdict.Class:
		return true
	default:
		return v.Class.Refusal() && f.verdict.Class != retry.Transient
	}
}

// now returns the verdict as of t: part of a stated wait has passed.
func (f *failure) now(t time.Time) retry.Verdict {
	v := f.verdict
	v.RetryAfter = max(0, v.RetryAfter-max(0, t.Sub(f.at)))
	return v
}
