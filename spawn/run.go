package spawn

import (
	"context"
	"runtime/debug"
	"sync"
	"time"

	"github.com/holdoff-go/holdoff/internal/clock"
	"github.com/holdoff-go/holdoff/retry"
	"github.com/holdoff-go/holdoff/spawn/pool"
)

// A run is one worker on its way. Its loop alone touches its fields, but for
// those that are said to be guarded.
type run struct {
	spawner *Spawner
	worker  Worker
	limiter Limiter // the worker's own, or the spawner's
	gates   Limiter // with those of the credential that is called with
	lease   pool.Lease
	hops    int      // to another credential, at once
	parent  *Attempt // that it runs inside of, and that waits for it; nil for most
	ctx     context.Context
	cancel  context.CancelCauseFunc

	lineMu  sync.Mutex
	line    *clock.Line      // began with the run; guarded by lineMu
	elapsed <-chan time.Time // fires when MaxElapsed has passed; nil until needed
	ladder  *ladder
	stormy  bool          // the present attempt began in a storm
	since   time.Duration // on line, of the first refusal in a row; none: there is none

	carried  *carried // safe for concurrent use
	resumes  int      // how often the run has resumed by itself
	accepted bool     // a call of any attempt was
	result   Result
	err      error         // that goes with result, once the run has ended
	verdict  retry.Verdict // of the last attempt

	// Guarded by spawner.mu.
	entry  entry
	atLast bool // no retry follows the present or next attempt
}

// none is no time on a run's line.
const none time.Duration = -1

// loop runs the worker to its end.
func (r *run) loop() (Result, error) {
	defer r.leave()
	r.notify(Queued, time.Time{})
	for d := (decision{priority: r.worker.Priority}); ; {
		d = r.resumed(r.try(d))
		if d.end == Queued && !r.advance(BackingOff, r.backsOffUntil(d)) {
			d = r.drained()
		}
		if d.end != Queued {
			return r.finish(d)
		}
	}
}

// try makes one attempt: slot, run, classify, report, release; and with the same
// place those that follow at once with another credential.
func (r *run) try(d decision) decision {
	p, call, end := r.admit(d)
	if end.end != Queued {
		return end
	}
	// Deferred, because a hook may end this goroutine by runtime.Goexit, as a
	// test's FailNow does, and must not take the slot along.
	goesOn := false
	defer func() { r.exit(p, goesOn) }()
	for {
		if end := r.begins(d); end.end != Queued {
			return end
		}
		a := newAttempt(r, r.result.Total+1, p, call)
		r.stormy = r.gates.Status().Storm
		if !r.advance(Running, time.Time{}) {
			return r.drained()
		}
		goesOn = false
		err := r.attempt(a)
		d = r.decided(r.judge(a, err), err)
		var next *place
		next, d = r.hop(p, d)
		goesOn = d.end == Queued
		if next == nil {
			return d
		}
		p, call = next, nil
	}
}

// begins says whether the attempt that d leads to begins, now that it has a slot.
func (r *run) begins(d decision) decision {
	if d.resumes {
		if r.worker.Resume.late(r.spawner.clock.Now()) {
			return r.park(d.class, r.result.RetryAt)
		}
		r.resumes++
	}
	if r.result.Total == 0 {
		return decision{}
	}
	// A goroutine of the last attempt may have declared an effect since.
	return r.decided(decision{class: d.class}, nil)
}

// backsOffUntil is when a worker may go on that waits as d says.
func (r *run) backsOffUntil(d decision) time.Time {
	if d.resumes {
		return r.at(d.wait)
	}
	return r.at(max(d.wait, r.verdict.RetryAfter))
}

// attempt runs the worker once, on a goroutine of its own that has ended when
// attempt returns; it classifies, reports and records what that came to.
func (r *run) attempt(a *Attempt) error {
	r.carried.begin(a.number)
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
	defer func() { // for a classifier may end this goroutine by runtime.Goexit
		r.result.add(AttemptRecord{
			ID: a.id, Number: a.number, Credential: a.Credential(), Units: a.units(),
			Start: start, End: r.spawner.clock.Now(), Verdict: r.verdict, Err: err,
		})
	}()
	r.verdict = retry.Verdict{}
	r.verdict = a.finish(err)
	return err
}

// age is how long ago the run began.
func (r *run) age() time.Duration {
	r.lineMu.Lock()
	defer r.lineMu.Unlock()
	return r.line.Now()
}

// at is the time of day in d.
func (r *run) at(d time.Duration) time.Time { return r.spawner.clock.Now().Add(d) }

// finish ends the run: the death path first, then the one terminal event.
func (r *run) finish(d decision) (Result, error) {
	r.result.State = d.end
	r.carried.into(&r.result)
	if d.end == Succeeded {
		r.spawner.effects.forget(r)
	}
	if d.end != Succeeded {
		given := r.result.err(r.class(d), d.reasons...)
		if d.end == Canceled && r.parent != nil {
			r.parent.childStopped(given)
		}
		r.err = given
	}
	defer r.conclude() // for OnDeath may end this goroutine by runtime.Goexit
	if d.end == Dead {
		r.spawner.notify.death(Death{Result: r.result, Err: r.err})
	}
	return r.result, r.err
}

// conclude tells of the end.
func (r *run) conclude() {
	until := time.Time{}
	if r.result.State == Parked {
		until = r.result.RetryAt
	}
	r.advance(r.result.State, until)
}

// leave takes the run off the living.
func (r *run) leave() {
	defer func() {
		r.cancel(nil)
		s := r.spawner
		s.mu.Lock()
		defer s.mu.Unlock()
		s.end(r)
	}()
	if !r.result.State.Terminal() { // a hook has ended this goroutine by runtime.Goexit
		_, _ = r.finish(decision{end: Canceled, class: retry.Canceled, reasons: []error{ErrGoexit}})
	}
}

// drained ends a run that would go on while the spawner drains.
func (r *run) drained() decision {
	r.cancel(ErrDraining)
	return r.canceled()
}

// advance moves the worker to state, and tells. Once the spawner drains it
// refuses all states but ends.
func (r *run) advance(state State, until time.Time) bool {
	s := r.spawner
	s.mu.Lock()
	if s.draining && !state.Terminal() {
		s.mu.Unlock()
		return false
	}
	st := &r.entry.status
	st.State, st.Since, st.Until = state, s.clock.Now(), until
	if state == Running {
		st.Attempt++
		st.Credential = r.lease.ID
	} else {
		st.Verdict, st.Err, st.Cause = r.verdict, r.lastErr(), r.result.cause()
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
	if n := len(r.result.Attempts); n > 0 {
		e.Credential = r.result.Attempts[n-1].Credential
	}
	if state == Running {
		e.Attempt++
		e.Credential = r.lease.ID
	} else {
		e.Verdict, e.Err = r.verdict, r.lastErr()
	}
	r.spawner.notify.event(e, r.worker.OnEvent)
}
