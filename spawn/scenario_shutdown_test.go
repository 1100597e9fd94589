package spawn_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdoff-go/holdoff/limiter"
	"github.com/holdoff-go/holdoff/retry"
	"github.com/holdoff-go/holdoff/spawn"
)

// Scenarios H: deadlines, cancellation, shutdown.

func TestH4_BackOffHeedsCancellation(t *testing.T) {
	policy := retry.Policy{Initial: 12 * time.Second}
	play(t, limiter.Config{Budget: 100}, spawn.Config{Policy: policy}, func(s *scene) {
		ctx, cancel := context.WithCancel(s.ctx)
		s.ctx = ctx
		up := s.upstream(0, func(callTo) error { return transient() })
		handles := up.launch(100)
		s.at(0.1)
		cancel()
		results, errs := wait(handles...)
		require.Equal(t, seconds(0.1), s.now())
		require.Equal(t, map[spawn.State]int{spawn.Canceled: 100}, ended(results))
		for _, err := range errs {
			require.ErrorIs(t, err, context.Canceled)
			require.ErrorIs(t, err, retry.Canceled)
		}
		require.NoError(t, s.spawner.Drain(context.Background()))
		require.Empty(t, s.deaths)
	})
}

func TestH5_CancellationIsNotRetried(t *testing.T) {
	play(t, limiter.Config{}, spawn.Config{}, func(s *scene) {
		ctx, cancel := context.WithCancelCause(s.ctx)
		enough := errors.New("the operator has had enough")
		time.AfterFunc(time.Second, func() { cancel(enough) })
		result, err := s.spawner.Run(ctx, spawn.Worker{Run: func(ctx context.Context, _ *spawn.Attempt) error {
			<-ctx.Done()
			return ctx.Err()
		}})
		require.Equal(t, 1, result.Total)
		require.Equal(t, spawn.Canceled, result.State)
		require.ErrorIs(t, err, context.Canceled)
		require.ErrorIs(t, err, enough)
		require.Empty(t, s.deaths)
		require.Zero(t, s.pauses())
		require.Equal(t, 8, s.limiter.Status().Budget)
	})
}

func TestH5_SuccessAfterCancellationIsSuccess(t *testing.T) {
	play(t, limiter.Config{}, spawn.Config{}, func(s *scene) {
		w := s.launch("w", func(ctx context.Context, _ *spawn.Attempt) error {
			<-ctx.Done()
			return nil // it had just finished
		})
		s.at(1)
		w.Cancel(nil)
		result, err := w.Wait()
		require.NoError(t, err)
		require.Equal(t, spawn.Succeeded, result.State)
	})
}

func TestH6_CancelHidesNoError(t *testing.T) {
	play(t, limiter.Config{}, spawn.Config{}, func(s *scene) {
		own := errors.New("E")
		w := s.launch("w", func(context.Context, *spawn.Attempt) error { return errors.Join(own, retry.Transient) })
		s.at(1)
		cause := errors.New("moving house")
		w.Cancel(cause)
		result, err := w.Wait()
		require.Equal(t, spawn.Canceled, result.State)
		require.ErrorIs(t, err, own)
		require.ErrorIs(t, err, context.Canceled)
		require.ErrorIs(t, err, cause)
		require.ErrorContains(t, err, "E")
		require.ErrorContains(t, err, "moving house")
	})
}

func TestH7_NothingIsLeftBehind(t *testing.T) {
	policy := retry.Policy{Initial: 12 * time.Second}
	play(t, limiter.Config{Budget: 16}, spawn.Config{Policy: policy}, func(s *scene) {
		before := runtime.NumGoroutine()
		ctx, cancel := context.WithCancel(s.ctx)
		for range 10_000 {
			s.spawner.Start(ctx, spawn.Worker{Run: func(context.Context, *spawn.Attempt) error { return transient() }})
		}
		s.at(1)
		cancel()
		s.at(1.1)
		require.LessOrEqual(t, runtime.NumGoroutine(), before+5)
		require.Zero(t, s.limiter.Status().InFlight)
		require.Zero(t, s.limiter.Status().Waiting)
		require.Len(t, s.spawner.Roster(), 100, "bounded")
	})
}

func TestH9_OwnFailureDuringDrainIsDelivered(t *testing.T) {
	play(t, limiter.Config{}, spawn.Config{}, func(s *scene) {
		a := s.launch("a", func(context.Context, *spawn.Attempt) error { time.Sleep(2 * time.Second); return errOwn })
		b := s.launch("b", func(ctx context.Context, _ *spawn.Attempt) error { <-ctx.Done(); return ctx.Err() })
		c := s.launch("c", func(context.Context, *spawn.Attempt) error { time.Sleep(3 * time.Second); return transient() })
		d := s.launch("d", func(context.Context, *spawn.Attempt) error { time.Sleep(4 * time.Second); return nil })
		s.at(0)
		ctx, cancel := context.WithTimeout(s.ctx, 30*time.Second)
		defer cancel()
		err := s.spawner.Drain(ctx)
		require.Equal(t, seconds(30), s.now())
		var stragglers *spawn.StragglersError
		require.ErrorAs(t, err, &stragglers)
		require.Equal(t, []string{"b"}, stragglers.IDs)
		require.ErrorIs(t, err, context.DeadlineExceeded)

		results, errs := wait(a, b, c, d)
		require.Equal(t, spawn.Dead, results[0].State)
		require.ErrorIs(t, errs[0], errOwn)
		require.Len(t, s.deaths, 1)
		require.Equal(t, spawn.Canceled, results[1].State)
		require.ErrorIs(t, errs[1], spawn.ErrDraining)
		require.Equal(t, spawn.Canceled, results[2].State, "what would be retried is not, and may be run elsewhere")
		require.ErrorIs(t, errs[2], spawn.ErrDraining)
		require.ErrorIs(t, errs[2], retry.Canceled)
		require.Equal(t, spawn.Succeeded, results[3].State)
	})
}

