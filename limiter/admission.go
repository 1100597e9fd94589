package limiter

import (
	"context"

	"github.com/holdoff-go/holdoff/internal/clock"
)

// enter lets the caller through as p, or queues it, and says in o of what origin
// its reports are.
func (l *Limiter) enter(ctx context.Context, p Priority, o *origin) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	l.mu.Lock()
	t := l.advance()
	l.handOut(t)
	// Whoever waits with p, or above it, would have been let in before.
	a := l.state.may(p, t)
	if a.reason == ReasonNone {
		*o = l.admit(p, t)
		l.handOver(p, *o)
		return nil
	}
	if err := l.refuseEntry(ctx, p, a, t); err != nil {
		l.unlock()
		return err
	}
	w := &waiter{priority: p, ready: make(chan struct{}, 1)}
	l.waiting.pushBack(w)
	if l.waiting.first() == w {
		l.setAlarm(t, a.again)
	}
	l.unlock()
	return l.await(ctx, w, o)
}

// refuseEntry returns why p cannot even queue. Only here is the deadline looked
// at: a pause that opens later evicts nobody.
func (l *Limiter) refuseEntry(ctx context.Context, p Priority, a answer, t instant) error {
	if p == Normal && l.maxWaiting > 0 && l.waiting.queues[p].len >= l.maxWaiting {
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

// await sleeps until w has been let in, or ctx has ended.
func (l *Limiter) await(ctx context.Context, w *waiter, o *origin) error {
	for {
		select {
		case <-w.ready:
			// Not under the lock, which whoever granted this holds just now: all who
			// wake would queue up there once more.
			if w.granted.CompareAndSwap(true, false) {
				*o = w.origin
				return nil
			}
			// A refusal or a hold has taken the grant back, and put w where it was.
		case <-ctx.Done():
			l.mu.Lock()
			t := l.advance()
			a := l.state.may(w.priority, t)
			if a.reason == ReasonNone {
				a.reason = ReasonWaiting
			}
			if w.granted.CompareAndSwap(true, false) {
				// The grant and the end of ctx met; whoever is next has it.
				l.granted.remove(w)
				l.revoke(w)
			} else {
				l.waiting.remove(w)
			}
			l.handOut(t)
			err := blockedBy(ctx, l.blockedError(a, t))
			l.unlock()
			return err
		}
	}
}

// admit lets p through at t.
func (l *Limiter) admit(p Priority, t instant) origin {
	storm := l.state.storm
	o := l.state.admit(p, t)
	if storm && o.counted {
		l.note(EventProbe, "")
	}
	return o
}

// handOver unlocks for a caller that has been let in as p with o. An event's
// callback that ends the caller's goroutine by runtime.Goexit must not take the
// slot along.
func (l *Limiter) handOver(p Priority, o origin) {
	if len(l.outbox.pending) == 0 {
		l.mu.Unlock()
		return
	}
	heard := false
	defer func() {
		if !heard && p != call {
			(&Slot{limiter: l, origin: o}).Release()
		}
	}()
	l.unlock()
	heard = true
}

// handOut lets in all who may pass at t, and sets the alarm for the next. It
// must follow every change that may open the gate, before the lock is given up:
// a waiter whose wake-up is missed sleeps for ever.
func (l *Limiter) handOut(t instant) {
	if l.waiting.len > 0 || l.granted.len > 0 || l.alarm.stop != nil {
		l.serve(t)
	}
}

func (l *Limiter) serve(t instant) {
	for w := l.granted.head; w != nil && !w.granted.Load(); w = l.granted.head {
		l.granted.remove(w) // it has heard
	}
	again := never
	for w := l.waiting.first(); w != nil; w = l.waiting.first() {
		a := l.state.may(w.priority, t)
		if a.reason != ReasonNone {
			again = a.again
			break
		}
		l.waiting.remove(w)
		w.origin = l.admit(w.priority, t)
		w.granted.Store(true)
		l.granted.pushBack(w)
		select {
		case w.ready <- struct{}{}:
		default: // still there from a grant that was taken back
		}
	}
	l.setAlarm(t, again)
}

// revoke undoes the grant of w, which is in no list.
func (l *Limiter) revoke(w *waiter) {
	if w.priority != call {
		l.state.revoke(w.origin)
	}
}

// takeBack revokes all grants that nobody has collected, and puts their waiters
// back at the head of their queues in the order they had. Whoever may still pass
// has its grant again in the handOut that must follow.
func (l *Limiter) takeBack() {
	for w := l.granted.tail; w != nil; w = l.granted.tail {
		l.granted.remove(w)
		if w.granted.CompareAndSwap(true, false) {
			l.revoke(w)
			l.waiting.pushFront(w)
		}
	}
}
