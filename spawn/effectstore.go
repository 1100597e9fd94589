package spawn

import (
	"context"
	"fmt"
	"maps"
	"sync"
)

// An EffectStore keeps what is known of the effects of Once. It is written to
// before an effect, and what Begin has written must be there after a crash of
// whatever the store is to outlive. Its methods are called from many goroutines.
// They are atomic, may be called again after an error with the same argument,
// and end by themselves: what becomes of an effect is stored even when the run
// is canceled. A panic in one is an error.
type EffectStore interface {
	// Begin stores intent, which is in flight, if there is no effect of its Worker
	// and Key, and returns the one that is stored then: intent, or what was there.
	Begin(ctx context.Context, intent Effect) (stored Effect, err error)
	// Settle stores what became of the effect with e's Worker, Key and Intent: one
	// that is EffectDone replaces it, and of one that is EffectReleased nothing is
	// kept. If another Intent is stored, nothing changes, and it is an error.
	Settle(ctx context.Context, e Effect) error
}

// guardedStore is a host's EffectStore whose panic is an error. It may be called in a
// goroutine of the worker's own, which nobody guards.
type guardedStore struct{ host EffectStore }

func (g guardedStore) Begin(ctx context.Context, intent Effect) (stored Effect, err error) {
	defer panicked(&err)
	return g.host.Begin(ctx, intent)
}

func (g guardedStore) Settle(ctx context.Context, e Effect) (err error) {
	defer panicked(&err)
	return g.host.Settle(ctx, e)
}

func panicked(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("spawn: Config.Effects panicked: %v", p)
	}
}

// memoryEffects is the EffectStore of a spawner that is given none. It forgets
// the effects of a worker when that has succeeded, and of no other: a run that is
// resumed after days must find them.
type memoryEffects struct {
	mu      sync.Mutex
	effects map[string]map[string]Effect // by worker and key
}

func newMemoryEffects() *memoryEffects {
	return &memoryEffects{effects: make(map[string]map[string]Effect)}
}

func (m *memoryEffects) Begin(_ context.Context, intent Effect) (Effect, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if stored, ok := m.effects[intent.Worker][intent.Key]; ok {
		return stored, nil
	}
	if m.effects[intent.Worker] == nil {
		m.effects[intent.Worker] = make(map[string]Effect)
	}
	m.effects[intent.Worker][intent.Key] = intent
	return intent, nil
}

func (m *memoryEffects) Settle(_ context.Context, e Effect) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	of := m.effects[e.Worker]
	stored, ok := of[e.Key]
	switch {
	case ok && stored.Intent != e.Intent, !ok && e.State == EffectDone:
		return fmt.Errorf("spawn: effect %q of %s has no intent %s: it has been decided", e.Key, e.Worker, e.Intent)
	case e.State == EffectDone:
		of[e.Key] = e
	default:
		delete(of, e.Key)
		if len(of) == 0 {
			delete(m.effects, e.Worker)
		}
	}
	return nil
}

// forget drops the effects of a worker. Those in flight stay, in the store or in
// this process.
func (m *memoryEffects) forget(worker string, flies func(key string) bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	of := m.effects[worker]
	maps.DeleteFunc(of, func(key string, e Effect) bool { return e.State != EffectInFlight && !flies(key) })
	if len(of) == 0 {
		delete(m.effects, worker)
	}
}

func (m *memoryEffects) knows(worker string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.effects[worker]) > 0
}
