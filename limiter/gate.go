package limiter

import (
	"context"
	"slices"
	"sync/atomic"
	"time"
)

// A Gate is some limiters of a Group as one, for work that belongs to several
// quotas: an account, a key of it, a model. It has the methods of a Limiter. Who
// passes is let in by all of them at once; who waits holds nothing in any, and is
// in nobody's way but of those who need the limiter that blocks.
//
// Callers of one priority are let in by order of arrival as far as they need the
// same: nobody is overtaken by a caller who needs all the limiters that he needs.
// One who needs fewer may go ahead, as often as those that he needs have room and
// the others have not.
//
// What is reported as a success is one for all of the limiters. What is reported
// as a refusal, or set by Hold and SetBudget, is of the narrowest, the last key
// given to Of; Slot.At and Call.At report to another. Resume opens all.
//
// A Gate is safe for concurrent use. It keeps nothing that other Gates of the same
// keys do not see.
type Gate struct {
	group    *Group
	keys     []Key                      // the narrowest first
	limiters atomic.Pointer[[]*Limiter] // of keys, as they were found; nil: nobody has looked
}

// Acquire waits for leave by all limiters to start one new worker, and returns its
// slot. It is AcquireAs with Normal.
func (g *Gate) Acquire(ctx context.Context) (*Slot, error) { return g.AcquireAs(ctx, Normal) }

// AcquireAs waits for a slot of all limiters with priority p. It fails as
// Limiter.AcquireAs does; the Name of a *BlockedError is that of the limiter that
// blocks, and of several the one that does so longest as far as is known. It also
// fails for a GroupConfig.Config that makes no sense.
func (g *Gate) AcquireAs(ctx context.Context, p Priority) (*Slot, error) {
	s := new(Slot)
	if err := g.ask(&s.pass); err != nil {
		return nil, err
	}
	return s.acquire(ctx, p)
}

// TryAcquire takes a slot of all limiters for new work, if each has one free now
// and nobody waits for it. Otherwise its *BlockedError names a limiter that has
// not.
func (g *Gate) TryAcquire() (*Slot, error) {
	s := new(Slot)
	if err := g.ask(&s.pass); err != nil {
		return nil, err
	}
	return s.tryAcquire()
}

// Wait gates one further call of work that is running already, as Limiter.Wait
// does, at all limiters.
func (g *Gate) Wait(ctx context.Context) (*Call, error) {
	c := new(Call)
	if err := g.ask(&c.pass); err != nil {
		return nil, err
	}
	return c.wait(ctx)
}

// ReportRateLimited is the hook for a refusal by the narrowest limiter; see
// Limiter.ReportRateLimited.
func (g *Gate) ReportRateLimited(retryAfter time.Duration) {
	if l := g.narrowest(); l != nil {
		l.ReportRateLimited(retryAfter)
	}
}

// ReportOverloaded is the hook for an overload of the narrowest limiter; see
// Limiter.ReportOverloaded.
func (g *Gate) ReportOverloaded(retryAfter time.Duration) {
	if l := g.narrowest(); l != nil {
		l.ReportOverloaded(retryAfter)
	}
}

// ReportSuccess is the hook for an accepted call, at all limiters; see
// Limiter.ReportSuccess.
func (g *Gate) ReportSuccess() {
	limiters, _ := g.find()
	for _, l := range limiters {
		l.ReportSuccess()
	}
}

// Hold shuts the narrowest limiter until Resume; see Limiter.Hold.
func (g *Gate) Hold(reason string) {
	if l := g.narrowest(); l != nil {
		l.Hold(reason)
	}
}

// Resume opens all limiters wholly, for callers of other gates too; see
// Limiter.Resume.
func (g *Gate) Resume(reason string) {
	limiters, _ := g.find()
	for _, l := range limiters {
		l.Resume(reason)
	}
}

// SetBudget sets the budget of the narrowest limiter and its ceiling to n; see
// Limiter.SetBudget.
func (g *Gate) SetBudget(n int) error {
	limiters, err := g.find()
	if err != nil {
		return err
	}
	return limiters[0].SetBudget(n)
}

// Status returns a snapshot of the limiter that keeps TryAcquire out, and of
// several the one that does so longest as far as is known; when none does, of the
// one with the least room. Storm is that of any of them, Hold the narrowest one,
// and Waiting all who wait at them. A Config that makes no sense is ReasonConfig.
func (g *Gate) Status() Status {
	limiters, err := g.find()
	if err != nil {
		return Status{Name: g.keys[0].String(), Reason: ReasonConfig}
	}
	d := g.group.domain
	d.mu.Lock()
	defer d.mu.Unlock()
	t := d.line.Now()
	var chosen Status
	var from instant
	var storm bool
	var hold string
	waiting := 0
	for i, l := range limiters {
		if !l.seated {
			if other := g.group.limiters[l.key]; other != nil {
				l = other
			}
		}
		s := l.state.at(t)
		st, b := l.status(&s, t), l.blocked(&s, t)
		if i == 0 || worse(st, chosen, b.from, from) {
			chosen, from = st, b.from
		}
		storm = storm || st.Storm
		if hold == "" {
			hold = st.Hold
		}
		waiting += st.Waiting
	}
	chosen.Storm, chosen.Hold, chosen.Waiting = storm, hold, waiting
	return chosen
}

// worse reports whether a, which cannot be passed before from, says more of why a
// gate is shut than b.
func worse(a, b Status, from, than instant) bool {
	switch blocks := a.Reason != ReasonNone; {
	case blocks != (b.Reason != ReasonNone):
		return blocks
	case blocks:
		return from > than
	default:
		return a.Budget-a.InFlight < b.Budget-b.InFlight
	}
}

// Keys returns the keys of the gate, the narrowest last.
func (g *Gate) Keys() []Key {
	keys := slices.Clone(g.keys)
	slices.Reverse(keys)
	return keys
}

// Equal reports whether g and other are the same limiters of the same group, in
// the same order.
func (g *Gate) Equal(other *Gate) bool {
	if g == nil || other == nil {
		return g == other
	}
	return g.group == other.group && slices.Equal(g.keys, other.keys)
}

// find returns the gate's limiters, the narrowest first. One that has been
// forgotten since says who is in its place, when it is asked.
func (g *Gate) find() ([]*Limiter, error) {
	if found := g.limiters.Load(); found != nil {
		return *found, nil
	}
	limiters := make([]*Limiter, len(g.keys))
	d := g.group.domain
	d.mu.Lock()
	for i, k := range g.keys {
		limiters[i] = g.group.limiters[k]
	}
	d.mu.Unlock()
	for i, k := range g.keys {
		if limiters[i] != nil {
			continue
		}
		l, err := g.group.make(k)
		if err != nil {
			return nil, err
		}
		limiters[i] = l
	}
	g.limiters.Store(&limiters)
	return limiters, nil
}

func (g *Gate) narrowest() *Limiter {
	limiters, err := g.find()
	if err != nil {
		return nil
	}
	return limiters[0]
}

// ask makes x ask all limiters of the gate.
func (g *Gate) ask(x *pass) error {
	limiters, err := g.find()
	if err != nil {
		return err
	}
	x.limiter = limiters[0]
	if wider := limiters[1:]; len(wider) > 0 {
		passes := make([]pass, len(wider))
		for i, l := range wider {
			passes[i].limiter = l
			x.wider = &passes[i]
			x = x.wider
		}
	}
	return nil
}
