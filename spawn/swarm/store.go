package swarm

import (
	"context"
	"fmt"
	"sync"

	"github.com/holdoff-go/holdoff/spawn"
)

// A Store keeps finished results by key, so that a swarm that is run again
// starts only what is missing. Implementations must be safe for concurrent use:
// Save is called by many members at once.
type Store[K comparable, Out any] interface {
	// Load returns the result saved under key, and whether there is one. An error
	// becomes the input's Result and its member is not started: not to know is no
	// reason to pay again. A record that cannot be read should be no result.
	Load(ctx context.Context, key K) (value Out, ok bool, err error)
	// Save keeps value under key. It is called as soon as a member has succeeded,
	// with a context that does not end with the swarm's.
	Save(ctx context.Context, key K, value Out) error
}

// Memory is a Store in memory. Its zero value is empty and ready to use. It is
// safe for concurrent use.
type Memory[K comparable, Out any] struct {
	mu     sync.Mutex
	values map[K]Out
}

// Load returns the value saved under key. It never fails.
func (m *Memory[K, Out]) Load(_ context.Context, key K) (Out, bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	value, ok := m.values[key]
	return value, ok, nil
}

// Save keeps value under key. It never fails.
func (m *Memory[K, Out]) Save(_ context.Context, key K, value Out) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.values == nil {
		m.values = make(map[K]Out)
	}
	m.values[key] = value
	return nil
}

// load asks the store, and contains its panics: they would take down the
// process, with everybody in it.
func load[K comparable, Out any](ctx context.Context, s Store[K, Out], key K) (value Out, ok bool, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("swarm: Store.Load panicked: %v", p)
		}
	}()
	if value, ok, err = s.Load(ctx, key); err != nil {
		err = fmt.Errorf("swarm: the store was not read: %w", err)
	}
	return value, ok, err
}

// errSaveGoexit is the Err of a member whose store ended its goroutine.
var errSaveGoexit = fmt.Errorf("swarm: the result was not stored: %w", spawn.ErrGoexit)

func save[K comparable, Out any](ctx context.Context, s Store[K, Out], key K, value Out) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("swarm: Store.Save panicked: %v", p)
		}
	}()
	if err = s.Save(ctx, key, value); err != nil {
		err = fmt.Errorf("swarm: the result was not stored: %w", err)
	}
	return err
}
