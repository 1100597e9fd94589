package spawn

import (
	"context"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/holdoff-go/holdoff/internal/attempt"
	"github.com/holdoff-go/holdoff/internal/outcall"
	"github.com/holdoff-go/holdoff/limiter"
	"github.com/holdoff-go/holdoff/retry"
	"github.com/holdoff-go/holdoff/spawn/pool"
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
	gates  Limiter // the run's limiter, and those of the credential

	mu         sync.Mutex
	call       *limiter.Call  // the last one gated; nil: the slot's own
	lease      pool.Lease     // the credential's, as of then
	reported   error          // of the last report; nil for a success
	verdict    retry.Verdict  // of it
	answered   bool           // the last report was a success
	failing    bool           // the last call came to a failure, and none has been gated since
	accepted   bool           // a call was
	progressed bool           // and will not be repeated
	over       bool           // Run has returned
	stopped    []*retry.Error // of children that were Canceled
	spent      int64          // by Spend
	calls      calls          // through a transport
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
		gates:  r.gates,
		call:   call,
		lease:  r.lease,
	}
	a.lease, _ = r.spawner.rota.Again(r.lease)
	a.calls.give(a.origin(), r.spawner.clock.Now())
	return a
}

// context returns the context of the attempt under that of its run.
func (a *Attempt) context(ctx context.Context) context.Context {
	ctx = context.WithValue(ctx, contextKey{}, a)
	if a.run.spawner.pooled {
		ctx = a.run.spawner.rota.With(ctx, a.lease)
	}
	return outcall.With(attempt.With(ctx), transport{a})
}

// ID names this attempt: the worker's ID, a "#", and the number.
func (a *Attempt) ID() string { return a.id }

// WorkerID is the worker's ID, the same in all of its attempts.
func (a *Attempt) WorkerID() string { return a.run.worker.ID }

// Number counts the attempts of the run, from 1.
func (a *Attempt) Number() int { return a.number }

// Wait gates one further call of a worker that makes many: it waits for a stated
// pause, a hold and the pace of the limiter. What the call comes to belongs in
// Report or Progress. Its errors are those of limiter.Limiter.Wait, and
// pool.ErrMoved where the attempt's credential has been parked: a worker that returns
// that, however wrapped, goes on with another.
func (a *Attempt) Wait(ctx context.Context) error {
	call, lease, err := a.gate(ctx)
	if err != nil {
		return err
	}
	now := a.run.spawner.clock.Now()
	a.mu.Lock()
	a.call, a.lease = call, lease
	a.failing = false
	a.calls.give(call, now)
	a.mu.Unlock()
	return nil
}

// gate waits for leave to make one further call.
func (a *Attempt) gate(ctx context.Context) (call *limiter.Call, lease pool.Lease, err error) {
	rota := a.run.spawner.rota
	var elapsed <-chan time.Time
	for {
		lease, err = rota.Again(a.leased())
		if err != nil && a.run.spawner.pooled {
			a.moved(lease)
			return nil, lease, err
		}
		within, stop := rota.Within(ctx, lease)
		_, err = a.run.within(within, &elapsed, func(ctx context.Context) error {
			slot, err := a.regain(ctx)
			if err == nil {
				call, err = slot.Wait(ctx)
			}
			return err
		})
		stop()
		if !is(err, pool.ErrMoved) || ctx.Err() != nil {
			return call, lease, err
		}
		// If it is not parked, the host has switched: this attempt stays.
	}
}

// regain returns the attempt's slot. One that a child has lost is made up for by
// a new one, by what another child brings back, or by what is idle further up.
func (a *Attempt) regain(ctx context.Context) (*limiter.Slot, error) {
	p := a.place
	slot, gone := p.last()
	if !gone {
		return slot, nil
	}
	slot, err := p.family.acquireUnless(ctx, func(ctx context.Context) (*limiter.Slot, error) {
		return a.gates.AcquireAs(ctx, limiter.Resumed)
	}, p.refill)
	if err != nil {
		return nil, err
	}
	if slot != nil && !p.put(slot) {
		slot.Release() // a call beside this one was quicker
	}
	slot, _ = p.last()
	return slot, nil
}

