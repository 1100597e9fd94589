package spawn

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
)

// Decide says what became of an effect of Once that is in doubt: e is that of the
// EffectError or of Result.Effects, with State set to EffectDone, and to Result
// the JSON of the value that Once shall return (none: its zero value), or with
// State set to EffectReleased if it was not had and may be tried. It does not run
// the worker: Revive does. ErrInFlight says that the effect is running.
func (s *Spawner) Decide(ctx context.Context, e Effect) error {
	switch {
	case e.Intent == "":
		return fmt.Errorf("spawn: Decide: effect %q has no Intent: a declared one is decided on by Revive", e.Key)
	case e.State != EffectDone && e.State != EffectReleased:
		return fmt.Errorf("spawn: Decide: Effect.State is %s: it must be done or released", e.State)
	case len(e.Result) > 0 && !json.Valid(e.Result):
		return errors.New("spawn: Decide: Effect.Result is no JSON")
	}
	return s.effects.decide(ctx, e)
}

// decide stores what was decided, in place of what this process knows.
func (e *effects) decide(ctx context.Context, decided Effect) error {
	id := effectID{decided.Worker, decided.Key}
	f, err := e.take(nil, id, decided)
	if err != nil {
		return err
	}
	keep := f.ended
	defer func() { e.land(id, f, keep) }() // deferred, because the store may end this goroutine
	err = e.store.Settle(ctx, decided)
	keep = keep && err != nil
	return err
}
