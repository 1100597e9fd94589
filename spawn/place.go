package spawn

import (
	"context"
	"sync"

	"github.com/holdoff-go/holdoff/limiter"
)

// A place is where attempts are in flight: it holds a slot of the limiter, or
// none while its worker backs off. A worker that runs another one inside itself
// lends it its place: a parent that waits makes no calls, and if each held a
// slot while its child queues for one, a full budget of parents would wait for
// ever.
type place struct {
	mu   sync.Mutex
	slot *limiter.Slot // the last one, kept after its release for late reports
	held bool
}

func newPlace(slot *limiter.Slot) *place { return &place{slot: slot, held: true} }

// get returns the last slot, and whether it is still held.
func (p *place) get() (slot *limiter.Slot, held bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.slot, p.held
}

// put puts slot in, and releases what was held.
func (p *place) put(slot *limiter.Slot) {
	p.mu.Lock()
	old := p.slot
	p.slot, p.held = slot, true
	p.mu.Unlock()
	old.Release()
}

// leave releases the slot.
func (p *place) leave() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.release()
}

func (p *place) release() {
	p.held = false
	p.slot.Release()
}

// enter returns a place in flight for the run's next attempt, and the call that
// gates it where its slot is not a new one. priority is that of the attempt.
func (r *run) enter(ctx context.Context, priority limiter.Priority) (*place, *limiter.Call, error) {
	first := r.result.Total == 0
	if r.parent != nil && !r.lent {
		select {
		case <-r.parent.lend:
			r.lent = true
		default:
		}
	}
	if !r.lent {
		slot, err := r.enterBeside(ctx, priority, first)
		if err != nil {
			return nil, nil, err
		}
		if slot != nil {
			return newPlace(slot), nil, nil
		}
	}
	p := r.parent.place
	if slot, held := p.get(); first && held {
		// It is the parent's next call, so to say, and gated as such.
		call, err := slot.Wait(ctx)
		return p, call, err
	}
	// A retry goes through the gate like any other, and takes its turn there.
	p.leave()
	slot, err := r.acquire(ctx, priority)
	if err != nil {
		return nil, nil, err
	}
	p.put(slot)
	return p, nil, nil
}

// enterBeside takes a slot of the run's own. Inside a parent whose place is lent
// to another child it waits for that place too, whichever comes first, and
// returns no slot and no error when it got the place.
func (r *run) enterBeside(ctx context.Context, priority limiter.Priority, first bool) (*limiter.Slot, error) {
	if r.parent == nil {
		return r.acquire(ctx, priority)
	}
	if first {
		if slot, err := r.spawner.limiter.TryAcquire(); err == nil {
			return slot, nil
		}
	}
	ctx, cancel := context.WithCancel(ctx)
	got := make(chan bool, 1)
	go func() {
		select {
		case <-r.parent.lend:
			cancel()
			got <- true
		case <-ctx.Done():
			got <- false
		}
	}()
	slot, err := r.acquire(ctx, priority)
	cancel()
	if r.lent = <-got; r.lent {
		slot.Release() // both came at once
		return nil, nil
	}
	return slot, err
}

// exit ends attempt a. A lent place keeps its slot for the parent, unless the
// run goes on: who backs off holds none. While a child that the worker did not
// wait for is still in the place, the release is left to it.
func (r *run) exit(a *Attempt, goesOn bool) {
	p := a.place
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-a.lend: // never lent again
		if goesOn || !r.lent {
			p.release()
		}
	default:
		a.abandoned = true
	}
}

// giveBack ends the loan of the parent's place, if there is one.
func (r *run) giveBack() {
	if !r.lent {
		return
	}
	r.lent = false
	p := r.parent.place
	p.mu.Lock()
	defer p.mu.Unlock()
	if r.parent.abandoned {
		p.release()
		return
	}
	r.parent.lend <- struct{}{}
}
