package spawn_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdoff-go/holdoff/limiter"
	"github.com/holdoff-go/holdoff/retry"
	"github.com/holdoff-go/holdoff/spawn"
)

func TestReport_AWorkerThatRetriesItsOwnStep(t *testing.T) {
	// The bug of the original tower: its workers absorbed refusals themselves,
	// and the fleet was told of none.
	play(t, limiter.Config{}, spawn.Config{}, func(s *scene) {
		up := s.upstream(0, func(c callTo) error {
			if c.number <= 3 {
				return rateLimited(0)
			}
			return nil
		})
		step := func(ctx context.Context) error { // a framework's; it knows the context only
			a, ok := spawn.FromContext(ctx)
			require.True(t, ok)
			var err error
			for range 4 {
				if err = up.call(ctx, "w"); err == nil {
					return nil
				}
				verdict := a.Report(err)
				require.Equal(t, retry.RateLimited, verdict.Class)
				require.Equal(t, 60.0, s.blockedUntil(), "since the first refusal")
				time.Sleep(time.Second)
			}
			return err
		}
		w := s.launch("w", func(ctx context.Context, a *spawn.Attempt) error { return step(ctx) })
		s.at(0)
		require.Equal(t, 60.0, s.blockedUntil())
		_, err := s.limiter.TryAcquire()
		require.Error(t, err)
		result, err := w.Wait()
		require.NoError(t, err)
		require.Equal(t, 1, result.Total)
		require.Equal(t, 1, s.pauses())
		require.Equal(t, 60.0, s.blockedUntil(), "its success is not known to have begun after the refusal")
	})
}

func TestReport_SuccessOfAGatedCallClearsThePause(t *testing.T) {
	play(t, limiter.Config{}, spawn.Config{}, func(s *scene) {
		_, err := s.launch("w", func(ctx context.Context, a *spawn.Attempt) error {
			a.Report(rateLimited(0))
			require.Equal(t, 60.0, s.blockedUntil())
			require.NoError(t, a.Wait(ctx), "running work is not stopped by an assumed pause")
			require.Zero(t, a.Report(nil))
			require.Zero(t, s.blockedUntil())
			a.Report(rateLimited(20))
			require.NoError(t, a.Wait(ctx))
			require.Equal(t, seconds(20), s.now(), "but by a stated one")
			return nil
		}).Wait()
		require.NoError(t, err)
	})
}

func TestReport_NotTwice(t *testing.T) {
	play(t, limiter.Config{}, spawn.Config{}, func(s *scene) {
		asked := 0
		classifier := retry.ClassifierFunc(func(ctx context.Context, err error) retry.Verdict {
			asked++
			return retry.Standard(nil).Classify(ctx, err)
		})
		sp, err := spawn.New(spawn.Config{Limiter: s.limiter, Policy: retry.Policy{Classifier: classifier}})
		require.NoError(t, err)
		result, err := sp.Run(s.ctx, spawn.Worker{Run: func(_ context.Context, a *spawn.Attempt) error {
			if a.Number() > 1 {
				return nil
			}
			err := rateLimited(7)
			a.Report(err)
			return fmt.Errorf("turn 3: %w", err)
		}})
		require.NoError(t, err)
		require.Equal(t, 1, asked)
		require.Equal(t, 7*time.Second, result.Attempts[0].Verdict.RetryAfter)
	})
}

func TestReport_AfterTheEndStillCounts(t *testing.T) {
	play(t, limiter.Config{}, spawn.Config{}, func(s *scene) {
		var kept *spawn.Attempt
		_, err := s.launch("w", func(_ context.Context, a *spawn.Attempt) error { kept = a; return nil }).Wait()
		require.NoError(t, err)
		require.Equal(t, retry.RateLimited, kept.Report(rateLimited(0)).Class)
		require.Equal(t, 60.0, s.blockedUntil())
		require.NoError(t, kept.Wait(s.ctx))
		kept.Progress()
		require.Zero(t, s.blockedUntil())
		require.Equal(t, "w#1", kept.ID())
		s.free()
	})
}

