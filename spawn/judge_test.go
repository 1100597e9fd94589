package spawn_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/cenkalti/backoff/v4"
	"github.com/stretchr/testify/require"

	"github.com/holdoff-go/holdoff/limiter"
	"github.com/holdoff-go/holdoff/retry"
	"github.com/holdoff-go/holdoff/spawn"
)

// What each class leads to.

func TestClasses(t *testing.T) {
	for name, c := range map[string]struct {
		err      error
		state    spawn.State
		class    retry.Class
		attempts int
		paused   bool
	}{
		"a refusal":                   {rateLimited(0), spawn.Dead, retry.RateLimited, 4, true},
		"a class as an error":         {fmt.Errorf("full: %w", retry.RateLimited), spawn.Dead, retry.RateLimited, 4, true},
		"an overload":                 {overloaded(), spawn.Dead, retry.Overloaded, 4, true},
		"a quota":                     {exhausted(0), spawn.Parked, retry.QuotaExhausted, 1, false},
		"a quota that resets soon":    {exhausted(60), spawn.Parked, retry.QuotaExhausted, 4, false},
		"a quota that resets late":    {exhausted(7200), spawn.Parked, retry.QuotaExhausted, 1, false},
		"a refused credential":        {unauthorized(), spawn.Dead, retry.Auth, 1, false},
		"a 500":                       {transient(), spawn.Dead, retry.Transient, 4, false},
		"a bad request":               {badRequest(), spawn.Dead, retry.Fatal, 1, false},
		"an end that is not ours":     {fmt.Errorf("told to stop: %w", retry.Canceled), spawn.Canceled, retry.Canceled, 1, false},
		"nothing known":               {errOwn, spawn.Dead, retry.Unknown, 1, false},
		"a permanent refusal":         {backoff.Permanent(rateLimited(0)), spawn.Dead, 0, 1, false},
		"an error that panics":        {(*halfFilled)(nil), spawn.Dead, retry.Unknown, 1, false},
		"one that cannot be compared": {incomparable{[]int{1}}, spawn.Dead, retry.Unknown, 1, false},
	} {
		t.Run(name, func(t *testing.T) {
			play(t, limiter.Config{}, spawn.Config{}, func(s *scene) {
				paused := false
				result, err := s.launch("w", func(_ context.Context, a *spawn.Attempt) error {
					if c.paused {
						paused = paused || a.Number() > 1 && s.limiter.Status().Storm
					}
					return c.err
				}).Wait()
				require.Equal(t, c.state, result.State)
				require.Equal(t, c.attempts, result.Total)
				require.Equal(t, c.paused, paused)
				require.Equal(t, c.paused, s.pauses() > 0)
				require.Equal(t, c.state == spawn.Dead, len(s.deaths) == 1)
				if name != "a permanent refusal" { // what class that is, is the classifier's
					require.ErrorIs(t, err, c.class)
				}
				var given *retry.Error
				require.ErrorAs(t, err, &given)
				require.Equal(t, c.attempts, given.Attempts)
				require.NotEmpty(t, err.Error())
			})
		})
	}
}

// A halfFilled error panics when it is asked for anything.
type halfFilled struct{ inner error }

func (e *halfFilled) Error() string { return e.inner.Error() }

func (e *halfFilled) Unwrap() error { return e.inner }

// An incomparable error panics in errors.Is.
type incomparable struct{ details any }

func (e incomparable) Error() string { return "cannot be compared" }

func TestReport_OfAnErrorThatCannotBeCompared(t *testing.T) {
	play(t, limiter.Config{}, spawn.Config{}, func(s *scene) {
		result, _ := s.launch("w", func(_ context.Context, a *spawn.Attempt) error {
			a.Report(incomparable{[]int{1}})
			return incomparable{[]int{1}}
		}).Wait()
		require.Equal(t, spawn.Dead, result.State)
	})
}

