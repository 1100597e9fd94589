package spawn_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdoff-go/holdoff/limiter"
	"github.com/holdoff-go/holdoff/retry"
	"github.com/holdoff-go/holdoff/spawn"
)

// Scenarios A: the death path is reached too early.

func TestA1_FirstRefusalIsNoDeath(t *testing.T) {
	t.Run("nothing stated", func(t *testing.T) {
		play(t, limiter.Config{}, spawn.Config{}, func(s *scene) {
			up := s.upstream(0, func(c callTo) error {
				if c.worker == "w" && c.number == 1 {
					return rateLimited(0)
				}
				return nil
			})
			w := s.launch("w", up.work)
			s.at(1)
			require.Equal(t, 60.0, s.blockedUntil())
			fresh := s.launch("new", up.work)
			s.at(2.9)
			require.Equal(t, []float64{0}, up.times(""), "new work waits")
			s.at(3)
			require.Equal(t, []float64{0, 3}, up.times("w"))
			require.Equal(t, []float64{3}, up.times("new"), "the probe has cleared the pause")
			require.Zero(t, s.blockedUntil())
			results, _ := wait(w, fresh)
			require.Equal(t, map[spawn.State]int{spawn.Succeeded: 2}, ended(results))
			require.Empty(t, s.deaths)
		})
	})
	t.Run("60 s stated", func(t *testing.T) {
		play(t, limiter.Config{}, spawn.Config{}, func(s *scene) {
			up := s.upstream(0, stormUntil(1, rateLimited(60)))
			result, err := s.launch("w", up.work).Wait()
			require.NoError(t, err)
			require.Equal(t, []float64{0, 60}, up.times("w"), "the later of the ladder and the stated time, not their sum")
			require.Equal(t, 2, result.Total)
		})
	})
}

func TestA2_BurstOfRefusalsKillsNobody(t *testing.T) {
	play(t, limiter.Config{}, spawn.Config{}, func(s *scene) {
		worker := func(i int) func(context.Context, *spawn.Attempt) error {
			return func(_ context.Context, a *spawn.Attempt) error {
				if i < 5 && a.Number() == 1 {
					time.Sleep(seconds(1 + float64(i)/2)) // refused at t = 1..3
					return rateLimited(0)
				}
				time.Sleep(5 * time.Second)
				return nil
			}
		}
		var handles []*spawn.Handle
		for i := range 8 {
			handles = append(handles, s.launch(fmt.Sprint("w", i), worker(i)))
		}
		results, _ := wait(handles...)
		require.Equal(t, map[spawn.State]int{spawn.Succeeded: 8}, ended(results))
		require.Empty(t, s.deaths)
		require.Equal(t, 1, s.pauses())
	})
}

func TestA3_RefusedBeforeOrMidway_OneFate(t *testing.T) {
	play(t, limiter.Config{}, spawn.Config{}, func(s *scene) {
		tokens := 0
		before := s.launch("before", func(_ context.Context, a *spawn.Attempt) error {
			if a.Number() == 1 {
				return rateLimited(0)
			}
			return nil
		})
		midway := s.launch("midway", func(_ context.Context, a *spawn.Attempt) error {
			if a.Number() == 1 {
				for range 200 {
					time.Sleep(time.Millisecond)
					tokens++
				}
				return fmt.Errorf("stream cut after %d tokens: %w", tokens, rateLimited(0))
			}
			return nil
		})
		results, _ := wait(before, midway)
		require.Equal(t, 200, tokens)
		for _, r := range results {
			require.Equal(t, spawn.Succeeded, r.State)
			require.Equal(t, []retry.Class{retry.RateLimited, retry.Unknown}, classes(r))
			require.Equal(t, []spawn.State{spawn.Queued, spawn.Running, spawn.BackingOff, spawn.Running, spawn.Succeeded}, s.states(r.ID))
		}
	})
}

func TestA4_DeadWorkerIsNotCompleted(t *testing.T) {
	play(t, limiter.Config{}, spawn.Config{}, func(s *scene) {
		up := s.upstream(time.Second, func(c callTo) error {
			if c.number == 1 || c.worker == "w5" && c.number <= 4 {
				return overloaded()
			}
			return nil
		})
		results, errs := wait(up.launch(5)...)
		require.Equal(t, map[spawn.State]int{spawn.Succeeded: 4, spawn.Dead: 1}, ended(results))
		require.Equal(t, spawn.Dead, results[4].State)
		require.Equal(t, 4, results[4].Total)
		require.ErrorIs(t, errs[4], retry.Overloaded)
		require.Len(t, s.deaths, 1)
	})
}

