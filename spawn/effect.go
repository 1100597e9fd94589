package spawn

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/holdoff-go/holdoff/retry"
)

// An EffectState is what is known of an effect. Its zero value claims nothing: an
// effect in flight is never had again.
type EffectState int

const (
	// EffectInFlight is an effect that was about to be had when this was written.
	// Of one that nobody runs any more it is not known whether it was.
	EffectInFlight EffectState = iota
	// EffectDone is an effect that was had, and whose result is stored.
	EffectDone
	// EffectReleased is one that was not had, and may be tried again.
	EffectReleased
	// EffectDeclared is one that a worker had by itself, by Attempt.Declare.
	EffectDeclared
)

var effectStateNames = [...]string{"in_flight", "done", "released", "declared"}

// String returns the state as one stable word.
func (s EffectState) String() string {
	if s < 0 || int(s) >= len(effectStateNames) {
		return "EffectState(" + strconv.Itoa(int(s)) + ")"
	}
	return effectStateNames[s]
}

// MarshalText writes the word that String returns.
func (s EffectState) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads what MarshalText writes.
func (s *EffectState) UnmarshalText(text []byte) error {
	for i, name := range effectStateNames {
		if name == string(text) {
			*s = EffectState(i)
			return nil
		}
	}
	return fmt.Errorf("spawn: no state of an effect: %q", text)
}

// An Effect is the record of something that a worker does to the world: a message
// that is sent, a payment, a file that is pushed. Its JSON reads back as it was.
type Effect struct {
	Worker  string      `json:"worker"`           // the worker's ID
	Key     string      `json:"key"`              // names the effect within the worker
	Attempt string      `json:"attempt"`          // the ID of the attempt that had it, or was about to
	Time    time.Time   `json:"time"`             // when it began, or was declared
	State   EffectState `json:"state"`            // what is known of it
	Intent  string      `json:"intent,omitempty"` // of Once: unique to this try, in all processes
	// Result is the JSON of the value that Once returns for it, of an effect that
	// is done. A Result of a run, which shows effects as a trace, does not repeat it.
	Result json.RawMessage `json:"result,omitempty"`
}

// An EffectError says why an effect was not run, or what it left behind. It is
// ErrInFlight or ErrNeedsDecision to errors.Is.
type EffectError struct {
	Effect Effect // as it is on record
	Err    error  // what it failed with; nil if that is not known
	reason error  // ErrInFlight or ErrNeedsDecision
}

// Error names the effect and where it began.
func (e *EffectError) Error() string {
	text := fmt.Sprintf("%v: effect %q, %s in %s", e.reason, e.Effect.Key, e.Effect.State, e.Effect.Attempt)
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

// Unwrap returns the reason and, where it is known, what the effect failed with.
func (e *EffectError) Unwrap() []error {
	if e.Err == nil {
		return []error{e.reason}
	}
	return []error{e.reason, e.Err}
}

// Declare says that the worker has had an effect by itself, outside of Once: key
// names it in the trace. Until a checkpoint is saved the worker is not run again
// for a failure or a refusal, unless it is Idempotent: it is Dead with
// ErrNeedsDecision, and Result.Effects shows what it had done. Revive, which
// somebody asks for, is the decision. Declare before the effect rather than
// after it, if a panic in between is to count.
func (a *Attempt) Declare(key string) {
	c := a.run.carried
	e := Effect{
		Worker: a.run.worker.ID, Key: key, Attempt: a.id,
		Time: a.run.spawner.clock.Now(), State: EffectDeclared,
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.trace(e)
	c.declared = &e
}

// ask classifies err. What an effect in flight means does not depend on the
// host's classifier.
func (a *Attempt) ask(ctx context.Context, err error) retry.Verdict {
	if is(err, ErrInFlight) {
		return retry.Verdict{Class: retry.Transient, Rule: "effect in flight"}
	}
	return retry.Ask(ctx, a.run.spawner.policy.Classifier, err)
}

// decided returns d, which follows an attempt that came to err, unless the work
// would be done again after an effect that nobody knows enough of for that. Then
// the run is Dead, and its host decides.
func (r *run) decided(d decision, err error) decision {
	if d.end == Succeeded || d.end == Dead {
		return d
	}
	var reason error
	c := r.carried
	c.mu.Lock()
	if c.declared != nil && !r.worker.Idempotent {
		reason = &EffectError{Effect: *c.declared, reason: ErrNeedsDecision}
	}
	c.mu.Unlock()
	switch {
	case reason == nil && !is(err, ErrNeedsDecision):
		return d
	case d.end == Canceled: // did not fail, but whoever runs it again must know
		d.reasons = append(d.reasons, reason)
		return d
	default:
		return decision{end: Dead, class: d.class, reasons: []error{reason}}
	}
}
