package swarm_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdoff-go/holdoff/limiter"
	"github.com/holdoff-go/holdoff/retry"
	"github.com/holdoff-go/holdoff/spawn"
	"github.com/holdoff-go/holdoff/spawn/swarm"
)

// halfFilled is the error of an SDK that panics when it is asked what it is.
type halfFilled struct{}

func (halfFilled) Error() string { return "half-filled" }
func (halfFilled) Is(error) bool { panic("nil response") }

// transient takes every error for one that may be tried again.
func transient(context.Context, error) retry.Verdict {
	return retry.Verdict{Class: retry.Transient}
}

func TestBreak_WithAnErrorThatPanicsWhenAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		// Given a member that backs off from such an error when the loop is left
		f := newFleet(t, limiter.Config{}, spawn.Config{Policy: retry.Policy{Classifier: retry.ClassifierFunc(transient)}})
		sw := newSwarm(t, swarm.Config[string, string]{Spawner: f.spawner}, letters("a", "b"),
			f.calling(time.Second, func(key string, at time.Duration) error {
				if key == "b" && at < time.Second {
					return halfFilled{}
				}
				return nil
			}))
		for range sw.Results(t.Context()) {
			break
		}
		// then the next loop runs it again.
		keys, all := collect(sw.Results(t.Context()))
		require.Equal(t, []string{"b"}, keys)
		require.NoError(t, all[0].Err)
		require.Equal(t, "done b", all[0].Value)
	})
}

func TestCancel_WithACauseThatPanicsWhenAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, limiter.Config{Budget: 1}, spawn.Config{})
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(halfFilled{}) })
		sw := newSwarm(t, swarm.Config[string, string]{Spawner: f.spawner, Cap: 2}, letters("a", "b", "c"), f.calling(time.Hour, nil))
		_, all := collect(sw.Results(ctx))
		require.Equal(t, []spawn.State{spawn.Canceled, spawn.Canceled, spawn.Canceled}, states(all))
	})
}

// loading is a store that waits for the end of its context on the second Load.
type loading struct {
	swarm.Memory[string, string]
	calls int
}

func (s *loading) Load(ctx context.Context, key string) (string, bool, error) {
	if s.calls++; s.calls == 2 {
		<-ctx.Done()
		return "", false, fmt.Errorf("reading: %w", ctx.Err())
	}
	return s.Memory.Load(ctx, key)
}

func TestBreak_WhileTheStoreIsAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, limiter.Config{}, spawn.Config{})
		sw := newSwarm(t, swarm.Config[string, string]{Spawner: f.spawner, Store: &loading{}}, letters("a", "b"), f.calling(time.Second, nil))
		for range sw.Results(t.Context()) {
			break
		}
		_, all := collect(sw.Results(t.Context()))
		require.Equal(t, []spawn.State{spawn.Succeeded}, states(all), "the end of the loop is no answer of the store")
	})
}
