package spawn_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdoff-go/holdoff/limiter"
	"github.com/holdoff-go/holdoff/retry"
	"github.com/holdoff-go/holdoff/spawn"
)

func TestOnce_NotAfterItsRunHasSucceeded(t *testing.T) {
	play(t, limiter.Config{}, spawn.Config{}, func(s *scene) {
		var sent atomic.Int32
		send := func(context.Context) error { sent.Add(1); return nil }
		late := make(chan error, 1)
		_, err := s.launch("w", func(ctx context.Context, a *spawn.Attempt) error {
			if a.Number() == 1 {
				go func() { // is left behind
					time.Sleep(time.Hour)
					late <- a.Once(context.Background(), "send", send)
				}()
				return rateLimited(0)
			}
			return a.Once(ctx, "send", send)
		}).Wait()
		require.NoError(t, err)
		require.ErrorContains(t, <-late, `effect "send": the run has succeeded`)
		require.EqualValues(t, 1, sent.Load())

		_, err = s.launch("w", func(ctx context.Context, a *spawn.Attempt) error { return a.Once(ctx, "send", send) }).Wait()
		require.NoError(t, err)
		require.EqualValues(t, 2, sent.Load(), "a new run with the ID is another")
	})
}

func TestOnce_NotAfterARevivalHasSucceeded(t *testing.T) {
	play(t, limiter.Config{}, spawn.Config{}, func(s *scene) {
		sent := 0
		var first *spawn.Attempt
		send := func(context.Context) error { sent++; return nil }
		_, err := s.launch("w", func(ctx context.Context, a *spawn.Attempt) error {
			if a.Number() == 1 {
				first = a
				return errOwn
			}
			return a.Once(ctx, "send", send)
		}).Wait()
		require.ErrorIs(t, err, errOwn)
		h, err := s.spawner.Revive(s.ctx, "w")
		require.NoError(t, err)
		_, err = h.Wait()
		require.NoError(t, err)
		require.ErrorContains(t, first.Once(s.ctx, "send", send), "the run has succeeded")
		require.Equal(t, 1, sent)
	})
}

func TestOnce_AMadeUpIDTakesNoEffectsOver(t *testing.T) {
	play(t, limiter.Config{}, spawn.Config{}, func(s *scene) {
		sent := 0
		send := func(ctx context.Context, a *spawn.Attempt) error {
			if err := a.Once(ctx, "send", func(context.Context) error { sent++; return nil }); err != nil {
				return err
			}
			return errOwn
		}
		_, err := s.launch("worker-2", send).Wait()
		require.ErrorIs(t, err, errOwn)
		result, err := s.launch("", send).Wait()
		require.ErrorIs(t, err, errOwn)
		require.Equal(t, 2, sent)
		require.NotEqual(t, "worker-2", result.ID)
	})
}

func TestOnce_WantsAKey(t *testing.T) {
	play(t, limiter.Config{}, spawn.Config{}, func(s *scene) {
		_, err := s.launch("w", func(ctx context.Context, a *spawn.Attempt) error {
			return a.Once(ctx, "", func(context.Context) error { panic("it was run") })
		}).Wait()
		require.ErrorContains(t, err, "spawn: Once: the key is empty")
	})
}

func TestOnce_InsideOfItselfIsInDoubt(t *testing.T) {
	play(t, limiter.Config{}, spawn.Config{}, func(s *scene) {
		sent := 0
		result, err := s.launch("w", func(ctx context.Context, a *spawn.Attempt) error {
			return a.Once(ctx, "send", func(ctx context.Context) error {
				sent++
				return a.Once(ctx, "send", func(context.Context) error { panic("it was run") })
			})
		}).Wait()
		require.Equal(t, 1, sent, "the outer one may have had an effect before it asked")
		require.Equal(t, 1, result.Total)
		require.ErrorIs(t, err, spawn.ErrInFlight)
		require.ErrorIs(t, err, spawn.ErrNeedsDecision)
	})
}

// breakingStore panics when it is told to.
type breakingStore struct {
	fileEffects
	broken atomic.Bool
}

func (b *breakingStore) Settle(ctx context.Context, e spawn.Effect) error {
	if b.broken.Load() {
		panic("no store")
	}
	return b.fileEffects.Settle(ctx, e)
}

func TestOnce_AStoreThatPanicsKeepsNoEffectInFlight(t *testing.T) {
	store := &breakingStore{fileEffects: fileEffects{dir: t.TempDir()}}
	play(t, limiter.Config{}, spawn.Config{Effects: store}, func(s *scene) {
		tries := 0
		send := func(ctx context.Context, a *spawn.Attempt) error {
			return a.Once(ctx, "send", func(context.Context) error {
				if tries++; tries == 1 {
					return transient()
				}
				return nil
			})
		}
		result, err := s.launch("w", send).Wait()
		require.ErrorIs(t, err, spawn.ErrNeedsDecision)

		effect := result.Effects[0]
		effect.State = spawn.EffectReleased
		store.broken.Store(true)
		require.ErrorContains(t, s.spawner.Decide(s.ctx, effect), "spawn: Config.Effects panicked: no store")
		store.broken.Store(false)
		require.NoError(t, s.spawner.Decide(s.ctx, effect))

		store.broken.Store(true)
		_, err = s.launch("w", send).Wait()
		require.ErrorContains(t, err, "no store")
		require.ErrorIs(t, err, retry.Transient)
		store.broken.Store(false)
		_, err = s.launch("w", send).Wait()
		require.NoError(t, err, "this process knows that it was had")
		require.Equal(t, 2, tries)
	})
}
