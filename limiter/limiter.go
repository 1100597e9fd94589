package limiter

import (
	"context"
	"fmt"
	"sync"

	"github.com/holdoff-go/holdoff/internal/clock"
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
	clock      Clock

	mu      sync.Mutex
	line    *clock.Line
	now     instant // of the last look at the clock
	state   state
	waiting waitlist
	granted queue // let in; some have not heard of it
	alarm   alarm
	outbox  outbox
}

// New returns a limiter for cfg. The error names the field that makes no sense.
func New(cfg Config) (*Limiter, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	return &Limiter{
		name:       cfg.Name,
		cut:        cfg.Cut,
		maxWaiting: cfg.MaxWaiting,
		notify:     notifier{onEvent: cfg.OnEvent, logger: cfg.Logger},
		clock:      cfg.Clock,
		line:       clock.NewLine(cfg.Clock),
		state:      newState(cfg.rules(), cfg.Budget),
	}, nil
}

// Acquire waits for leave to start one new worker, and returns its slot. It is
// AcquireAs with Normal.
func (l *Limiter) Acquire(ctx context.Context) (*Slot, error) {
	return l.acquire(ctx, Normal, new(Slot))
}

// AcquireAs waits for a slot with priority p. It fails
//   - with the context's cause, when the context has ended or is cancelled;
//   - with a *BlockedError that is context.DeadlineExceeded, at once when the
//     deadline ends before the gate can open for p, else when it ends;
//   - with a *BlockedError of ReasonQueueFull, at once, for Normal work when
//     Config.MaxWaiting callers wait already.
//
// The caller must Release the slot.
func (l *Limiter) AcquireAs(ctx context.Context, p Priority) (*Slot, error) {
	return l.acquire(ctx, p, new(Slot))
}

// acquire fills in s and returns it. That its caller makes it lets the compiler
// put it on the stack where Acquire is inlined; so for TryAcquire and Wait.
func (l *Limiter) acquire(ctx context.Context, p Priority, s *Slot) (*Slot, error) {
	if p < Normal || p > Emergency {
		return nil, fmt.Errorf("limiter: priority is %d: it must be Normal, Resumed or Emergency", int(p))
	}
	s.limiter = l
	if err := l.enter(ctx, p, &s.origin); err != nil {
		return nil, err
	}
	return s, nil
}

// TryAcquire takes a slot for new work if one is free now and nobody waits for
// it. Otherwise it returns a *BlockedError that says why and until when.
func (l *Limiter) TryAcquire() (*Slot, error) {
	return l.tryAcquire(new(Slot))
}

func (l *Limiter) tryAcquire(s *Slot) (*Slot, error) {
	l.mu.Lock()
	t := l.advance()
	if b := l.blocked(&l.state, t); b.reason != ReasonNone {
		err := l.blockedError(b, t)
		l.handOut(t)
		l.unlock()
		return nil, err
	}
	s.limiter, s.origin = l, l.admit(Normal, t)
	l.handOver(Normal, s.origin)
	return s, nil
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
	return l.wait(ctx, new(Call))
}

func (l *Limiter) wait(ctx context.Context, c *Call) (*Call, error) {
	c.limiter = l
	if err := l.enter(ctx, call, &c.origin); err != nil {
		return nil, err
	}
	return c, nil
}

// advance looks at the clock, unless nothing depends on it, and brings the state
// up to the time.
func (l *Limiter) advance() instant {
	if l.state.steady() {
		return l.now
	}
	return l.look()
}

// look reads the clock and brings the state up to the time.
func (l *Limiter) look() instant {
	l.now = l.line.Now()
	before := l.state
	l.state = before.at(l.now)
	l.compare(&before, "")
	return l.now
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
	l.mu.Lock()
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
	l.mu.Lock()
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
	l.mu.Lock()
	t := l.look()
	before := l.state
	l.state.resize(n)
	l.compare(&before, "")
	l.handOut(t)
	l.unlock()
	return nil
}
