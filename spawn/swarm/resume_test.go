package swarm_test

import (
	"context"
	"fmt"
	"iter"
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

// once is a sequence that goes on from where it was left.
func once(keys ...string) iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		for len(keys) > 0 {
			key := keys[0]
			keys = keys[1:]
			if !yield(key, key) {
				return
			}
		}
	}
}

func TestInputs_ThatChangeBetweenLoops(t *testing.T) {
	// inSteps gives one sequence to the first loop and another to the next.
	inSteps := func(first, second []string) iter.Seq2[string, string] {
		loops := 0
		return func(yield func(string, string) bool) {
			if loops++; loops == 1 {
				letters(first...)(yield)
				return
			}
			letters(second...)(yield)
		}
	}
	for name, tt := range map[string]struct {
		inputs iter.Seq2[string, string]
		want   []string // of the second loop, before the error
	}{
		"can be used once":            {once(names(10)...), nil},
		"can be used once, and ended": {once("a", "b"), nil},
		"others before":               {inSteps([]string{"a", "b", "c"}, []string{"x", "a", "b", "c"}), nil},
		"another that has finished":   {inSteps([]string{"a", "slow", "c"}, []string{"a", "slow", "x"}), []string{"slow"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFleet(t, limiter.Config{}, spawn.Config{})
				sw := newSwarm(t, swarm.Config[string, string]{Spawner: f.spawner, Cap: 3, Ahead: 2}, tt.inputs,
					func(ctx context.Context, a *spawn.Attempt, in string) (string, error) {
						take := map[string]time.Duration{"a": time.Second, "slow": time.Minute, "c": time.Millisecond}
						return f.calling(take[in], nil)(ctx, a, in)
					})
				for key := range sw.Results(t.Context()) {
					require.NotEmpty(t, key)
					break
				}
				keys, all := collect(sw.Results(t.Context()))
				require.Equal(t, append(tt.want, ""), keys)
				require.ErrorIs(t, all[len(all)-1].Err, swarm.ErrInputsChanged)
			})
		})
	}
	t.Run("one loop is enough", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			f := newFleet(t, limiter.Config{}, spawn.Config{})
			keys, all := collect(swarm.Run(t.Context(), f.spawner, once("a", "b", "c"), f.calling(time.Second, nil)))
			require.Equal(t, []string{"a", "b", "c"}, keys)
			for _, r := range all {
				require.NoError(t, r.Err)
			}
		})
	})
}