func TestH10_DrainEndsAdmissionAndReturnsInTime(t *testing.T) {
	play(t, limiter.Config{Budget: 2}, spawn.Config{}, func(s *scene) {
		deaf := s.launch("deaf", func(context.Context, *spawn.Attempt) error { time.Sleep(20 * time.Second); return nil })
		backing := s.launch("backing", func(context.Context, *spawn.Attempt) error { return transient() })
		s.at(0)
		filler := s.launch("filler", func(context.Context, *spawn.Attempt) error { time.Sleep(time.Second); return nil })
		s.at(0)
		queued := s.launch("queued", func(context.Context, *spawn.Attempt) error { return nil })
		s.at(0)
		drained := make(chan error, 1)
		go func() {
			ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
			defer cancel()
			drained <- s.spawner.Drain(ctx)
		}()
		synctest.Wait()
		late, err := s.spawner.Run(s.ctx, spawn.Worker{ID: "late", Run: func(context.Context, *spawn.Attempt) error { return nil }})
		require.ErrorIs(t, err, spawn.ErrDraining)
		require.Equal(t, spawn.Result{ID: "late", State: spawn.Canceled}, late)
		for _, h := range []*spawn.Handle{backing, queued} {
			result, err := h.Wait()
			require.Zero(t, s.now(), "at once")
			require.Equal(t, spawn.Canceled, result.State)
			require.ErrorIs(t, err, spawn.ErrDraining)
		}
		err = <-drained
		require.Equal(t, seconds(5), s.now())
		require.EqualError(t, err, "spawn: 1 still running when the drain ended: deaf")
		results, _ := wait(deaf, filler)
		require.Equal(t, seconds(20), s.now())
		require.Equal(t, map[spawn.State]int{spawn.Succeeded: 2}, ended(results))
		require.NoError(t, s.spawner.Drain(s.ctx), "a second drain finds nobody")
	})
}

func TestDrain_AWorkerThatMeetsItInsideDoesNotDie(t *testing.T) {
	play(t, limiter.Config{}, spawn.Config{}, func(s *scene) {
		parent := s.launch("parent", func(ctx context.Context, _ *spawn.Attempt) error {
			time.Sleep(time.Second)
			_, err := s.spawner.Run(ctx, spawn.Worker{ID: "child", Run: func(context.Context, *spawn.Attempt) error { return nil }})
			return fmt.Errorf("no child: %w", err)
		})
		s.at(0)
		require.NoError(t, s.spawner.Drain(s.ctx))
		result, err := parent.Wait()
		require.Equal(t, spawn.Canceled, result.State)
		require.ErrorIs(t, err, spawn.ErrDraining)
		require.Empty(t, s.deaths)
	})
}

func TestDeadlineShorterThanTheWait(t *testing.T) {
	t.Run("at the gate", func(t *testing.T) {
		play(t, limiter.Config{}, spawn.Config{}, func(s *scene) {
			s.limiter.ReportRateLimited(time.Minute)
			ctx, cancel := context.WithTimeout(s.ctx, 5*time.Second)
			defer cancel()
			result, err := s.spawner.Run(ctx, spawn.Worker{Run: func(context.Context, *spawn.Attempt) error { return nil }})
			require.Zero(t, s.now())
			require.Equal(t, spawn.Canceled, result.State)
			require.Equal(t, 60.0, s.clock(result.RetryAt))
			require.ErrorIs(t, err, context.DeadlineExceeded)
			require.ErrorIs(t, err, retry.RateLimited)
			var blocked *limiter.BlockedError
			require.ErrorAs(t, err, &blocked)
		})
	})
	t.Run("of its own retry", func(t *testing.T) {
		play(t, limiter.Config{}, spawn.Config{}, func(s *scene) {
			ctx, cancel := context.WithTimeout(s.ctx, 5*time.Second)
			defer cancel()
			up := s.upstream(0, func(callTo) error { return rateLimited(30) })
			result, err := s.spawner.Run(ctx, spawn.Worker{ID: "w", Run: up.work})
			require.Zero(t, s.now())
			require.Equal(t, spawn.Canceled, result.State)
			require.Equal(t, 30.0, s.clock(result.RetryAt))
			require.ErrorIs(t, err, context.DeadlineExceeded)
			require.ErrorIs(t, err, retry.RateLimited)
			require.Empty(t, s.deaths)
		})
	})
	t.Run("while it queues", func(t *testing.T) {
		play(t, limiter.Config{Budget: 1}, spawn.Config{}, func(s *scene) {
			slot, err := s.limiter.TryAcquire()
			require.NoError(t, err)
			ctx, cancel := context.WithTimeout(s.ctx, 5*time.Second)
			defer cancel()
			result, err := s.spawner.Run(ctx, spawn.Worker{Run: func(context.Context, *spawn.Attempt) error { return nil }})
			require.Equal(t, seconds(5), s.now())
			require.Equal(t, spawn.Canceled, result.State)
			require.ErrorIs(t, err, context.DeadlineExceeded)
			require.ErrorIs(t, err, retry.Canceled)
			slot.Release()
		})
	})
}
