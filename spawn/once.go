package spawn

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"strconv"
	"sync"

	"github.com/holdoff-go/holdoff/retry"
)

// Once runs fn, which has one effect, at most once over all attempts of a's worker,
// and returns its value. key names the effect within the worker. After that:
//
//   - fn returned no error: its value is stored, as JSON, and each further Once
//     with the key returns that, and does not run fn. T must be made so that its
//     JSON reads back.
//   - fn is running, in another goroutine or in one that an earlier attempt left
//     behind: an error that is ErrInFlight. Return it, and the attempt is retried
//     as for a transient failure.
//   - fn returned an error from which it follows that there was no effect: the
//     error is returned, and the next Once may try again. So it is for a refusal,
//     a Fatal or Auth failure, an error of fn's own (class Unknown), and any that
//     is ErrNotDone.
//   - it is not known whether there was an effect: fn ended in a timeout, a lost
//     connection, a 5xx (class Transient), by cancellation, a panic, a Goexit, or
//     an error that is ErrNeedsDecision; or the process died on the way. The error
//     is ErrNeedsDecision now and for each further Once: the run is Dead, and
//     Spawner.Decide says how it was.
//
// What is known is kept in Config.Effects: over a death of the process only if
// that store outlives it, and then the worker must have an ID. The default store
// forgets it when the run has Succeeded, and Once is an error from then on. An
// error of the store before fn was run is transient. An empty key is an error.
// Safe for concurrent use, with the same key too; inside of fn that key is in
// flight.
func Once[T any](ctx context.Context, a *Attempt, key string, fn func(context.Context) (T, error)) (T, error) {
	var value T
	if fn == nil {
		return value, fmt.Errorf("spawn: Once: the function of effect %q is nil: it is required", key)
	}
	ran := false
	stored, err := a.run.spawner.effects.once(ctx, a, key, func(ctx context.Context) ([]byte, error) {
		v, err := fn(ctx)
		if err != nil {
			return nil, err
		}
		text, err := json.Marshal(v)
		if err != nil {
			return nil, fmt.Errorf("%w: its result cannot be stored: %w", ErrNeedsDecision, err)
		}
		value, ran = v, true
		return text, nil
	})
	if err != nil {
		var none T
		return none, err
	}
	if !ran && len(stored) > 0 {
		if err := json.Unmarshal(stored, &value); err != nil {
			return value, fmt.Errorf("spawn: the stored result of effect %q is no %T: %w", key, value, err)
		}
	}
	return value, nil
}

// Once is the function Once for an effect without a value.
func (a *Attempt) Once(ctx context.Context, key string, fn func(context.Context) error) error {
	if fn == nil {
		return fmt.Errorf("spawn: Once: the function of effect %q is nil: it is required", key)
	}
	_, err := Once(ctx, a, key, func(ctx context.Context) (struct{}, error) { return struct{}{}, fn(ctx) })
	return err
}

// effects runs the effects of a spawner's workers.
type effects struct {
	store   guardedStore
	lasting bool   // store is the host's, and may outlive the process
	owner   string // unique to the spawner, in all processes

	mu      sync.Mutex
	intents uint64
	flights map[effectID]*flight
}

type effectID struct{ worker, key string }

// A flight is an effect of this process whose last word the store does not have.
// What is in flight in the store and has no flight here was left by a process
// that died, or in doubt.
type flight struct {
	effect  Effect
	running bool // by a goroutine that is in once
	ended   bool // effect.State is what it came to, and only to be stored
}

func newEffects(store EffectStore, owner string) *effects {
	_, own := store.(*memoryEffects)
	return &effects{store: guardedStore{store}, lasting: !own, owner: owner, flights: make(map[effectID]*flight)}
}