// Report says what a call came to, nil for accepted: it classifies err, feeds
// the limiter and the pool and returns the verdict. It ends nothing. A worker that absorbs
// refusals by itself tells the fleet of them with it. An error that has been
// reported and is then returned from Run is not reported twice.
func (a *Attempt) Report(err error) retry.Verdict {
	if err == nil {
		a.succeeded(false)
		return retry.Verdict{}
	}
	ctx := a.run.ctx
	a.mu.Lock()
	if a.over {
		ctx = context.WithoutCancel(ctx) // that the run has ended since says nothing about err
	}
	a.mu.Unlock()
	return a.failed(ctx, err, true)
}

// Progress says that a call was accepted and that its work will not be repeated.
// It reports the success, and the refusals in a row start anew: a worker of many
// turns does not die of a few refusals in a day.
func (a *Attempt) Progress() { a.succeeded(true) }

func (a *Attempt) succeeded(progress bool) {
	a.mu.Lock()
	a.answered, a.accepted, a.failing = true, true, false
	first := progress && !a.progressed
	a.progressed = a.progressed || progress
	a.reported = nil
	known := a.calls.reported
	a.calls.leave, a.calls.failure = nil, nil // used, and answered
	to, lease := a.origin(), a.lease
	a.mu.Unlock()
	if first {
		a.run.startAnew()
	}
	if !known {
		to.ReportSuccess()
		a.run.spawner.accepted(lease)
	}
}

// failed tells of a failure. evict is that of run.blame.
func (a *Attempt) failed(ctx context.Context, err error, evict bool) retry.Verdict {
	v := a.ask(ctx, err)
	now := a.run.spawner.clock.Now()
	a.mu.Lock()
	known := a.calls.failure.explains(v)
	if known {
		v = a.calls.failure.now(now)
	}
	a.answered, a.failing = false, true
	a.calls.leave = nil
	a.reported, a.verdict = err, v
	blamed := known && a.calls.failure.blamed
	if known {
		a.calls.failure.blamed = true
	}
	to, lease := a.origin(), a.lease
	a.mu.Unlock()
	if !known {
		a.run.report(to, v)
	}
	if !blamed {
		a.run.blame(lease, v, evict)
	}
	return v
}

// finish reports what Run came to, unless the worker has reported it, and
// returns the verdict.
func (a *Attempt) finish(err error) retry.Verdict {
	a.mu.Lock()
	a.over = true
	answered, reported, verdict := a.answered, a.reported, a.verdict
	failing := a.failing
	a.mu.Unlock()
	switch {
	case err == nil && (answered || failing):
		// It has told. What it did about a failure that it absorbed, is not known:
		// that it returns is no success of the call that was refused.
		return retry.Verdict{}
	case err == nil:
		a.succeeded(false)
		return retry.Verdict{}
	case reported != nil && is(err, reported):
		return verdict
	}
	if given, ok := as[*retry.Error](err); ok {
		// Of a worker or a retry.Do inside this one: reported where it was seen.
		return retry.Verdict{Class: given.Class, Rule: "retried to the end inside"}
	}
	return a.failed(a.run.ctx, err, false) // whoever is refused takes his next place first
}

// childStopped notes the error of a child that was Canceled.
func (a *Attempt) childStopped(err *retry.Error) {
	a.mu.Lock()
	a.stopped = append(a.stopped, err)
	a.mu.Unlock()
}

// stoppedChild reports whether err is of a child that was Canceled.
func (a *Attempt) stoppedChild(err *retry.Error) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Contains(a.stopped, err)
}

// origin is whom to report by: the last call that was gated, else the slot.
func (a *Attempt) origin() outcall.Reporter {
	if a.call != nil {
		return a.call
	}
	slot, _ := a.place.last()
	return slot
}