func TestProgress_RefusalsInARowStartAnew(t *testing.T) {
	turns := 300
	play(t, limiter.Config{}, spawn.Config{}, func(s *scene) {
		up := s.upstream(20*time.Second, func(c callTo) error {
			if c.number%10 == 0 || c.number%10 == 1 {
				return rateLimited(0) // two in a row, of ten
			}
			return nil
		})
		done := 0
		result, err := s.launch("w", func(ctx context.Context, a *spawn.Attempt) error {
			for ; done < turns; done++ {
				if err := a.Wait(ctx); err != nil {
					return err
				}
				if err := up.call(ctx, "w"); err != nil {
					return err
				}
				a.Progress()
			}
			return nil
		}).Wait()
		require.NoError(t, err)
		require.Greater(t, result.Total, 70)
		require.Len(t, result.Attempts, 32, "the first and the last 16")
		for i, a := range result.Attempts {
			want := i + 1
			if i >= 16 {
				want = result.Total - 31 + i
			}
			require.Equal(t, want, a.Number)
			require.Equal(t, fmt.Sprintf("w#%d", want), a.ID)
		}
	})
}

func TestProgress_ReportWithoutItDoesNot(t *testing.T) {
	play(t, limiter.Config{}, spawn.Config{}, func(s *scene) {
		result, err := s.launch("w", func(_ context.Context, a *spawn.Attempt) error {
			a.Report(nil) // accepted, but all of it will be repeated
			return rateLimited(0)
		}).Wait()
		require.ErrorIs(t, err, retry.RateLimited)
		require.Equal(t, 4, result.Total)
	})
}

func TestFromContext(t *testing.T) {
	_, ok := spawn.FromContext(t.Context())
	require.False(t, ok)
	play(t, limiter.Config{}, spawn.Config{}, func(s *scene) {
		_, err := s.launch("parent", func(ctx context.Context, a *spawn.Attempt) error {
			in, ok := spawn.FromContext(ctx)
			require.True(t, ok)
			require.Same(t, a, in)
			return s.child(ctx, "child", func(ctx context.Context, inner *spawn.Attempt) error {
				in, _ := spawn.FromContext(ctx)
				require.Same(t, inner, in)
				require.NotSame(t, a, in)
				return nil
			})
		}).Wait()
		require.NoError(t, err)
	})
}

// A refusal that the worker absorbs is told by Report. That the worker then returns
// without an error is no success of the call that was refused.
func TestReport_AnAbsorbedRefusalIsNoSuccess(t *testing.T) {
	play(t, limiter.Config{}, spawn.Config{}, func(s *scene) {
		_, err := s.spawner.Run(s.ctx, spawn.Worker{Run: func(ctx context.Context, a *spawn.Attempt) error {
			s.limiter.ReportRateLimited(0) // somebody else's
			time.Sleep(time.Second)
			require.NoError(s, a.Wait(ctx))
			time.Sleep(50 * time.Millisecond)
			a.Report(rateLimited(0))
			return nil
		}})
		require.NoError(s, err)
		require.Equal(s, 61.05, s.blockedUntil())
		require.True(s, s.limiter.Status().Storm)
	})
}

// MaxElapsed bounds the waits inside of an attempt too.
func TestMaxElapsed_BoundsAttemptWait(t *testing.T) {
	for _, test := range []struct {
		name  string
		block func(*limiter.Limiter)
		ends  float64
	}{
		{"a pause that ends later: at once", func(l *limiter.Limiter) { l.ReportRateLimited(9000 * time.Second) }, 0},
		{"a hold: when it has passed", func(l *limiter.Limiter) { l.Hold("deploy") }, 3600},
	} {
		t.Run(test.name, func(t *testing.T) {
			play(t, limiter.Config{}, spawn.Config{Policy: retry.Policy{MaxElapsed: time.Hour}}, func(s *scene) {
				result, err := s.spawner.Run(s.ctx, spawn.Worker{Run: func(ctx context.Context, a *spawn.Attempt) error {
					test.block(s.limiter)
					return a.Wait(ctx)
				}})
				require.ErrorIs(s, err, retry.ErrElapsed)
				require.Equal(s, spawn.Dead, result.State)
				require.Equal(s, test.ends, s.now().Seconds())
			})
		})
	}
}