// once is Once for a result in bytes.
func (e *effects) once(ctx context.Context, a *Attempt, key string, fn func(context.Context) ([]byte, error)) ([]byte, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if key == "" {
		return nil, errors.New("spawn: Once: the key is empty: it must name the effect, and no other of the worker")
	}
	if e.lasting && a.run.carried.nameless {
		// The next process makes the same ID up, and must not take this one's
		// effects for its own.
		return nil, fmt.Errorf("spawn: effect %q: Worker.ID is empty: Once with Config.Effects needs one that lasts", key)
	}
	id := effectID{a.run.worker.ID, key}
	f, err := e.take(a.run, id, Effect{Worker: id.worker, Key: key, Attempt: a.id, Time: a.run.spawner.clock.Now()})
	if err != nil {
		return nil, err
	}
	keep := true // the flight: the store does not know its end yet
	defer func() { e.land(id, f, keep) }()
	var failure error // of fn
	if !f.ended {
		stored, err := e.store.Begin(ctx, f.effect)
		switch {
		case err != nil:
			// Nothing was run. The intent may have been written all the same: the next
			// try has the same one, and will know it.
			return nil, fmt.Errorf("spawn: effect %q was not begun: %w", key, errors.Join(retry.Transient, err))
		case stored.State == EffectDone:
			keep = false
			a.run.carried.note(stored)
			return stored.Result, nil
		case stored.Intent != f.effect.Intent:
			keep = false
			a.run.carried.note(stored)
			return nil, &EffectError{Effect: stored, reason: ErrNeedsDecision}
		}
		a.run.carried.note(f.effect)
		keep = false // in case fn ends this goroutine: then the intent stays, in doubt
		f.effect.Result, failure = contain(ctx, fn)
		if failure != nil && a.doubtful(ctx, failure) {
			return nil, &EffectError{Effect: f.effect, Err: failure, reason: ErrNeedsDecision}
		}
		keep, f.ended = true, true
		f.effect.State = EffectDone
		if failure != nil {
			f.effect.State = EffectReleased
		}
	}
	// It has happened, or not: that the run is canceled changes nothing.
	if err := e.store.Settle(context.WithoutCancel(ctx), f.effect); err != nil {
		return nil, fmt.Errorf("spawn: what became of effect %q was not stored: %w", key, errors.Join(retry.Transient, err, failure))
	}
	keep = false
	a.run.carried.note(f.effect)
	if f.effect.State == EffectReleased && failure == nil {
		// Of an earlier try, whose end could not be stored then.
		return nil, fmt.Errorf("spawn: effect %q failed, and may be tried again: %w", key, retry.Transient)
	}
	return f.effect.Result, failure
}

// take returns the flight of id for the caller alone, which acts for run by; nil:
// for a host that decides. If there is none, it is a new one of effect, with an
// intent of its own.
func (e *effects) take(by *run, id effectID, effect Effect) (*flight, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	f := e.flights[id]
	switch {
	case by != nil && by.carried.forgotten:
		return nil, fmt.Errorf("spawn: effect %q: the run has succeeded, and its effects are forgotten: it may have been had", id.key)
	case f == nil:
		e.intents++
		effect.Intent = e.owner + "-" + strconv.FormatUint(e.intents, 10)
		f = &flight{effect: effect}
		e.flights[id] = f
	case f.running:
		now := f.intent() // its state and result are those of the goroutine that runs it
		return nil, &EffectError{Effect: now, reason: ErrInFlight}
	}
	f.running = true
	return f, nil
}

// intent returns the effect as it was begun.
func (f *flight) intent() Effect {
	return Effect{
		Worker: f.effect.Worker, Key: f.effect.Key, Attempt: f.effect.Attempt,
		Time: f.effect.Time, Intent: f.effect.Intent,
	}
}

func (e *effects) land(id effectID, f *flight, keep bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	f.running = false
	if !keep {
		delete(e.flights, id)
	}
}

// contain calls fn; its panic is an error.
func contain(ctx context.Context, fn func(context.Context) ([]byte, error)) (result []byte, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &PanicError{Value: p, Stack: debug.Stack()}
		}
	}()
	return fn(ctx)
}

// doubtful reports whether an effect may have been had that failed with err.
func (a *Attempt) doubtful(ctx context.Context, err error) bool {
	if is(err, ErrNotDone) {
		return false
	}
	if _, panicked := as[*PanicError](err); panicked || is(err, ErrNeedsDecision) {
		return true
	}
	switch a.ask(ctx, err).Class {
	case retry.Transient, retry.Canceled:
		return true
	case retry.Unknown:
		return ctx.Err() != nil // and what that did to fn is not known
	default:
		return false
	}
}

// forget drops what the default store knows of a run that has succeeded. A
// goroutine that this has left behind begins no effect any more: nobody knows
// whether it was had.
func (e *effects) forget(r *run) {
	m, ok := e.store.host.(*memoryEffects)
	if !ok {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	r.carried.forgotten = true
	m.forget(r.worker.ID, func(key string) bool { return e.flights[effectID{r.worker.ID, key}] != nil })
}

// knows reports whether the default store has an effect of that worker.
func (e *effects) knows(worker string) bool {
	m, ok := e.store.host.(*memoryEffects)
	return ok && m.knows(worker)
}
