package spawn

import (
	"context"
	"sync"

	"github.com/holdoff-go/holdoff/internal/outcall"
	"github.com/holdoff-go/holdoff/limiter"
)

// A place holds the limiter's slot of one attempt. A worker that runs another
// one inside itself lends it its slot: a parent that waits makes no calls, and
// if each held a slot while its child queued for one, a full budget of parents
// would wait for ever. For the same reason a slot that is idle in a place is
// there for everybody who runs inside of it, however deep.
//
// A child that is refused backs off without a slot, like anybody. What a child
// has when it ends is left to whom it was borrowed from, or to an ancestor that
// lost one in this way.
type place struct {
	family *family
	parent *place // of the attempt that this one runs inside of; nil: none

	// Guarded by family.mu.
	gates  Limiter // that the slot is of
	state  placeState
	slot   *limiter.Slot // the last one, kept for late reports
	lender *place        // whose slot it is; nil: its own
}

type placeState int

const (
	held placeState = iota
	lent            // a child is in flight with it
	lost            // a child gave it up when it backed off
	left            // the attempt has ended
)

// A family is all that runs inside of one worker.
type family struct {
	mu   sync.Mutex
	back chan struct{} // closed when a slot has come back into a place; nil: nobody waits
}

func newPlace(slot *limiter.Slot, gates Limiter, parent *place) *place {
	p := &place{slot: slot, gates: gates, parent: parent}
	if parent != nil {
		p.family = parent.family
	} else {
		p.family = new(family)
	}
	return p
}

// last returns the slot that reports go by, and whether it has been lost.
func (p *place) last() (slot *limiter.Slot, gone bool) {
	p.family.mu.Lock()
	defer p.family.mu.Unlock()
	return p.slot, p.state == lost
}

// borrow takes the slot of gates (nil: of any) that is idle in p or, if there is
// none, further up, and returns the place that it was in; nil if there is none.
func (p *place) borrow(gates Limiter) (lender *place) {
	p.family.mu.Lock()
	defer p.family.mu.Unlock()
	return p.borrowLocked(gates)
}

func (p *place) borrowLocked(gates Limiter) *place {
	for ; p != nil; p = p.parent {
		if p.state == held && (gates == nil || outcall.Same(p.gates, gates)) {
			p.state = lent
			return p
		}
	}
	return nil
}

// put puts a slot of its own into p if that has lost it, and reports whether it
// had.
func (p *place) put(slot *limiter.Slot) bool {
	p.family.mu.Lock()
	defer p.family.mu.Unlock()
	if p.state != lost {
		return false
	}
	p.hold(slot)
	return true
}

// refill makes up for a lost slot by one that is idle further up, and reports
// whether p has one now.
func (p *place) refill() bool {
	p.family.mu.Lock()
	defer p.family.mu.Unlock()
	if p.state != lost {
		return true
	}
	p.lender = p.parent.borrowLocked(p.gates)
	if p.lender == nil {
		return false
	}
	p.hold(p.lender.slot)
	return true
}

// lose marks as lost a slot that p has lent, for all who have it on loan from one
// another, and returns it.
func (p *place) lose() *limiter.Slot {
	p.family.mu.Lock()
	defer p.family.mu.Unlock()
	p.loseLocked()
	return p.slot
}

func (p *place) loseLocked() {
	for p != nil {
		if p.state == lent {
			p.state = lost
		}
		p, p.lender = p.lender, nil
	}
}

func (p *place) hold(slot *limiter.Slot) {
	p.state, p.slot = held, slot
	if p.family.back != nil {
		close(p.family.back)
		p.family.back = nil
	}
}

