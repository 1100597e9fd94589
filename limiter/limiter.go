package limiter

import (
	"context"
	"fmt"
)

// A Limiter stands before one upstream quota and lets work through to it. All
// that it knows is one shared pause, which refusals open, and one budget of
// slots in flight, which they cut; both are fed by the three reports, and
// nothing else feeds them.
//
// Its three main methods are Acquire, TryAcquire and Wait. Acquire takes a slot
// for new work and waits for it; TryAcquire answers now; Wait gates one further
// call of work that runs already. Most callers use Acquire, or leave it to
// spawn, which reports as well.
//
// Waiters are let in by priority, and in order of arrival within one. A Limiter
// is safe for concurrent use. It must be made by New; it needs no Close, and
// runs a goroutine only while callers wait for a time.
type Limiter struct {
	name       string
	cut        func(budget, inFlight int) int
	maxWaiting int
	notify     notifier
	*domain

	// Guarded by domain.mu.
	state    state
	waiting  waitlist
	alarm    alarm
	unserved bool // it is in domain.unserved

	member // of a group; zero: alone
}

// New returns a limiter for cfg. The error names the field that makes no sense.
func New(cfg Config) (*Limiter, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	return newLimiter(cfg, newDomain(cfg.Clock)), nil
}

// newLimiter expects that cfg has its defaults.
func newLimiter(cfg Config, d *domain) *Limiter {
	return &Limiter{
		name:       cfg.Name,
		cut:        cfg.Cut,
		maxWaiting: cfg.MaxWaiting,
		notify:     notifier{onEvent: cfg.OnEvent, logger: cfg.Logger},
		domain:     d,
		state:      newState(cfg.rules(), cfg.Budget),
	}
}

// Acquire waits for leave to start one new worker, and returns its slot. It is
// AcquireAs with Normal.
func (l *Limiter) Acquire(ctx context.Context) (*Slot, error) {
	return (&Slot{pass: pass{limiter: l}}).acquire(ctx, Normal)
}

// AcquireAs waits for a slot with priority p. It fails
//   - with the context's cause, when the context has ended or is canceled;
//   - with a *BlockedError that is context.DeadlineExceeded, at once when the
//     deadline ends before the gate can open for p, else when it ends;
//   - with a *BlockedError of ReasonQueueFull, at once, for Normal work when
//     Config.MaxWaiting callers wait already.
//
// The caller must Release the slot.
func (l *Limiter) AcquireAs(ctx context.Context, p Priority) (*Slot, error) {
	return (&Slot{pass: pass{limiter: l}}).acquire(ctx, p)
}

// TryAcquire takes a slot for new work if one is free now and nobody waits for
// it. Otherwise it returns a *BlockedError that says why and until when.
func (l *Limiter) TryAcquire() (*Slot, error) {
	return (&Slot{pass: pass{limiter: l}}).tryAcquire()
}

// blocked says what TryAcquire, and so Status, answers at t.
func (l *Limiter) blocked(s *state, t instant) answer {
	a := s.may(Normal, t)
	if a.reason == ReasonNone && l.waiting.len > 0 {
		// Time has opened the gate, and those who waited for it go first.
		a.reason = ReasonWaiting
	}
	return a
}

// Wait gates one further call of work that is running already, and returns the
// Call to report it by. It waits for a stated pause, a hold and the pace; not
// for an assumed pause, which is about new work, and not for the budget, since
// the work has its slot. Its errors are those of AcquireAs.
func (l *Limiter) Wait(ctx context.Context) (*Call, error) {
	return (&Call{pass: pass{limiter: l}}).wait(ctx)
}

// advance looks at the clock, unless nothing depends on it, and brings the state
// up to the time. What has not been read is of no use to other limiters, so in a
// group it always is.
func (l *Limiter) advance() instant {
	if l.group == nil && l.state.steady() {
		return l.now
	}
	return l.look()
}

// look reads the clock and brings the state up to the time.
func (l *Limiter) look() instant {
	l.now = l.line.Now()
	l.bring(l.now)
	return l.now
}

// bring brings the state up to t, which the clock was read to be.
func (l *Limiter) bring(t instant) {
	before := l.state
	l.state = before.at(t)
	l.compare(&before, "")
}

// lock locks, and returns the limiter that l's key has now.
func (l *Limiter) lock() *Limiter {
	l.mu.Lock()
	if l.group != nil {
		return l.group.enlist(l)
	}
	return l
}

func (l *Limiter) blockedError(a answer, t instant) *BlockedError {
	e := &BlockedError{Name: l.name, Reason: a.reason}
	if a.from > t {
		e.Until = l.line.At(a.from)
	}
	return e
}

// Hold shuts the gate until Resume, for callers of every priority and for Wait.
// What is in flight goes on. The reason is shown in Status and events. There is
// one hold at a time: a second one only changes the reason.
func (l *Limiter) Hold(reason string) {
	l = l.lock()
	t := l.look()
	l.state.holdOff(t, reason)
	l.takeBack()
	l.note(EventHold, reason)
	l.handOut(t)
	l.unlock()
}

// Resume opens the gate wholly: it lifts the hold and the pause, and forgets the
// storm. Reports of calls that began before it no longer count. Without hold,
// pause or storm it does nothing. The reason is shown in events.
func (l *Limiter) Resume(reason string) {
	l = l.lock()
	t := l.look()
	before := l.state
	if l.state.lift() {
		l.compare(&before, reason)
		l.note(EventResume, reason)
	}
	l.handOut(t)
	l.unlock()
}

// SetBudget sets the budget and its ceiling to n, which must be at least 1.
// Lowering it interrupts nobody: admissions wait until fewer than n are in flight.
func (l *Limiter) SetBudget(n int) error {
	if n < 1 {
		return fmt.Errorf("limiter: budget is %d: it must be at least 1; to stop admissions use Hold", n)
	}
	l = l.lock()
	t := l.look()
	before := l.state
	l.state.resize(n)
	l.compare(&before, "")
	l.handOut(t)
	l.unlock()
	return nil
}
