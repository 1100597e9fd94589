package spawn

import (
	"context"
	"errors"
	"runtime/debug"
	"time"

	"github.com/cenkalti/backoff/v4"

	"github.com/holdoff-go/holdoff/internal/clock"
	"github.com/holdoff-go/holdoff/limiter"
	"github.com/holdoff-go/holdoff/retry"
)

// A run is one worker on its way. Its loop alone touches its fields, but for
// entry.
type run struct {
	spawner *Spawner
	worker  Worker
	parent  *Attempt // that it runs inside of, and that waits for it; nil for most
	ctx     context.Context
	cancel  context.CancelCauseFunc

	line    *clock.Line      // began with the run
	elapsed <-chan time.Time // fires when MaxElapsed has passed; nil until needed
	ladder  *ladder
	lent    bool // it has the parent's place

	stormy  bool          // the last attempt was let in during a storm
	refused bool          // since the ladder's start
	since   time.Duration // when it first was, on line

	accepted bool // a call of any attempt was
	result   Result
	verdict  retry.Verdict // of the last failure

	entry entry // guarded by spawner.mu
}

// A decision is what follows an attempt: an end, or another attempt.
type decision struct {
	end     State // Queued: none
	reasons []error

	wait     time.Duration // before the next attempt goes to the gate
	priority limiter.Priority
}

func ends(s State, reasons ...error) decision { return decision{end: s, reasons: reasons} }

// loop runs the worker to its end.
func (r *run) loop() (Result, error) {
	defer r.cancel(nil)
	defer r.giveBack()
	r.notify(Queued, time.Time{})
	d := decision{priority: r.worker.Priority}
	for {
		if p := r.parked(); p.end == Parked {
			return r.finish(p)
		} else if p.wait > d.wait {
			d.wait = p.wait
		}
		if err := r.sleep(d.wait); err != nil {
			return r.finish(r.stopped(err))
		}
		p, call, err := r.enter(r.ctx, d.priority)
		if err != nil {
			return r.finish(r.stopped(err))
		}
		r.stormy = r.worker.Patience > 0 && r.spawner.limiter.Status().Storm
		a := newAttempt(r, r.result.Total+1, p, call)
		if !r.advance(Running, time.Time{}) {
			r.exit(a, true)
			return r.finish(ends(Canceled, ErrDraining))
		}
		err = r.attempt(a)
		d = r.judge(a, err)
		r.exit(a, d.end == Queued)
		if d.end != Queued {
			return r.finish(d)
		}
		r.advance(BackingOff, r.at(max(d.wait, r.verdict.RetryAfter)))
	}
}

// attempt runs the worker once, on a goroutine of its own that has ended when
// attempt returns, and records what it came to.
func (r *run) attempt(a *Attempt) error {
	start := r.spawner.clock.Now()
	ctx := a.context(r.ctx)
	done := make(chan error)
	go func() {
		var err error
		returned := false
		defer func() {
			if p := recover(); p != nil {
				err = &PanicError{Value: p, Stack: debug.Stack()}
			} else if !returned {
				err = &PanicError{Value: ErrGoexit, Stack: debug.Stack()}
			}
			done <- err
		}()
		err = r.worker.Run(ctx, a)
		returned = true
	}()
	err := <-done
	r.verdict = a.finish(r.ctx, err)
	r.result.add(AttemptRecord{
		ID: a.id, Number: a.number, Start: start, End: r.spawner.clock.Now(), Verdict: r.verdict, Err: err,
	})
	return err
}

// judge decides what follows the attempt, which came to err.
func (r *run) judge(a *Attempt, err error) decision {
	a.mu.Lock()
	progressed := a.progressed
	r.accepted = r.accepted || a.accepted
	a.mu.Unlock()
	if progressed {
		r.ladder.reset()
		r.refused = false
	}
	v := r.verdict
	var given *retry.Error
	var permanent *backoff.PermanentError
	switch {
	case err == nil:
		r.result.RetryAt = time.Time{}
		return ends(Succeeded)
	case v.Class == retry.Canceled, r.ctx.Err() != nil:
		return ends(Canceled, r.ended())
	case errors.As(err, &given):
		// Retried to the end already, by a worker or a retry.Do inside this one.
		r.result.RetryAt = given.RetryAt
		if errors.Is(err, ErrParked) {
			return ends(Parked)
		}
		return ends(Dead)
	}
	if v.Stated {
		r.result.RetryAt = r.at(v.RetryAfter)
	} else {
		r.result.RetryAt = time.Time{}
	}
	switch {
	case errors.As(err, &permanent), !v.Class.Retryable() && v.Class != retry.QuotaExhausted:
		return ends(Dead)
	case r.worker.NoRepeat && (r.accepted || v.Class == retry.Transient):
		return ends(Dead)
	case v.Class == retry.QuotaExhausted:
		return r.exhausted(v)
	default:
		return r.retry(v)
	}
}

