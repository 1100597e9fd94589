package spawn_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdoff-go/holdoff/limiter"
	"github.com/holdoff-go/holdoff/spawn"
)

func TestM4_ALimitKillsNoWork(t *testing.T) {
	work := func(s *scene, tokens *[]any) func(context.Context, *spawn.Attempt) error {
		return func(_ context.Context, a *spawn.Attempt) error {
			*tokens = append(*tokens, a.Checkpoint())
			if s.now() >= seconds(1800) {
				return nil
			}
			for i := range 3 {
				a.Partial(fmt.Sprint("chunk ", i))
			}
			a.Save("token 3")
			return rateLimited(1800 - s.now().Seconds())
		}
	}
	chunks := []spawn.Unverified{{"w#1", "chunk 0"}, {"w#1", "chunk 1"}, {"w#1", "chunk 2"}}
	parked := spawn.Config{MaxInlineWait: time.Minute}
	t.Run("Run returns, and a new one resumes", func(t *testing.T) {
		play(t, limiter.Config{}, parked, func(s *scene) {
			var tokens []any
			run := work(s, &tokens)
			result, err := s.launch("w", run).Wait()
			require.ErrorIs(t, err, spawn.ErrParked)
			require.Equal(t, spawn.Parked, result.State)
			require.Equal(t, 1800.0, s.clock(result.RetryAt))
			require.Equal(t, chunks, result.Partial)
			require.Equal(t, "token 3", result.Checkpoint)

			s.at(1800)
			result, err = s.spawner.Run(s.ctx, spawn.Worker{ID: "w", Checkpoint: result.Checkpoint, Run: run})
			require.NoError(t, err)
			require.Equal(t, []any{nil, "token 3"}, tokens)
			require.Equal(t, "token 3", result.Checkpoint)
		})
	})
	t.Run("it is revived", func(t *testing.T) {
		play(t, limiter.Config{}, parked, func(s *scene) {
			var tokens []any
			_, err := s.launch("w", work(s, &tokens)).Wait()
			require.ErrorIs(t, err, spawn.ErrParked)
			s.at(1800)
			h, err := s.spawner.Revive(s.ctx, "w")
			require.NoError(t, err)
			result, err := h.Wait()
			require.NoError(t, err)
			require.Equal(t, []any{nil, "token 3"}, tokens)
			require.Equal(t, 2, result.Total)
			require.Equal(t, chunks, result.Partial)
		})
	})
	t.Run("Run waits", func(t *testing.T) {
		play(t, limiter.Config{}, spawn.Config{}, func(s *scene) {
			var tokens []any
			result, err := s.launch("w", work(s, &tokens)).Wait()
			require.NoError(t, err)
			require.Equal(t, seconds(1800), s.now())
			require.Equal(t, []any{nil, "token 3"}, tokens)
			require.Equal(t, chunks, result.Partial, "kept, however it ended")
		})
	})
	t.Run("into the death", func(t *testing.T) {
		play(t, limiter.Config{}, spawn.Config{}, func(s *scene) {
			_, err := s.launch("w", func(_ context.Context, a *spawn.Attempt) error {
				a.Partial("half")
				a.Save([]int{1, 2})
				return errOwn
			}).Wait()
			require.ErrorIs(t, err, errOwn)
			require.Len(t, s.deaths, 1)
			require.Equal(t, []spawn.Unverified{{"w#1", "half"}}, s.deaths[0].Partial)
			require.Equal(t, []int{1, 2}, s.deaths[0].Checkpoint)
		})
	})
}

func TestCheckpoint_BuffersAreCopied(t *testing.T) {
	play(t, limiter.Config{}, spawn.Config{}, func(s *scene) {
		buffer := []byte("first")
		initial := []byte("start")
		result, err := s.spawner.Run(s.ctx, spawn.Worker{ID: "w", Checkpoint: initial, Run: func(_ context.Context, a *spawn.Attempt) error {
			copy(initial, "XXXXX")
			require.Equal(t, []byte("start"), a.Checkpoint())
			a.Save(buffer)
			a.Partial(buffer)
			copy(buffer, "other")
			loaded := a.Checkpoint().([]byte)
			require.Equal(t, "first", string(loaded))
			copy(loaded, "YYYYY")
			return nil
		}})
		require.NoError(t, err)
		require.Equal(t, []byte("first"), result.Checkpoint)
		require.Equal(t, []byte("first"), result.Partial[0].Chunk)
	})
}

func TestCheckpoint_ZeroValueAndNil(t *testing.T) {
	play(t, limiter.Config{}, spawn.Config{}, func(s *scene) {
		type state struct{ Step int }
		result, err := s.launch("w", func(_ context.Context, a *spawn.Attempt) error {
			require.Nil(t, a.Checkpoint())
			st, _ := a.Checkpoint().(state)
			require.Zero(t, st)
			a.Save(state{4})
			st, _ = a.Checkpoint().(state)
			require.Equal(t, 4, st.Step)
			a.Save(nil)
			require.Nil(t, a.Checkpoint())
			return nil
		}).Wait()
		require.NoError(t, err)
		require.Nil(t, result.Checkpoint)
		require.Nil(t, result.Partial)
		require.Nil(t, result.Effects)
	})
}

func TestCheckpoint_AnAttemptThatIsOverDoesNotTurnTheClockBack(t *testing.T) {
	play(t, limiter.Config{}, spawn.Config{}, func(s *scene) {
		result, err := s.launch("w", func(_ context.Context, a *spawn.Attempt) error {
			if a.Number() == 1 {
				go func() {
					time.Sleep(5 * time.Second)
					a.Save("old")
					a.Partial("late")
				}()
				return transient()
			}
			a.Save("new")
			time.Sleep(10 * time.Second)
			require.Equal(t, "new", a.Checkpoint())
			return nil
		}).Wait()
		require.NoError(t, err)
		require.Equal(t, "new", result.Checkpoint)
		require.Equal(t, []spawn.Unverified{{"w#1", "late"}}, result.Partial)
	})
}

func TestPartial_IsBoundedAndSafe(t *testing.T) {
	play(t, limiter.Config{}, spawn.Config{}, func(s *scene) {
		var kept *spawn.Attempt
		result, err := s.launch("w", func(_ context.Context, a *spawn.Attempt) error {
			kept = a
			var group sync.WaitGroup
			for range 10 {
				group.Go(func() {
					for i := range 200 {
						a.Partial(i)
						a.Save(i)
						a.Checkpoint()
					}
				})
			}
			group.Wait()
			a.Partial("last")
			return nil
		}).Wait()
		require.NoError(t, err)
		require.Len(t, result.Partial, 1024)
		require.Equal(t, 2001-1024, result.PartialDropped)
		require.Equal(t, "last", result.Partial[1023].Chunk)
		kept.Partial("after the end")
		kept.Save("after the end")
		require.Equal(t, "last", result.Partial[1023].Chunk, "a result is final")
		require.Equal(t, 199, result.Checkpoint)
	})
}
