package spawn

import (
	"context"
	"sync"

	"github.com/holdoff-go/holdoff/limiter"
)

// A place holds the limiter's slot of one attempt. A worker that runs another
// one inside itself lends it its slot: a parent that waits makes no calls, and
// if each held a slot while its child queued for one, a full budget of parents
// would wait for ever.
//
// A slot is in one place at a time, and goes back the way it came. A child that
// is refused backs off without it, like anybody; what it has when it ends is its
// parent's again.
type place struct {
	lender *place        // whose slot this is; nil: its own
	back   chan struct{} // says that the slot is back; a hint, to look again

	mu    sync.Mutex
	slot  *limiter.Slot // the last one, kept for late reports
	state placeState
}

type placeState int

const (
	held placeState = iota
	lent            // a child is in flight with it
	lost            // a child gave it up when it backed off
	left            // the attempt has ended
)

func newPlace(slot *limiter.Slot, lender *place) *place {
	return &place{lender: lender, slot: slot, back: make(chan struct{}, 1)}
}

// last returns the slot that reports go by, and whether it has been lost.
func (p *place) last() (slot *limiter.Slot, gone bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.slot, p.state == lost
}

// lend takes the slot out; nil when it is not there.
func (p *place) lend() *limiter.Slot {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.state != held {
		return nil
	}
	p.state = lent
	return p.slot
}

// leave ends the place and returns its slot. It is nil when a child that nobody
// waited for is in flight with it, which then gives it back, or when it is lost.
func (p *place) leave() *limiter.Slot {
	p.mu.Lock()
	defer p.mu.Unlock()
	state := p.state
	p.state = left
	if state != held {
		return nil
	}
	return p.slot
}

// settle tells whoever lent the slot, up to the first who still lives, that it
// is back or lost. It reports whether there was one.
func (p *place) settle(to placeState) bool {
	for l := p.lender; l != nil; l = l.lender {
		if l.become(lent, to, nil) {
			return true
		}
	}
	return false
}

// become moves the place from one state to another, and reports whether it was in
// the first. slot is the new one, nil for the same.
func (p *place) become(from, to placeState, slot *limiter.Slot) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.state != from {
		return false
	}
	p.state = to
	if slot != nil {
		p.slot = slot
	}
	if to == held {
		p.hint()
	}
	return true
}

func (p *place) hint() {
	select {
	case p.back <- struct{}{}:
	default:
	}
}

// acquireUnless runs acquire, and calls it off when enough, which is asked
// whenever the slot is back in p, says so: then it returns no slot and no error.
func (p *place) acquireUnless(
	ctx context.Context, acquire func(context.Context) (*limiter.Slot, error), enough func() bool,
) (*limiter.Slot, error) {
	if enough() {
		return nil, nil
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	calledOff := make(chan bool, 1)
	go func() {
		for {
			select {
			case <-p.back:
				if enough() {
					cancel()
					calledOff <- true
					return
				}
			case <-ctx.Done():
				calledOff <- false
				return
			}
		}
	}()
	slot, err := acquire(ctx)
	cancel()
	if <-calledOff {
		slot.Release() // both came at once
		return nil, nil
	}
	return slot, err
}

// enter takes a slot for the run's next attempt, and returns its place; and the
// call that gates it, where the slot is not a new one.
func (r *run) enter(priority limiter.Priority) (*place, *limiter.Call, error) {
	if r.parent == nil {
		slot, err := r.acquire(r.ctx, priority)
		return newPlace(slot, nil), nil, err
	}
	parent := r.parent.place
	first := r.result.Total == 0
	if first {
		if slot := parent.lend(); slot != nil {
			return r.borrow(slot)
		}
		if slot, err := r.spawner.limiter.TryAcquire(); err == nil {
			return newPlace(slot, nil), nil, nil
		}
	}
	// The parent's slot is in use: by another child, which brings it back. A first
	// attempt takes it then. A retry goes through the gate and takes its turn
	// there, so it frees the slot: it may be the one that it queues for.
	var borrowed *limiter.Slot
	slot, err := parent.acquireUnless(r.ctx, func(ctx context.Context) (*limiter.Slot, error) {
		return r.acquire(ctx, priority)
	}, func() bool {
		slot := parent.lend()
		if slot != nil && !first {
			parent.become(lent, lost, nil)
			slot.Release()
			return false
		}
		borrowed = slot
		return slot != nil
	})
	if borrowed != nil {
		return r.borrow(borrowed)
	}
	return newPlace(slot, nil), nil, err
}

// borrow enters with the parent's slot: the attempt is the parent's next call,
// so to say, and gated as such.
func (r *run) borrow(slot *limiter.Slot) (*place, *limiter.Call, error) {
	p := newPlace(slot, r.parent.place)
	call, err := slot.Wait(r.ctx)
	if err != nil {
		r.exit(p, false)
	}
	return p, call, err
}

// exit ends the place of an attempt. Who goes on, backs off and holds no slot.
func (r *run) exit(p *place, goesOn bool) {
	slot := p.leave()
	switch {
	case slot == nil:
	case goesOn:
		slot.Release()
		p.settle(lost)
	case p.settle(held):
	case r.parent != nil && r.parent.place.become(lost, held, slot):
	default:
		slot.Release()
	}
}