func TestClassifier_BadOnesNeverPauseTheFleet(t *testing.T) {
	for name, classifier := range map[string]retry.ClassifierFunc{
		"panics": func(context.Context, error) retry.Verdict { panic("no idea") },
		"a class that is none": func(context.Context, error) retry.Verdict {
			return retry.Verdict{Class: 99, RetryAfter: time.Hour, Stated: true}
		},
		"a negative class": func(context.Context, error) retry.Verdict {
			return retry.Verdict{Class: -1, RetryAfter: math.MinInt64}
		},
	} {
		t.Run(name, func(t *testing.T) {
			play(t, limiter.Config{}, spawn.Config{Policy: retry.Policy{Classifier: classifier}}, func(s *scene) {
				result, err := s.launch("w", func(context.Context, *spawn.Attempt) error { return rateLimited(60) }).Wait()
				require.Equal(t, spawn.Dead, result.State)
				require.Equal(t, 1, result.Total)
				require.ErrorIs(t, err, retry.Unknown)
				require.Zero(t, s.pauses())
				require.Equal(t, 8, s.limiter.Status().Budget)
				s.free()
			})
		})
	}
	t.Run("a wait below zero is no statement", func(t *testing.T) {
		classifier := retry.ClassifierFunc(func(context.Context, error) retry.Verdict {
			return retry.Verdict{Class: retry.RateLimited, RetryAfter: math.MinInt64, Stated: true}
		})
		play(t, limiter.Config{}, spawn.Config{Policy: retry.Policy{Classifier: classifier}}, func(s *scene) {
			result, _ := s.launch("w", func(context.Context, *spawn.Attempt) error { return errOwn }).Wait()
			require.Equal(t, seconds(21), s.now())
			require.Zero(t, result.RetryAt)
		})
	})
	t.Run("a wait of 292 years is capped for the fleet", func(t *testing.T) {
		classifier := retry.ClassifierFunc(func(context.Context, error) retry.Verdict {
			return retry.Verdict{Class: retry.RateLimited, RetryAfter: math.MaxInt64}
		})
		play(t, limiter.Config{}, spawn.Config{Policy: retry.Policy{Classifier: classifier}}, func(s *scene) {
			result, _ := s.launch("w", func(context.Context, *spawn.Attempt) error { return errOwn }).Wait()
			require.Equal(t, spawn.Parked, result.State)
			require.Equal(t, (24 * time.Hour).Seconds(), s.blockedUntil())
		})
	})
}

// Quota and credentials.

func TestQuota_ResetWithinMaxInlineWaitIsWaitedForWithoutASlot(t *testing.T) {
	play(t, limiter.Config{Budget: 1}, spawn.Config{}, func(s *scene) {
		up := s.upstream(0, stormUntil(600, exhausted(600)))
		first := s.launch("first", up.work)
		s.at(10)
		s.free()
		require.Equal(t, spawn.BackingOff, s.status("first").State)
		require.Equal(t, 600.0, s.clock(s.status("first").Until))
		second := s.launch("second", up.work)
		s.at(599)
		require.Equal(t, []float64{0}, up.times(""))
		results, _ := wait(first, second)
		require.Equal(t, map[spawn.State]int{spawn.Succeeded: 2}, ended(results))
		require.Equal(t, []float64{0, 600}, up.times("first"))
		require.Equal(t, []float64{600}, up.times("second"))
		require.Equal(t, 1, results[1].Total)
		require.Zero(t, s.pauses())
	})
}

func TestQuota_ResetAfterTheDeadlineParks(t *testing.T) {
	for name, config := range map[string]spawn.Config{
		"MaxInlineWait": {MaxInlineWait: 5 * time.Minute},
		"MaxElapsed":    {Policy: retry.Policy{MaxElapsed: 5 * time.Minute}},
		"the context":   {},
	} {
		t.Run(name, func(t *testing.T) {
			play(t, limiter.Config{}, config, func(s *scene) {
				ctx := s.ctx
				if name == "the context" {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, 5*time.Minute)
					defer cancel()
				}
				up := s.upstream(0, func(callTo) error { return exhausted(600) })
				for range 2 {
					result, err := s.spawner.Run(ctx, spawn.Worker{ID: "w", Run: up.work})
					require.Equal(t, spawn.Parked, result.State)
					require.Equal(t, 600.0, s.clock(result.RetryAt))
					require.ErrorIs(t, err, spawn.ErrParked)
				}
				require.Equal(t, []float64{0}, up.times(""))
			})
		})
	}
}

