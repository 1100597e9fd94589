package limiter

import (
	"context"
	"fmt"
	"sync"
	"time"

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
	waiting [priorities]queue
	granted queue // not yet collected
	alarm   alarm
	outbox  outbox
}

// New returns a limiter for cfg. The error names the field that makes no sense.
func New(cfg Config) (*Limiter, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	r := &rules{
		floor:           cfg.Floor,
		pause:           cfg.Pause,
		maxAssumedPause: cfg.MaxAssumedPause,
		maxPause:        cfg.MaxPause,
		probeAfter:      cfg.ProbeAfter,
		recover:         cfg.Recover,
		grow:            cfg.Grow,
		pace:            newPace(cfg.Pace, cfg.Burst),
	}
	return &Limiter{
		name:       cfg.Name,
		cut:        cfg.Cut,
		maxWaiting: cfg.MaxWaiting,
		notify:     notifier{onEvent: cfg.OnEvent, logger: cfg.Logger},
		clock:      cfg.Clock,
		line:       clock.NewLine(cfg.Clock),
		state:      newState(r, cfg.Budget),
	}, nil
}

// Acquire waits for leave to start one new worker, and returns its slot. It is
// AcquireAs with Normal.
func (l *Limiter) Acquire(ctx context.Context) (*Slot, error) {
	return l.AcquireAs(ctx, Normal)
}

// AcquireAs waits for a slot with priority p. It fails
//   - with the context's cause, when that has ended or is cancelled meanwhile;
//   - with a *BlockedError that is context.DeadlineExceeded, at once when the
//     deadline ends before the gate can open for p, else when it ends;
//   - with a *BlockedError of ReasonQueueFull, at once, for Normal work when
//     Config.MaxWaiting callers wait already.
//
// The caller must Release the slot.
func (l *Limiter) AcquireAs(ctx context.Context, p Priority) (*Slot, error) {
	if p < Normal || p > Emergency {
		return nil, fmt.Errorf("limiter: priority is %d: it must be Normal, Resumed or Emergency", int(p))
	}
	o, err := l.enter(ctx, p)
	if err != nil {
		return nil, err
	}
	return &Slot{limiter: l, origin: o}, nil
}

// TryAcquire takes a slot for new work if one is free now and nobody waits for
// it. Otherwise it returns a *BlockedError that says why and until when.
func (l *Limiter) TryAcquire() (*Slot, error) {
	l.mu.Lock()
	t := l.advance()
	if b := l.blocked(&l.state, t); b.reason != ReasonNone {
		err := l.blockedError(b, t)
		l.handOut(t)
		l.unlock()
		return nil, err
	}
	o := l.admit(Normal, t)
	l.unlock()
	return &Slot{limiter: l, origin: o}, nil
}

