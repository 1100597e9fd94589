package limiter

import (
	"context"

	"github.com/holdoff-go/holdoff/internal/clock"
)

// enter lets the caller through as p at all limiters of x, or queues it, and says
// in x of what origin its reports are.
func (x *pass) enter(ctx context.Context, p Priority) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	d := x.limiter.domain
	d.mu.Lock()
	t := x.catchUp()
	// Whoever waits with p, or above it, would have been let in before.
	by, a := x.blocker(p, t)
	if by == nil {
		x.admit(p, t)
		x.handOver(p)
		return nil
	}
	if err := by.refuseEntry(ctx, p, a, t); err != nil {
		d.unlock()
		return err
	}
	d.arrivals++
	w := &waiter{priority: p, arrival: d.arrivals, ready: make(chan struct{}, 1), pass: *x}
	by.queue(w)
	if by.waiting.first() == w {
		by.setAlarm(t, a.again)
	}
	w.lineUp(d)
	return x.await(ctx, w)
}

// lineUp unlocks for a caller that has been queued. An event's callback that ends
// its goroutine by runtime.Goexit must not leave w in line: nobody would collect
// what it is granted.
func (w *waiter) lineUp(d *domain) {
	if len(d.outbox.pending) == 0 {
		d.mu.Unlock()
		return
	}
	heard := false
	defer func() {
		if !heard {
			d.mu.Lock()
			w.leaveLine()
			d.unlock()
		}
	}()
	d.unlock()
	heard = true
}

// tryEnter is enter for Normal work that does not wait.
func (x *pass) tryEnter() error {
	d := x.limiter.domain
	d.mu.Lock()
	t := x.advance()
	if by, a := x.shutter(t); by != nil {
		err := by.blockedError(a, t)
		x.handOut(t)
		d.unlock()
		return err
	}
	x.admit(Normal, t)
	x.handOver(Normal)
	return nil
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
func (x *pass) await(ctx context.Context, w *waiter) error {
	for {
		select {
		case <-w.ready:
			// Not under the lock, which whoever granted this holds just now: all who
			// wake would queue up there once more.
			if w.granted.CompareAndSwap(true, false) {
				*x = w.pass
				return nil
			}
			// A refusal or a hold has taken the grant back, and put w where it was.
		case <-ctx.Done():
			d := x.limiter.domain
			d.mu.Lock()
			defer d.unlock()
			return w.giveUp(ctx)
		}
	}
}

// giveUp takes w out of line, whose caller's ctx has ended, and returns the error.
func (w *waiter) giveUp(ctx context.Context) error {
	t := w.pass.advance()
	by, a := w.pass.blocker(w.priority, t)
	if by == nil {
		by, a.reason = w.at, ReasonWaiting
	}
	err := blockedBy(ctx, by.blockedError(a, t))
	w.leaveLine()
	return err
}

// leaveLine takes w out of line. What it has been granted and not heard of, is for
// whoever is next.
func (w *waiter) leaveLine() {
	t := w.pass.advance()
	if w.granted.CompareAndSwap(true, false) {
		w.at.domain.granted.remove(w)
		w.revoke()
	} else {
		w.at.waiting.remove(w)
	}
	w.pass.handOut(t)
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

// handOver unlocks for a caller that has been let in as p. An event's callback that
// ends the caller's goroutine by runtime.Goexit must not take the slot along.
func (x *pass) handOver(p Priority) {
	d := x.limiter.domain
	if len(d.outbox.pending) == 0 {
		d.mu.Unlock()
		return
	}
	heard := false
	defer func() {
		if !heard && p != call {
			(&Slot{pass: *x}).Release()
		}
	}()
	d.unlock()
	heard = true
}

// handOut lets in all who may pass at t, and sets the alarm for the next. It
// must follow every change that may open the gate, before the lock is given up:
// a waiter whose wake-up is missed sleeps for ever.
func (l *Limiter) handOut(t instant) {
	if l.awaited() {
		l.unserve(l)
	}
	if len(l.domain.unserved) > 0 || l.granted.len > 0 {
		l.serve(t)
	}
}

// awaited reports whether somebody waits at l, or an alarm is set for one who did.
func (l *Limiter) awaited() bool { return l.waiting.len > 0 || l.alarm.stop != nil }

// serve goes through the queues of all that are unserved, as if they were one: by
// priority and arrival. Who passes the limiter that he stands at, and is blocked by
// another one of his gate, goes on to the queue of that one, to his place by
// arrival. So nobody is in the way of those behind him who do not need that
// limiter, nor loses his place before those who do.
//
// It ends: admissions open nothing, so who has been sent to a limiter that blocks
// him is not sent on in the same serve.
func (d *domain) serve(t instant) {
	for w := d.granted.head; w != nil && !w.granted.Load(); w = d.granted.head {
		d.granted.remove(w) // it has heard
	}
	for len(d.unserved) > 0 {
		i, w := d.nextUnserved()
		l, again := d.unserved[i], never
		if w != nil {
			a := l.state.may(w.priority, t)
			if a.reason == ReasonNone {
				l.hand(w, t)
				continue
			}
			again = a.again
		}
		l.setAlarm(t, again)
		d.served(i)
	}
}

// hand lets w, whom l lets in, go on from l's queue.
func (l *Limiter) hand(w *waiter, t instant) {
	l.waiting.remove(w)
	if by := w.blockedBeside(l, t); by != nil {
		by.queue(w)
		l.unserve(by)
		return
	}
	w.pass.admit(w.priority, t)
	w.granted.Store(true)
	l.granted.pushBack(w)
	select {
	case w.ready <- struct{}{}:
	default: // still there from a grant that was taken back
	}
}

// blockedBeside returns which limiter of w other than l does not let it in; nil:
// all do.
func (w *waiter) blockedBeside(l *Limiter, t instant) (by *Limiter) {
	if w.pass.wider == nil {
		return nil
	}
	var why answer
	for x := &w.pass; x != nil; x = x.wider {
		x.limiter = x.limiter.present()
		m := x.limiter
		if m == l {
			continue
		}
		m.bring(t)
		a := m.state.may(w.priority, t)
		if a.reason == ReasonNone && m.waiting.ahead(w) {
			a.reason = ReasonWaiting // time has opened m, and those who waited there go first
		}
		if a.reason != ReasonNone && (by == nil || a.from > why.from) {
			by, why = m, a
		}
	}
	return by
}

// revoke undoes the grant of w, which is in no list.
func (w *waiter) revoke() {
	if w.priority == call {
		return
	}
	for x := &w.pass; x != nil; x = x.wider {
		x.limiter.state.revoke(x.origin)
	}
}

// takeBack revokes all grants of l that nobody has collected, and puts their
// waiters back into its queue, in the order they had. Whoever may still pass has
// its grant again in the handOut that must follow.
func (l *Limiter) takeBack() {
	var earlier *waiter
	for w := l.granted.tail; w != nil; w = earlier {
		earlier = w.prev
		if !w.pass.of(l) {
			continue
		}
		l.granted.remove(w)
		if w.granted.CompareAndSwap(true, false) {
			for x := &w.pass; x != nil; x = x.wider {
				if m := x.limiter; m != l {
					m.bring(l.now)
					if m.awaited() {
						l.unserve(m)
					}
				}
			}
			w.revoke()
			l.queue(w)
		}
	}
}
