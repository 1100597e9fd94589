package spawn

import (
	"context"
	"time"

	"github.com/holdoff-go/holdoff/internal/clock"
	"github.com/holdoff-go/holdoff/limiter"
	"github.com/holdoff-go/holdoff/retry"
)

// admit waits as d says, and for the credential, and then for a slot.
func (r *run) admit(d decision) (*place, *limiter.Call, decision) {
	if d.resumes { // what it waits for would park it again
		if err := r.sleep(r.ctx, d.wait); err != nil {
			return nil, nil, r.stopped(err)
		}
		d.wait = 0
	}
	for wait := d.wait; ; {
		changed := r.spawner.rota.Changed() // first, so that nothing is missed in between
		parked := r.parked()
		var err error
		switch {
		case parked.end != Queued:
			return nil, nil, parked
		case wait > 0:
			err = r.sleep(r.ctx, wait)
			wait = 0
		case parked.wait > 0:
			err = r.sleepUnless(changed, parked.wait)
		default:
			p, call, err := r.enter(d.priority)
			switch {
			case err == nil:
				return p, call, decision{}
			case !movedOn(err) || r.ctx.Err() != nil:
				return nil, nil, r.stopped(err)
			}
			// A credential was found used up while this one queued for it.
		}
		if err != nil {
			return nil, nil, r.stopped(err)
		}
	}
}

// sleep waits for d, or until ctx ends.
func (r *run) sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return nil
	}
	select {
	case <-r.spawner.clock.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// sleepUnless is sleep, until something has changed.
func (r *run) sleepUnless(changed <-chan struct{}, d time.Duration) error {
	select {
	case <-r.spawner.clock.After(d):
		return nil
	case <-changed:
		return nil
	case <-r.ctx.Done():
		return context.Cause(r.ctx)
	}
}

// tooLong returns the error of a wait that ends after MaxElapsed or after the
// context's deadline: it is not begun. What remains is compared, because a sum
// may overflow.
func (r *run) tooLong(wait time.Duration) error {
	if limit := r.spawner.policy.MaxElapsed; limit > 0 && wait > limit-r.age() {
		return retry.ErrElapsed
	}
	if deadline, ok := r.ctx.Deadline(); ok && wait > clock.Until(deadline) {
		return context.DeadlineExceeded
	}
	return nil
}

// acquire takes a slot, within what MaxElapsed leaves.
func (r *run) acquire(ctx context.Context, priority limiter.Priority) (slot *limiter.Slot, err error) {
	until, err := r.within(ctx, &r.elapsed, func(ctx context.Context) (err error) {
		slot, err = r.queue(ctx, priority)
		return err
	})
	if is(err, retry.ErrElapsed) {
		r.result.RetryAt = until
	}
	return slot, err
}

// within calls wait with a context that ends with MaxElapsed; its error is then
// ErrElapsed, and until is when the wait would have ended, where that is known.
// elapsed is kept from call to call, so that a run waits for its end once.
func (r *run) within(
	ctx context.Context, elapsed *<-chan time.Time, wait func(context.Context) error,
) (until time.Time, err error) {
	limit := r.spawner.policy.MaxElapsed
	if limit == 0 {
		return until, wait(ctx)
	}
	left := limit - r.age()
	if left < 0 {
		return until, retry.ErrElapsed
	}
	if *elapsed == nil {
		*elapsed = r.spawner.clock.After(left)
	}
	within, cancel := context.WithCancelCause(ctx)
	watched := make(chan bool, 1)
	go func() {
		select {
		case <-*elapsed:
			cancel(retry.ErrElapsed)
			watched <- true
		case <-within.Done():
			watched <- false
		}
	}()
	err = wait(elapsing{within, clock.Real{}.Now().Add(left)})
	cancel(nil)
	if fired := <-watched; fired {
		*elapsed = nil // it fires once, and wait may have ended at that very instant
	}
	if blocked, ok := as[*limiter.BlockedError](err); ok && ctx.Err() == nil && blocked.Wanted > left {
		return blocked.Until, retry.ErrElapsed
	}
	return until, err
}

// queue waits at the gate.
func (r *run) queue(ctx context.Context, priority limiter.Priority) (*limiter.Slot, error) {
	slot, err := r.gates.AcquireAs(ctx, priority)
	blocked, ok := as[*limiter.BlockedError](err)
	if !ok || blocked.Reason != limiter.ReasonQueueFull || r.result.Total == 0 {
		return slot, err
	}
	// Only new work is turned away: this one is here already. But its turn is that
	// of new work.
	if err := r.sleep(ctx, blocked.Until.Sub(r.spawner.clock.Now())); err != nil {
		return nil, err
	}
	return r.gates.AcquireAs(ctx, limiter.Resumed)
}

// elapsing is a context with the earlier deadline of its own: what is left of
// MaxElapsed, as real time, so that the limiter can compare it.
type elapsing struct {
	context.Context
	deadline time.Time
}

func (c elapsing) Deadline() (time.Time, bool) {
	if d, ok := c.Context.Deadline(); ok && d.Before(c.deadline) {
		return d, true
	}
	return c.deadline, true
}