// exhausted parks the credential. The run goes on only if the reset is known and
// may be waited for.
func (r *run) exhausted(v retry.Verdict) decision {
	until := r.at(parkUnstated)
	if v.Stated {
		until = r.result.RetryAt
	}
	r.spawner.credential.park(until, v.Stated)
	if d := r.parked(); d.end == Parked {
		return d
	}
	_, _, ok := r.ladder.next() // a quota that stays used up is not asked for ever
	if !ok {
		return r.park(until)
	}
	return r.again(0, false)
}

// parked says what the parked credential means for the run: the end, a wait, or
// nothing.
func (r *run) parked() decision {
	now := r.spawner.clock.Now()
	until, stated := r.spawner.credential.parked(now)
	if until.IsZero() {
		return decision{}
	}
	wait := until.Sub(now)
	if !stated || wait > r.spawner.maxInlineWait || r.tooLong(wait) != nil {
		return r.park(until)
	}
	return decision{wait: wait}
}

func (r *run) park(until time.Time) decision {
	r.result.RetryAt = until
	return ends(Parked, ErrParked)
}

// retry decides on a failure that a later attempt may mend.
func (r *run) retry(v retry.Verdict) decision {
	if v.Class.Refusal() && v.RetryAfter > r.spawner.maxInlineWait {
		return r.park(r.result.RetryAt)
	}
	if v.Class.Refusal() && !r.refused {
		r.refused, r.since = true, r.line.Now()
	}
	step, last, ok := r.ladder.next()
	if !ok {
		if !v.Class.Refusal() || !r.patient() {
			return ends(Dead)
		}
		last = true // and not yet spent
	}
	wait := max(step, v.RetryAfter)
	if err := r.tooLong(wait); err != nil {
		if errors.Is(err, retry.ErrElapsed) {
			return ends(Dead, err)
		}
		return ends(Canceled, err)
	}
	if v.Class.Refusal() {
		// The limiter knows the stated time, and when it is this worker's turn.
		return r.again(step, last)
	}
	if !r.spawner.budget.take() {
		return ends(Dead, ErrRetryBudget)
	}
	return r.again(wait, last)
}

// patient reports whether the last refusal was the storm's, not the worker's
// own, and is to be borne. A policy without retries stays one.
func (r *run) patient() bool {
	return r.stormy && r.result.Total > 1 && r.line.Now()-r.since < r.worker.Patience
}

// again decides on another attempt. The last retry is not spent on a storm while
// others can probe it: it queues as new work for that.
func (r *run) again(wait time.Duration, last bool) decision {
	priority := limiter.Resumed
	switch {
	case last && r.spawner.limiter.Status().Storm && (r.worker.Patience > 0 || r.spawner.others(r)):
		priority = limiter.Normal
	case r.worker.Priority == limiter.Emergency:
		priority = limiter.Emergency
	}
	return decision{wait: wait, priority: priority}
}

// tooLong returns the error of a wait that ends after MaxElapsed or after the
// context's deadline: it is not begun. What remains is compared, because a sum
// may overflow.
func (r *run) tooLong(wait time.Duration) error {
	if limit := r.spawner.policy.MaxElapsed; limit > 0 && wait > limit-r.line.Now() {
		return retry.ErrElapsed
	}
	if deadline, ok := r.ctx.Deadline(); ok && wait > clock.Until(deadline) {
		return context.DeadlineExceeded
	}
	return nil
}

// sleep waits for d, or until the run is stopped.
func (r *run) sleep(d time.Duration) error {
	if d <= 0 {
		return nil
	}
	select {
	case <-r.spawner.clock.After(d):
		return nil
	case <-r.ctx.Done():
		return context.Cause(r.ctx)
	}
}