// blocked says what TryAcquire, and so Status, answers at t.
func (l *Limiter) blocked(s *state, t instant) answer {
	a := s.may(Normal, t)
	if a.reason == ReasonNone && l.queued() > 0 {
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
	o, err := l.enter(ctx, call)
	if err != nil {
		return nil, err
	}
	return &Call{limiter: l, origin: o}, nil
}

// enter lets the caller through as p, or queues it.
func (l *Limiter) enter(ctx context.Context, p Priority) (origin, error) {
	if ctx.Err() != nil {
		return origin{}, context.Cause(ctx)
	}
	l.mu.Lock()
	t := l.advance()
	l.handOut(t)
	// Whoever waits with p, or above it, would have been let in before.
	a := l.state.may(p, t)
	if a.reason == ReasonNone {
		o := l.admit(p, t)
		l.unlock()
		return o, nil
	}
	if err := l.refuseEntry(ctx, p, a, t); err != nil {
		l.unlock()
		return origin{}, err
	}
	w := &waiter{priority: p, ready: make(chan struct{}, 1)}
	l.waiting[p].pushBack(w)
	l.setAlarm(t)
	l.unlock()
	return l.await(ctx, w)
}

// refuseEntry returns why p cannot even queue. Only here is the deadline looked
// at: a pause that opens later evicts nobody.
func (l *Limiter) refuseEntry(ctx context.Context, p Priority, a answer, t instant) error {
	if p == Normal && l.maxWaiting > 0 && l.waiting[p].len >= l.maxWaiting {
		a.reason = ReasonQueueFull
		return l.blockedError(a, t)
	}
	deadline, ok := ctx.Deadline()
	if !ok || a.from <= t {
		return nil
	}
	// Durations are compared, never instants of two clocks: the deadline is real
	// time, and the limiter's clock may be a fake one.
	wanted, allowed := a.from-t, clock.Until(deadline)
	if allowed >= wanted {
		return nil
	}
	err := l.blockedError(a, t)
	err.Wanted, err.Allowed = wanted, max(allowed, 0)
	err.cause = context.DeadlineExceeded
	return err
}

// await sleeps until w has been granted its slot, or ctx has ended.
func (l *Limiter) await(ctx context.Context, w *waiter) (origin, error) {
	for {
		select {
		case <-w.ready:
			l.mu.Lock()
			if w.granted {
				l.granted.remove(w)
				o := w.origin()
				l.mu.Unlock()
				return o, nil
			}
			// A pause has taken the grant back, and put w where it was.
			l.mu.Unlock()
		case <-ctx.Done():
			l.mu.Lock()
			t := l.advance()
			a := l.state.may(w.priority, t)
			if a.reason == ReasonNone {
				a.reason = ReasonWaiting
			}
			w.in.remove(w)
			if w.granted {
				// The grant and the end of ctx met; whoever is next has it.
				l.giveBack(w)
			}
			l.handOut(t)
			err := blockedBy(ctx, l.blockedError(a, t))
			l.unlock()
			return origin{}, err
		}
	}
}

// admit lets p through at t.
func (l *Limiter) admit(p Priority, t instant) origin {
	o := origin{known: true, generation: l.state.generation}
	if p == call {
		l.state.rules.pace.take(t)
		return o
	}
	probe := l.state.storm
	o.counted = l.state.admit(p, t)
	if probe && o.counted {
		l.note(EventProbe, "")
	}
	return o
}

func (w *waiter) origin() origin {
	return origin{known: true, generation: w.generation, counted: w.counted}
}

// handOut lets in all who may pass at t, and sets the alarm for the next.
func (l *Limiter) handOut(t instant) {
	for w := l.next(); w != nil; w = l.next() {
		if l.state.may(w.priority, t).reason != ReasonNone {
			break
		}
		w.in.remove(w)
		o := l.admit(w.priority, t)
		w.granted, w.counted, w.generation = true, o.counted, o.generation
		l.granted.pushBack(w)
		select {
		case w.ready <- struct{}{}:
		default: // still there from a grant that was taken back
		}
	}
	l.setAlarm(t)
}

// next returns who is first in line: a priority passes wherever a lower one does,
// so when the first may not, nobody may.
func (l *Limiter) next() *waiter {
	for p := priorities - 1; p >= Normal; p-- {
		if w := l.waiting[p].head; w != nil {
			return w
		}
	}
	return nil
}

func (l *Limiter) queued() int {
	n := 0
	for p := range l.waiting {
		n += l.waiting[p].len
	}
	return n
}

// giveBack undoes the grant of w, which is in no list.
func (l *Limiter) giveBack(w *waiter) {
	if w.priority != call {
		l.state.release(w.origin())
	}
	w.granted = false
}

// takeBack undoes the grants that nobody has collected, and puts their waiters
// back at the head of their queues in the order they had: a caller that has not
// started must not start into a pause that has just opened.
func (l *Limiter) takeBack() {
	for w := l.granted.tail; w != nil; w = l.granted.tail {
		l.granted.remove(w)
		l.giveBack(w)
		l.waiting[w.priority].pushFront(w)
	}
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
	if !l.state.held {
		l.state.heldSince = t
	}
	l.state.held, l.state.hold = true, reason
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
		l.handOut(t)
	}
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
	l.state.budget, l.state.ceiling, l.state.successes = n, n, 0
	l.compare(&before, "")
	l.handOut(t)
	l.unlock()
	return nil
}

// ReportRateLimited is the hook for a refusal: the upstream said no, and stated
// that retryAfter should pass first; zero, negative and past times state nothing.
// It is of unknown origin; where the Slot or Call of the refused call is at
// hand, its report is the better one, because it can tell the refusals of one
// burst, and old news, from new ones.
func (l *Limiter) ReportRateLimited(retryAfter time.Duration) {
	l.refuse(&origin{}, ReasonRateLimited, retryAfter)
}

// ReportOverloaded is the hook for an upstream short of capacity: a refusal
// whose pause is short where none is stated. Otherwise it is ReportRateLimited.
func (l *Limiter) ReportOverloaded(retryAfter time.Duration) {
	l.refuse(&origin{}, ReasonOverloaded, retryAfter)
}

// ReportSuccess is the hook for an accepted call of unknown origin. It clears an
// assumed pause and opens the gate wholly; a stated pause stays.
func (l *Limiter) ReportSuccess() { l.succeed(&origin{}) }

func (l *Limiter) refuse(o *origin, cause Reason, stated time.Duration) {
	cut := l.proposeCut()
	l.mu.Lock()
	t := l.look()
	if cut == nil {
		half := l.state.inFlight / 2
		cut = &half
	}
	before := l.state
	l.state.refuse(t, refusal{origin: *o, cause: cause, stated: stated, cut: *cut})
	if l.state.open && !before.open {
		l.takeBack()
	}
	l.compare(&before, "")
	l.handOut(t)
	l.unlock()
}

// proposeCut asks Config.Cut, which is not called under the lock: what happens
// between is as if this refusal had come a moment later. nil is the default.
func (l *Limiter) proposeCut() (n *int) {
	if l.cut == nil {
		return nil
	}
	l.mu.Lock()
	l.advance()
	budget, inFlight := l.state.budget, l.state.inFlight
	l.unlock()
	if inFlight == 0 {
		return nil
	}
	defer func() {
		if p := recover(); p != nil {
			l.notify.panicked("Config.Cut", p)
			n = nil
		}
	}()
	cut := l.cut(budget, inFlight)
	return &cut
}

func (l *Limiter) succeed(o *origin) {
	l.mu.Lock()
	t := l.advance()
	before := l.state
	l.state.succeed(t, *o)
	o.counted = false // answered
	l.compare(&before, "")
	l.handOut(t)
	l.unlock()
}
