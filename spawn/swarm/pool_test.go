package swarm_test

import (
	"context"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdoff-go/holdoff/limiter"
	"github.com/holdoff-go/holdoff/retry"
	"github.com/holdoff-go/holdoff/spawn"
	"github.com/holdoff-go/holdoff/spawn/pool"
	"github.com/holdoff-go/holdoff/spawn/swarm"
)

func TestEvents_OfAMemberThatGoesOnWithAnotherCredential(t *testing.T) {
	group, err := limiter.NewGroup(limiter.GroupConfig{})
	require.NoError(t, err)
	p, err := pool.New(pool.Config[string]{Group: group, Credentials: []pool.Credential[string]{{ID: "A"}, {ID: "B"}}})
	require.NoError(t, err)
	spawner, err := spawn.New(spawn.Config{Limiter: group.Of(limiter.Key{Scope: "provider"}), Pool: p})
	require.NoError(t, err)
	var mu sync.Mutex
	var kinds []swarm.EventKind
	s, err := swarm.New(swarm.Config[string, string]{Spawner: spawner, OnEvent: func(e swarm.Event[string]) {
		mu.Lock()
		defer mu.Unlock()
		kinds = append(kinds, e.Kind)
	}}, one("task", 1), func(ctx context.Context, _ *spawn.Attempt, _ int) (string, error) {
		c, _ := p.From(ctx)
		if c.ID == "A" {
			return "", retry.QuotaExhausted
		}
		return c.ID, nil
	})
	require.NoError(t, err)
	for key, r := range s.Results(t.Context()) {
		require.Equal(t, "task", key)
		require.NoError(t, r.Err)
		require.Equal(t, "B", r.Value)
	}
	require.Equal(t, []swarm.EventKind{swarm.EventStarted, swarm.EventMoved, swarm.EventFinished}, kinds)
}

// one is a single input.
func one(key string, in int) func(func(string, int) bool) {
	return func(yield func(string, int) bool) { yield(key, in) }
}