func TestA9_StatedResetCostsOneRetryAndNoNotice(t *testing.T) {
	t.Run("reset at 1800", func(t *testing.T) {
		play(t, limiter.Config{}, spawn.Config{}, func(s *scene) {
			up := s.upstream(0, stormUntil(1800, rateLimited(1800)))
			w := s.launch("w", up.work)
			s.at(10)
			other := s.launch("other", up.work)
			s.at(1799)
			require.Equal(t, 1800.0, s.blockedUntil())
			require.Equal(t, []float64{0}, up.times(""))
			results, _ := wait(w, other)
			require.Equal(t, map[spawn.State]int{spawn.Succeeded: 2}, ended(results))
			require.Equal(t, []float64{0, 1800}, up.times("w"))
			require.GreaterOrEqual(t, up.times("other")[0], 1800.0)
			require.Empty(t, s.deaths)
		})
	})
	t.Run("a plain failure that speaks of line 429", func(t *testing.T) {
		play(t, limiter.Config{}, spawn.Config{}, func(s *scene) {
			_, err := s.launch("w", func(context.Context, *spawn.Attempt) error {
				return errors.New("syntax error in line 429")
			}).Wait()
			require.ErrorIs(t, err, retry.Unknown)
			require.Zero(t, s.blockedUntil())
		})
	})
}

func TestA10_TypedErrorReachesTheClassifierThroughEveryStage(t *testing.T) {
	play(t, limiter.Config{}, spawn.Config{Policy: retry.Policy{MaxRetries: -1}}, func(s *scene) {
		works := 0
		pipeline := func(context.Context, *spawn.Attempt) error {
			draft := func() error { return nil }
			plan := func() error { return fmt.Errorf("plan: %w", fmt.Errorf("model: %w", rateLimited(0))) }
			work := func() error { works++; return nil }
			for _, stage := range []func() error{draft, plan, work} {
				if err := stage(); err != nil {
					return err
				}
			}
			return nil
		}
		_, err := s.launch("w", pipeline).Wait()
		require.ErrorIs(t, err, retry.RateLimited)
		var refused *refusal
		require.ErrorAs(t, err, &refused)
		require.Zero(t, works)
		require.Equal(t, 60.0, s.blockedUntil())
	})
}

func TestA11_TheWorkersOwnWordsOpenNoPause(t *testing.T) {
	play(t, limiter.Config{}, spawn.Config{}, func(s *scene) {
		result, err := s.launch("w", func(_ context.Context, a *spawn.Attempt) error {
			for range 50 {
				a.Partial("rate limit exceeded, HTTP 429\n")
			}
			a.Save("status 429, Retry-After: 60")
			return errOwn
		}).Wait()
		require.ErrorIs(t, err, errOwn)
		require.Equal(t, spawn.Dead, result.State)
		require.Equal(t, retry.Unknown, result.Attempts[0].Verdict.Class)
		require.Len(t, result.Partial, 50)
		require.Zero(t, s.pauses())
		require.Equal(t, 8, s.limiter.Status().Budget)
	})
}

func TestA13_PermanentErrorIsTriedOnce(t *testing.T) {
	bodies := retry.ClassifierFunc(func(_ context.Context, err error) retry.Verdict {
		if err.Error() == "context_length_exceeded" {
			return retry.Verdict{Class: retry.Fatal}
		}
		return retry.Verdict{}
	})
	policy := retry.Policy{Classifier: retry.First(bodies, retry.Standard(nil))}
	play(t, limiter.Config{}, spawn.Config{Policy: policy}, func(s *scene) {
		result, err := s.launch("w", func(context.Context, *spawn.Attempt) error {
			return errors.New("context_length_exceeded")
		}).Wait()
		require.ErrorIs(t, err, retry.Fatal)
		require.Equal(t, 1, result.Total)
		require.Zero(t, s.pauses())
		require.Len(t, s.deaths, 1)
	})
}

func TestA14_RetriesReachTheRunner(t *testing.T) {
	play(t, limiter.Config{}, spawn.Config{Policy: retry.Policy{MaxRetries: 3}}, func(s *scene) {
		up := s.upstream(0, func(callTo) error { return transient() })
		result, err := s.launch("w", up.work).Wait()
		require.ErrorIs(t, err, retry.Transient)
		require.Equal(t, []float64{0, 3, 9, 21}, up.times("w"))
		require.Equal(t, spawn.Dead, result.State)
		require.Len(t, s.deaths, 1)
		require.Zero(t, s.pauses())
	})
}

func TestA15_TheLastRefusalSaysWhenToTryAgain(t *testing.T) {
	for name, policy := range map[string]retry.Policy{
		"attempts used up":   {MaxRetries: -1},
		"MaxElapsed used up": {MaxElapsed: time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			play(t, limiter.Config{}, spawn.Config{Policy: policy}, func(s *scene) {
				s.at(5)
				result, err := s.launch("w", s.upstream(0, stormUntil(1e6, rateLimited(120))).work).Wait()
				require.Equal(t, spawn.Dead, result.State)
				require.ErrorIs(t, err, retry.RateLimited)
				var given *retry.Error
				require.ErrorAs(t, err, &given)
				require.Equal(t, 125.0, s.clock(given.RetryAt))
				require.Equal(t, 125.0, s.clock(result.RetryAt))
			})
		})
	}
	t.Run("a permanent failure has neither", func(t *testing.T) {
		play(t, limiter.Config{}, spawn.Config{}, func(s *scene) {
			result, err := s.launch("w", func(context.Context, *spawn.Attempt) error { return badRequest() }).Wait()
			require.NotErrorIs(t, err, retry.RateLimited)
			require.Zero(t, result.RetryAt)
		})
	})
}