// acquire takes a slot, within what MaxElapsed leaves.
func (r *run) acquire(ctx context.Context, priority limiter.Priority) (*limiter.Slot, error) {
	limit := r.spawner.policy.MaxElapsed
	if limit == 0 {
		return r.queue(ctx, priority)
	}
	if r.elapsed == nil {
		r.elapsed = r.spawner.clock.After(limit - r.line.Now())
	}
	within, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		select {
		case <-r.elapsed:
			cancel(retry.ErrElapsed)
		case <-within.Done():
		}
	}()
	slot, err := r.queue(elapsing{within, clock.Real{}.Now().Add(limit - r.line.Now())}, priority)
	cancel(nil)
	<-watched
	var blocked *limiter.BlockedError
	if errors.As(err, &blocked) && ctx.Err() == nil && r.tooLong(blocked.Wanted) == retry.ErrElapsed {
		err = retry.ErrElapsed
	}
	return slot, err
}

// queue waits at the gate.
func (r *run) queue(ctx context.Context, priority limiter.Priority) (*limiter.Slot, error) {
	slot, err := r.spawner.limiter.AcquireAs(ctx, priority)
	var blocked *limiter.BlockedError
	if errors.As(err, &blocked) && blocked.Reason == limiter.ReasonQueueFull && r.result.Total > 0 {
		// Only new work is turned away: this one is here already.
		return r.spawner.limiter.AcquireAs(ctx, limiter.Resumed)
	}
	return slot, err
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

// stopped decides on a wait that ended with err.
func (r *run) stopped(err error) decision {
	if errors.Is(err, retry.ErrElapsed) {
		return ends(Dead, err)
	}
	return ends(Canceled, err, r.ended())
}

// ended returns what ended the run's context; nil while it lives.
func (r *run) ended() error {
	if err := r.ctx.Err(); err != nil {
		return errors.Join(err, context.Cause(r.ctx))
	}
	return nil
}

// at is the time of day in d.
func (r *run) at(d time.Duration) time.Time { return r.spawner.clock.Now().Add(d) }

// advance moves the worker to state, and tells. It refuses to start an attempt
// once the spawner drains.
func (r *run) advance(state State, until time.Time) bool {
	s := r.spawner
	s.mu.Lock()
	if s.draining {
		switch state {
		case Running:
			s.mu.Unlock()
			return false
		case BackingOff:
			r.cancel(ErrDraining)
		}
	}
	st := &r.entry.status
	st.State, st.Since, st.Until = state, s.clock.Now(), until
	if state == Running {
		st.Attempt++
	} else {
		st.Verdict, st.Err = r.verdict, r.lastErr()
	}
	s.mu.Unlock()
	r.notify(state, until)
	return true
}

func (r *run) lastErr() error {
	if n := len(r.result.Attempts); n > 0 {
		return r.result.Attempts[n-1].Err
	}
	return nil
}

func (r *run) notify(state State, until time.Time) {
	e := Event{ID: r.worker.ID, State: state, Time: r.spawner.clock.Now(), Attempt: r.result.Total, Until: until}
	if state == Running {
		e.Attempt++
	} else {
		e.Verdict, e.Err = r.verdict, r.lastErr()
	}
	r.spawner.notify.event(e, r.worker.OnEvent)
}

// finish ends the run: the death path first, then the one terminal event.
func (r *run) finish(d decision) (Result, error) {
	r.result.State = d.end
	var err error
	if d.end != Succeeded {
		err = r.result.err(r.class(d), d.reasons...)
	}
	if d.end == Dead {
		r.spawner.notify.death(Death{Result: r.result, Err: err})
	}
	r.advance(d.end, r.untilParked(d))
	s := r.spawner
	s.mu.Lock()
	s.end(r)
	s.mu.Unlock()
	return r.result, err
}

func (r *run) untilParked(d decision) time.Time {
	if d.end == Parked {
		return r.result.RetryAt
	}
	return time.Time{}
}

// class is that of the run's error.
func (r *run) class(d decision) retry.Class {
	switch {
	case d.end == Canceled:
		return retry.Canceled
	case d.end == Parked && !r.verdict.Class.Refusal():
		return retry.QuotaExhausted
	case r.result.Total > 0:
		return r.verdict.Class
	case r.spawner.limiter.Status().Reason == limiter.ReasonOverloaded:
		return retry.Overloaded
	default: // it never got past the limiter
		return retry.RateLimited
	}
}