func TestQuota_OnlyASuccessFromAfterwardsEndsTheParking(t *testing.T) {
	play(t, limiter.Config{}, spawn.Config{}, func(s *scene) {
		long := s.launch("long", func(ctx context.Context, a *spawn.Attempt) error {
			time.Sleep(10 * time.Second)
			a.Progress() // of a call from before
			time.Sleep(10 * time.Second)
			if err := a.Wait(ctx); err != nil {
				return err
			}
			time.Sleep(10 * time.Second)
			a.Progress() // somebody has paid the bill
			return nil
		})
		s.at(5)
		_, err := s.launch("w", func(context.Context, *spawn.Attempt) error { return exhausted(0) }).Wait()
		require.ErrorIs(t, err, spawn.ErrParked)
		s.at(15)
		_, err = s.launch("early", napping(0)).Wait()
		require.ErrorIs(t, err, spawn.ErrParked)
		s.at(35)
		_, err = s.launch("late", napping(0)).Wait()
		require.NoError(t, err)
		_, err = long.Wait()
		require.NoError(t, err)
	})
}

func TestAuth_KillsOnlyTheWorker(t *testing.T) {
	play(t, limiter.Config{}, spawn.Config{}, func(s *scene) {
		_, err := s.launch("w", func(context.Context, *spawn.Attempt) error { return unauthorized() }).Wait()
		require.ErrorIs(t, err, retry.Auth)
		require.NotErrorIs(t, err, retry.RateLimited)
		require.Zero(t, s.pauses())
		_, err = s.launch("v", napping(0)).Wait()
		require.NoError(t, err)
	})
}

// MaxElapsed.

func TestMaxElapsed_BoundsQueueing(t *testing.T) {
	play(t, limiter.Config{Budget: 1}, spawn.Config{Policy: retry.Policy{MaxElapsed: 10 * time.Second}}, func(s *scene) {
		slot, err := s.limiter.TryAcquire()
		require.NoError(t, err)
		defer slot.Release()
		result, err := s.launch("w", napping(0)).Wait()
		require.Equal(t, seconds(10), s.now())
		require.Equal(t, spawn.Dead, result.State)
		require.ErrorIs(t, err, retry.ErrElapsed)
		require.NotErrorIs(t, err, context.DeadlineExceeded, "that is for the caller's own deadline")
		require.Zero(t, result.Total)
		require.Len(t, s.deaths, 1)
	})
}

func TestMaxElapsed_IsNotWaitedForInVain(t *testing.T) {
	play(t, limiter.Config{}, spawn.Config{Policy: retry.Policy{MaxElapsed: 10 * time.Second}}, func(s *scene) {
		s.limiter.ReportRateLimited(time.Minute)
		result, err := s.launch("w", napping(0)).Wait()
		require.Zero(t, s.now())
		require.Equal(t, spawn.Dead, result.State)
		require.ErrorIs(t, err, retry.ErrElapsed)
		require.ErrorIs(t, err, retry.RateLimited)
	})
}

func TestMaxElapsed_DoesNotStopARunningAttempt(t *testing.T) {
	play(t, limiter.Config{}, spawn.Config{Policy: retry.Policy{MaxElapsed: 10 * time.Second}}, func(s *scene) {
		_, err := s.launch("w", napping(time.Minute)).Wait()
		require.NoError(t, err)
	})
}

func TestErrOwnIsReachable(t *testing.T) {
	play(t, limiter.Config{}, spawn.Config{}, func(s *scene) {
		_, err := s.launch("w", func(context.Context, *spawn.Attempt) error { return errOwn }).Wait()
		require.True(t, errors.Is(err, errOwn))
		require.Same(t, err, s.deaths[0].Err)
	})
}
