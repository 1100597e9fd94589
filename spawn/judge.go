package spawn

import (
	"context"
	"time"

	"github.com/cenkalti/backoff/v4"

	"github.com/holdoff-go/holdoff/limiter"
	"github.com/holdoff-go/holdoff/retry"
)

// A decision is what follows an attempt, or a wait: an end, or another attempt.
type decision struct {
	end     State       // Queued: none
	class   retry.Class // of the run's error; Unknown: that of the last attempt
	reasons []error

	wait     time.Duration // before the next attempt goes to the gate
	priority limiter.Priority
	resumes  bool // the next attempt is a Resume of the worker
	hops     bool // the next attempt goes on at once, with another credential
}

func ends(s State, reasons ...error) decision { return decision{end: s, reasons: reasons} }

// judge decides what follows attempt a, which came to err and r.verdict.
func (r *run) judge(a *Attempt, err error) decision {
	a.mu.Lock()
	accepted, progressed := a.accepted, a.progressed
	a.mu.Unlock()
	r.accepted = r.accepted || accepted
	if progressed {
		r.ladder.reset()
		r.since = none
	}
	v := r.verdict
	r.result.RetryAt = time.Time{}
	if v.Stated {
		r.result.RetryAt = r.at(v.RetryAfter)
	}
	switch given, inside := as[*retry.Error](err); {
	case err == nil:
		return ends(Succeeded)
	case v.Class == retry.Canceled, r.ctx.Err() != nil, is(err, ErrDraining):
		return r.canceled()
	case inside:
		// Retried to the end already, by a worker or a retry.Do inside this one.
		r.result.RetryAt = given.RetryAt
		switch {
		case is(err, ErrParked):
			return ends(Parked)
		case a.stoppedChild(given): // it did not fail, so neither has this one
			return ends(Canceled)
		default:
			return ends(Dead)
		}
	}
	_, permanent := as[*backoff.PermanentError](err)
	switch {
	case is(err, retry.ErrElapsed): // in Attempt.Wait
		d := ends(Dead)
		d.class, r.result.RetryAt = r.keptOut()
		return d
	case permanent:
		return ends(Dead)
	case r.worker.NoRepeat && (r.accepted || v.Class == retry.Transient):
		return ends(Dead) // the effect may have been had
	case r.ofCredential(v):
		return r.exhausted(a, v)
	case v.Class.Refusal():
		return r.refused(v, r.stormy && !accepted)
	case v.Class == retry.Transient:
		return r.failed(v)
	default:
		return ends(Dead)
	}
}

// refused decides on a refusal, which has opened the limiter's pause. probe says
// that the attempt was made in a storm to see whether it is over.
func (r *run) refused(v retry.Verdict, probe bool) decision {
	if v.RetryAfter > r.spawner.maxInlineWait {
		return r.park(v.Class, r.result.RetryAt)
	}
	if r.since == none {
		r.since = r.age()
	}
	step, ok := r.climb()
	if !ok && !r.outlasts(probe) {
		return ends(Dead)
	}
	// The limiter knows the stated time, and when it is this worker's turn.
	return r.again(step, max(step, v.RetryAfter))
}

// failed decides on a failure that opens no pause.
func (r *run) failed(v retry.Verdict) decision {
	step, ok := r.climb()
	if !ok {
		return ends(Dead)
	}
	wait := max(step, v.RetryAfter)
	d := r.again(wait, wait)
	if d.end == Queued && !r.spawner.budget.take() {
		return ends(Dead, ErrRetryBudget)
	}
	return d
}

// climb takes the ladder's next step. Without one it returns the last again.
func (r *run) climb() (wait time.Duration, ok bool) {
	wait, ok = r.ladder.next()
	r.spawner.mu.Lock()
	r.atLast = r.ladder.last()
	r.spawner.mu.Unlock()
	return wait, ok
}

// again decides on another attempt, which comes to the gate after wait and does
// not pass it before total.
func (r *run) again(wait, total time.Duration) decision {
	switch err := r.tooLong(total); {
	case err == retry.ErrElapsed:
		return ends(Dead, err)
	case err != nil:
		return ends(Canceled, err)
	}
	return decision{wait: wait, priority: r.returnsAs()}
}

func (r *run) park(class retry.Class, until time.Time) decision {
	r.result.RetryAt = until
	return decision{end: Parked, class: class, reasons: []error{ErrParked}}
}

// stopped decides on a wait that ended with err.
func (r *run) stopped(err error) decision {
	if blocked, ok := as[*limiter.BlockedError](err); ok {
		r.result.RetryAt = blocked.Until
	}
	switch {
	case is(err, retry.ErrElapsed):
		return ends(Dead, err)
	case r.ctx.Err() != nil:
		return r.canceled()
	default:
		return ends(Canceled, err)
	}
}

// canceled ends the run for what ended its context, if that has ended.
func (r *run) canceled() decision {
	d := decision{end: Canceled, class: retry.Canceled}
	if err := r.ctx.Err(); err != nil {
		d.reasons = append(d.reasons, context.Cause(r.ctx))
		if !is(d.reasons[0], err) {
			d.reasons = append(d.reasons, err)
		}
	}
	return d
}

// class is that of the run's error.
func (r *run) class(d decision) retry.Class {
	switch {
	case d.class != retry.Unknown:
		return d.class
	case r.result.Total > 0:
		return r.verdict.Class
	}
	class, _ := r.keptOut()
	return class
}

// keptOut says what keeps the run from getting past the limiter, and until when
// that is known to last.
func (r *run) keptOut() (retry.Class, time.Time) {
	switch st := r.gates.Status(); {
	case !st.Storm && st.BlockedUntil.IsZero(): // no refusal
		return retry.Canceled, time.Time{}
	case st.Reason == limiter.ReasonOverloaded:
		return retry.Overloaded, st.BlockedUntil
	default:
		return retry.RateLimited, st.BlockedUntil
	}
}