// leave ends the place. Its slot goes to an ancestor that misses one, but not
// when give says to give it up; it is returned when the limiter is to have it.
func (p *place) leave(give bool) *limiter.Slot {
	p.family.mu.Lock()
	defer p.family.mu.Unlock()
	state := p.state
	p.state = left
	if state == lent {
		return nil // to a child that nobody waited for, which settles it
	}
	if state == lost || give {
		p.lender.loseLocked()
		return p.slot
	}
	// The lender may have ended before. Then it is its own lender that waits.
	for l := p.lender; l != nil; l = l.lender {
		if l.state == lent {
			l.hold(p.slot)
			return nil
		}
	}
	for a := p.parent; a != nil; a = a.parent {
		if a.state == lost && outcall.Same(a.gates, p.gates) {
			a.hold(p.slot)
			return nil
		}
	}
	return p.slot
}

// exchange ends the place, and returns that of what f returns for its slot: late
// reports of the attempt that had it go by the old one. nil says that all is as it
// was. So it is with a slot that is borrowed or lent: others count on it.
func (p *place) exchange(gates Limiter, f func(*limiter.Slot) (*limiter.Slot, error)) *place {
	p.family.mu.Lock()
	if p.state != held || p.lender != nil {
		p.family.mu.Unlock()
		return nil
	}
	p.state = lent // nobody borrows it meanwhile
	p.family.mu.Unlock()
	slot, err := f(p.slot)
	p.family.mu.Lock()
	defer p.family.mu.Unlock()
	if err != nil {
		p.hold(p.slot)
		return nil
	}
	p.state = left
	return newPlace(slot, gates, p.parent)
}

// waiting returns a channel that is closed when a slot has come back to a place
// of the family.
func (f *family) waiting() <-chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.back == nil {
		f.back = make(chan struct{})
	}
	return f.back
}

// acquireUnless runs acquire, and calls it off when enough, which is asked
// whenever a slot has come back, says so: then it returns no slot and no error.
func (f *family) acquireUnless(
	ctx context.Context, acquire func(context.Context) (*limiter.Slot, error), enough func() bool,
) (*limiter.Slot, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	calledOff := make(chan bool, 1)
	go func() {
		for {
			back := f.waiting() // first, so that nothing is missed in between
			if enough() {
				cancel()
				calledOff <- true
				return
			}
			select {
			case <-back:
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

// queueUp takes a slot of r.gates for the run's next attempt, and returns its
// place; and the call that gates it, where the slot is not a new one.
func (r *run) queueUp(ctx context.Context, priority limiter.Priority) (*place, *limiter.Call, error) {
	if r.parent == nil {
		slot, err := r.acquire(ctx, priority)
		return newPlace(slot, r.gates, nil), nil, err
	}
	parent := r.parent.place
	first := r.result.Total == 0
	if first {
		if lender := parent.borrow(r.gates); lender != nil {
			return r.enterFrom(ctx, lender)
		}
		if slot, err := r.gates.TryAcquire(); err == nil {
			return newPlace(slot, r.gates, parent), nil, nil
		}
	}
	// The slots above are in use, by other children, which bring them back. A
	// first attempt takes one then. A retry goes through the gate, to take its
	// turn there, and frees the slot: it may be the one that it queues for. So does
	// one that calls with another credential.
	var lender *place
	slot, err := parent.family.acquireUnless(ctx, func(ctx context.Context) (*limiter.Slot, error) {
		return r.acquire(ctx, priority)
	}, func() bool {
		lender = parent.borrow(nil)
		if lender != nil && !(first && outcall.Same(lender.gates, r.gates)) {
			lender.lose().Release()
			lender = nil
		}
		return lender != nil
	})
	if lender != nil {
		return r.enterFrom(ctx, lender)
	}
	return newPlace(slot, r.gates, parent), nil, err
}

// enterFrom enters with the slot of an ancestor: the attempt is its next call, so
// to say, and gated as such.
func (r *run) enterFrom(ctx context.Context, lender *place) (*place, *limiter.Call, error) {
	slot, _ := lender.last()
	p := newPlace(slot, r.gates, r.parent.place)
	p.lender = lender
	call, err := slot.Wait(ctx)
	if err != nil {
		r.exit(p, false)
	}
	return p, call, err
}

// exit ends the place of an attempt. Who goes on, backs off and holds no slot.
func (r *run) exit(p *place, goesOn bool) { p.leave(goesOn).Release() }
