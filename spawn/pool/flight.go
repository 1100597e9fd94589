package pool

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/holdoff-go/holdoff/limiter"
)

// A flight is one switch, for all who wait for it. Rota.mu guards it.
type flight struct {
	to      *member // asked for by a host; nil: the best
	cancel  context.CancelFunc
	waiting int
	done    chan struct{} // closed when it is over, and told
	err     error         // set before
}

// flightKey is that of the flight in the context that OnSwitch is called with.
type flightKey struct{ rota *Rota }

// takeOff begins a switch. r.mu is held.
func (r *Rota) takeOff(ctx context.Context, to *member) {
	f := &flight{to: to, done: make(chan struct{})}
	ctx, cancel := context.WithCancel(context.WithValue(context.WithoutCancel(ctx), flightKey{r}, f))
	f.cancel = cancel
	r.flight = f
	go func() {
		defer cancel()
		r.fly(ctx, f)
	}()
}

// landed unlocks, and waits for the end of the switch, or of ctx. That the switch
// failed is no error here.
func (r *Rota) landed(ctx context.Context) error {
	f := r.flight
	if ctx.Value(flightKey{r}) == f {
		r.mu.Unlock()
		return errInside
	}
	f.waiting++
	r.mu.Unlock()
	select {
	case <-f.done:
		return nil
	case <-ctx.Done():
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if f.waiting--; f.waiting == 0 {
		f.cancel()
	}
	return context.Cause(ctx)
}

// fly switches to the best, or the next best.
func (r *Rota) fly(ctx context.Context, f *flight) {
	for tried := make(map[*member]bool); ; {
		to := f.to
		if to == nil {
			to = r.best(tried)
		}
		if to == nil || tried[to] {
			r.mu.Lock()
			r.end(f)
			return
		}
		tried[to] = true
		r.mu.Lock()
		from := r.members[r.current]
		r.mu.Unlock()
		f.err = r.ask(ctx, from.id, to.id)

		r.mu.Lock()
		switch {
		case f.err == nil:
			r.current = to.index
			if f.to != nil {
				from.renewPatience()
			}
			r.note(Event{Kind: EventSwitched, From: from.id, Credential: to.id})
		case ctx.Err() == nil:
			r.note(Event{Kind: EventSwitchFailed, From: from.id, Credential: to.id, Err: f.err})
			if f.to == nil {
				to.failed, to.failure = r.now()+switchAgain, f.err
			}
		}
		if f.err == nil || ctx.Err() != nil {
			r.end(f)
			return
		}
		r.mu.Unlock() // and tells at the end: OnEvent may wait for that
	}
}

// end ends the flight. It unlocks. Who waited goes on when OnEvent has been told,
// which may ask for a credential itself, or end this goroutine.
func (r *Rota) end(f *flight) {
	r.flight = nil
	defer close(f.done)
	r.unlock()
}

// best returns who is free and has the most headroom; nil if nobody is.
func (r *Rota) best(tried map[*member]bool) *member {
	r.mu.Lock()
	now := r.now()
	var free []*member
	for _, m := range r.members {
		if m.free(now) && !tried[m] {
			free = append(free, m)
		}
	}
	r.mu.Unlock()

	var best *member
	var open bool
	var room float64
	for _, m := range free {
		st := r.group.Of(keys(m.id, m.account)...).Status()
		o, left := st.BlockedUntil.IsZero() && st.Reason != limiter.ReasonHold, float64(st.Budget-st.InFlight)
		if r.headroom != nil {
			left = 0
			r.notify.apart("Config.Headroom", func() { left = r.headroom(m.id) })
		}
		if best == nil || o && !open || o == open && cmp.Compare(left, room) > 0 {
			best, open, room = m, o, left
		}
	}
	return best
}

// ask asks OnSwitch. Its panic, or Goexit, is an error.
func (r *Rota) ask(ctx context.Context, from, to string) (err error) {
	if r.onSwitch == nil {
		return nil
	}
	err = errors.New("pool: OnSwitch panicked, or called runtime.Goexit")
	r.notify.apart("Config.OnSwitch", func() { err = r.onSwitch(ctx, from, to) })
	return err
}

// switchTo switches to the credential of that ID.
func (r *Rota) switchTo(ctx context.Context, id string) error {
	for {
		r.refresh()
		r.mu.Lock()
		var to *member
		for _, m := range r.members {
			if m.id == id {
				to = m
			}
		}
		now := r.now()
		switch {
		case to == nil:
			r.mu.Unlock()
			return fmt.Errorf("pool: no credential has the ID %q", id)
		case r.flight != nil:
			if err := r.landed(ctx); err != nil {
				return err
			}
			continue
		case !to.free(now):
			at, stated := to.returns()
			e := &ParkedError{ID: id, Soonest: r.timeOf(at), Stated: stated}
			r.mu.Unlock()
			return e
		case r.current == to.index:
			r.mu.Unlock()
			return nil
		}
		r.takeOff(ctx, to)
		f := r.flight
		if err := r.landed(ctx); err != nil {
			return err
		}
		return f.err
	}
}
