package spawn

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"time"

	"github.com/holdoff-go/holdoff/internal/attempt"
	"github.com/holdoff-go/holdoff/limiter"
	"github.com/holdoff-go/holdoff/retry"
)

// An Attempt is one try of a worker, as its Run sees it. A worker of one call
// needs none of its methods: what Run returns is classified and reported. One
// of many calls asks Wait before each further call and tells Progress, or Report,
// what came of it. All methods are safe for concurrent use, and may be called
// after the attempt has ended.
type Attempt struct {
	run    *run
	id     string
	number int
	place  *place

	lend      chan struct{} // holds a token while the place is not lent to a child
	abandoned bool          // it ended while the place was lent; guarded by place.mu

	mu         sync.Mutex
	call       *limiter.Call // the last one gated; nil: the slot's own
	reported   error         // of the last report
	verdict    retry.Verdict // of it
	answered   bool          // the last report was a success
	accepted   bool          // a call was
	progressed bool          // and will not be repeated
}

type contextKey struct{}

// FromContext returns the attempt that ctx belongs to: inside a framework's
// callback, say, that hands on nothing but the context.
func FromContext(ctx context.Context) (*Attempt, bool) {
	a, ok := ctx.Value(contextKey{}).(*Attempt)
	return a, ok
}

func newAttempt(r *run, number int, p *place, call *limiter.Call) *Attempt {
	a := &Attempt{
		run:    r,
		id:     r.worker.ID + "#" + strconv.Itoa(number),
		number: number,
		place:  p,
		lend:   make(chan struct{}, 1),
		call:   call,
	}
	a.lend <- struct{}{}
	return a
}

// context returns the context of the attempt under that of its run.
func (a *Attempt) context(ctx context.Context) context.Context {
	return attempt.With(context.WithValue(ctx, contextKey{}, a))
}

// ID names this attempt: the worker's ID, a "#", and the number.
func (a *Attempt) ID() string { return a.id }

// WorkerID is the worker's ID, the same in all of its attempts.
func (a *Attempt) WorkerID() string { return a.run.worker.ID }

// Number counts the attempts of the run, from 1.
func (a *Attempt) Number() int { return a.number }

// Wait gates one further call of a worker that makes many: it waits for a stated
// pause, a hold and the pace of the limiter. What the call comes to belongs in
// Report or Progress. Its errors are those of limiter.Limiter.Wait.
func (a *Attempt) Wait(ctx context.Context) error {
	slot, held := a.place.get()
	if !held {
		// A child gave the place up and did not get back in.
		var err error
		if slot, err = a.run.spawner.limiter.AcquireAs(ctx, limiter.Resumed); err != nil {
			return err
		}
		a.place.put(slot)
	}
	call, err := slot.Wait(ctx)
	if err != nil {
		return err
	}
	a.mu.Lock()
	a.call = call
	a.mu.Unlock()
	return nil
}

// Report says what a call came to, nil for accepted: it classifies err, feeds
// the limiter and returns the verdict. It ends nothing. A worker that absorbs
// refusals by itself tells the fleet of them with it. An error that has been
// reported and is then returned from Run is not reported twice.
func (a *Attempt) Report(err error) retry.Verdict {
	if err == nil {
		a.succeeded(false)
		return retry.Verdict{}
	}
	return a.failed(a.run.ctx, err)
}

// Progress says that a call was accepted and that its work will not be repeated.
// It reports the success, and the refusals in a row start anew: a worker of many
// turns does not die of a few refusals in a day.
func (a *Attempt) Progress() { a.succeeded(true) }

func (a *Attempt) succeeded(progress bool) {
	a.mu.Lock()
	a.answered, a.accepted = true, true
	a.progressed = a.progressed || progress
	a.reported = nil
	to := a.origin()
	a.mu.Unlock()
	to.ReportSuccess()
	a.run.spawner.succeeded()
}

func (a *Attempt) failed(ctx context.Context, err error) retry.Verdict {
	v := retry.Ask(ctx, a.run.spawner.policy.Classifier, err)
	a.mu.Lock()
	a.answered = false
	a.reported, a.verdict = err, v
	to := a.origin()
	a.mu.Unlock()
	switch v.Class {
	case retry.RateLimited:
		to.ReportRateLimited(v.RetryAfter)
	case retry.Overloaded:
		to.ReportOverloaded(v.RetryAfter)
	}
	return v
}

// finish reports what Run came to, unless the worker has reported it, and
// returns the verdict.
func (a *Attempt) finish(ctx context.Context, err error) retry.Verdict {
	a.mu.Lock()
	answered, reported, verdict := a.answered, a.reported, a.verdict
	a.mu.Unlock()
	var given *retry.Error
	switch {
	case err == nil && !answered:
		a.succeeded(false)
		return retry.Verdict{}
	case err == nil:
		return retry.Verdict{}
	case reported != nil && errors.Is(err, reported):
		return verdict
	case errors.As(err, &given):
		// Of a worker or a retry.Do inside this one: reported where it was seen.
		return retry.Verdict{Class: given.Class, Rule: "retried to the end inside"}
	default:
		return a.failed(ctx, err)
	}
}

// reporter is the three reports with an origin.
type reporter interface {
	ReportRateLimited(retryAfter time.Duration)
	ReportOverloaded(retryAfter time.Duration)
	ReportSuccess()
}

// origin is whom to report by: the last call that was gated, else the slot.
func (a *Attempt) origin() reporter {
	if a.call != nil {
		return a.call
	}
	slot, _ := a.place.get()
	return slot
}
