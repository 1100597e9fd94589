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

// Scenarios C: retry layers.

func TestC1_LayersDoNotMultiply(t *testing.T) {
	play(t, limiter.Config{}, spawn.Config{}, func(s *scene) {
		up := s.upstream(0, func(callTo) error { return transient() })
		_, err := s.launch("w", up.work).Wait()
		require.ErrorIs(t, err, retry.Transient)
		require.Len(t, up.times(""), 4)
	})
}

func TestC2_ThreeLayersAreFourCalls(t *testing.T) {
	t.Run("retry.Do inside an attempt leaves refusals to it", func(t *testing.T) {
		play(t, limiter.Config{}, spawn.Config{}, func(s *scene) {
			up := s.upstream(0, func(callTo) error { return rateLimited(0) })
			_, err := s.launch("w", func(ctx context.Context, a *spawn.Attempt) error {
				_, err := retry.Do(ctx, retry.Policy{}, func(ctx context.Context) (int, error) {
					return retry.Do(ctx, retry.Policy{}, func(ctx context.Context) (int, error) {
						return 0, up.call(ctx, a.WorkerID())
					})
				})
				return err
			}).Wait()
			require.ErrorIs(t, err, retry.RateLimited)
			require.Equal(t, []float64{0, 3, 9, 21}, up.times(""))
		})
	})
	t.Run("what a child gave up on is not retried by its parent", func(t *testing.T) {
		play(t, limiter.Config{}, spawn.Config{}, func(s *scene) {
			up := s.upstream(0, func(callTo) error { return rateLimited(0) })
			parent, err := s.launch("parent", func(ctx context.Context, _ *spawn.Attempt) error {
				_, err := s.spawner.Run(ctx, spawn.Worker{ID: "child", Run: up.work})
				return fmt.Errorf("the child failed: %w", err)
			}).Wait()
			require.Equal(t, spawn.Dead, parent.State)
			require.Equal(t, 1, parent.Total)
			require.ErrorIs(t, err, retry.RateLimited)
			require.Equal(t, []float64{0, 3, 9, 21}, up.times("child"), "a parent that waits is no company in a storm")
			require.Len(t, s.deaths, 2)
			require.Zero(t, s.limiter.Status().InFlight)
		})
	})
	t.Run("nor what a retry.Do inside it gave up on", func(t *testing.T) {
		play(t, limiter.Config{}, spawn.Config{}, func(s *scene) {
			up := s.upstream(0, func(callTo) error { return transient() })
			result, err := s.launch("w", func(ctx context.Context, a *spawn.Attempt) error {
				_, err := retry.Do(ctx, retry.Policy{}, func(ctx context.Context) (int, error) {
					return 0, up.call(ctx, a.WorkerID())
				})
				return err
			}).Wait()
			require.ErrorIs(t, err, retry.Transient)
			require.Equal(t, 1, result.Total)
			require.Len(t, up.times(""), 4)
		})
	})
}

func TestC3_MaxElapsedEndsBeforeTheWaitThatWouldPassIt(t *testing.T) {
	play(t, limiter.Config{}, spawn.Config{Policy: retry.Policy{MaxElapsed: 15 * time.Second}}, func(s *scene) {
		up := s.upstream(0, func(callTo) error { return rateLimited(0) })
		result, err := s.launch("w", up.work).Wait()
		require.Equal(t, seconds(9), s.now())
		require.Equal(t, []float64{0, 3, 9}, up.times(""))
		require.ErrorIs(t, err, retry.ErrElapsed)
		require.ErrorIs(t, err, retry.RateLimited)
		require.Equal(t, 3, result.Total)
		require.Equal(t, spawn.Dead, result.State)
	})
}

func TestC4_FanOutStormIsBounded(t *testing.T) {
	play(t, limiter.Config{}, spawn.Config{Policy: retry.Policy{MaxElapsed: 200 * time.Second}}, func(s *scene) {
		up := s.upstream(time.Second, func(callTo) error { return rateLimited(0) })
		handles := up.launch(98)
		s.at(59)
		started := map[string]bool{}
		for _, c := range up.seen() {
			started[c.worker] = true
		}
		require.LessOrEqual(t, len(started), 8)
		s.at(226)
		require.LessOrEqual(t, len(up.times("")), 40)
		results, errs := wait(handles...)
		require.LessOrEqual(t, s.now(), seconds(226))
		for i := range results {
			var given *retry.Error
			require.ErrorAs(t, errs[i], &given)
			require.ErrorIs(t, errs[i], retry.ErrElapsed)
			require.ErrorIs(t, errs[i], retry.RateLimited, "%s, with %d attempts", results[i].ID, results[i].Total)
		}
		require.Len(t, s.deaths, 98)
	})
}

func TestC6_GapsAreTheLadders(t *testing.T) {
	play(t, limiter.Config{}, spawn.Config{}, func(s *scene) {
		up := s.upstream(0, func(callTo) error { return transient() })
		result, _ := s.launch("w", up.work).Wait()
		require.Len(t, result.Attempts, 4)
		for i, gap := range []float64{3, 6, 12} {
			require.Equal(t, seconds(gap), result.Attempts[i+1].Start.Sub(result.Attempts[i].End))
		}
		s.at(3600)
		require.Len(t, up.times(""), 4, "no fifth")
	})
}

func TestC7_RetriesGoThroughTheLimiter(t *testing.T) {
	play(t, limiter.Config{Budget: 1}, spawn.Config{}, func(s *scene) {
		up := s.upstream(0, func(c callTo) error {
			if c.number == 1 {
				return transient()
			}
			return nil
		})
		a := s.launch("a", up.work)
		s.at(0)
		b := s.launch("b", func(context.Context, *spawn.Attempt) error { time.Sleep(10 * time.Second); return nil })
		s.at(9)
		require.Equal(t, []float64{0}, up.times("a"))
		results, _ := wait(a, b)
		require.Equal(t, map[spawn.State]int{spawn.Succeeded: 2}, ended(results))
		require.Equal(t, []float64{0, 10}, up.times("a"))
	})
}

func TestC8_RetriesAreNotAttempts(t *testing.T) {
	for retries, calls := range map[int]int{3: 4, 0: 4, -1: 1, 1: 2} {
		t.Run(fmt.Sprint(retries), func(t *testing.T) {
			play(t, limiter.Config{}, spawn.Config{Policy: retry.Policy{MaxRetries: retries}}, func(s *scene) {
				up := s.upstream(0, func(callTo) error { return transient() })
				_, err := s.launch("w", up.work).Wait()
				require.Error(t, err)
				require.Len(t, up.times(""), calls)
			})
		})
	}
}

// Scenarios D: the stated time, as a spawned worker meets it.

func TestD2_LongStatedTimeCostsOneRetry(t *testing.T) {
	play(t, limiter.Config{}, spawn.Config{}, func(s *scene) {
		up := s.upstream(0, stormUntil(46, rateLimited(45)))
		w := s.launch("w", up.work)
		s.at(44.9)
		require.Equal(t, []float64{0}, up.times(""))
		s.at(46)
		require.Equal(t, []float64{0, 45}, up.times(""))
		result, err := w.Wait()
		require.NoError(t, err)
		require.Equal(t, 3, result.Total)
	})
}

func TestD3_LongerThanMaxInlineWaitIsParked(t *testing.T) {
	play(t, limiter.Config{}, spawn.Config{MaxInlineWait: 120 * time.Second}, func(s *scene) {
		up := s.upstream(0, func(callTo) error { return rateLimited(3600) })
		result, err := s.launch("w", up.work).Wait()
		require.Zero(t, s.now(), "at once")
		require.Equal(t, spawn.Parked, result.State)
		require.Equal(t, 3600.0, s.clock(result.RetryAt))
		require.ErrorIs(t, err, spawn.ErrParked)
		require.ErrorIs(t, err, retry.RateLimited)
		s.at(3599)
		require.Equal(t, []float64{0}, up.times(""))
		require.Equal(t, 3600.0, s.blockedUntil(), "the fleet holds off all the same")
		require.Empty(t, s.deaths)
		line := s.status("w")
		require.Equal(t, spawn.Parked, line.State)
		require.Equal(t, 3600.0, s.clock(line.Until))
	})
}

func TestD3_NegativeMaxInlineWaitNeverWaits(t *testing.T) {
	play(t, limiter.Config{}, spawn.Config{MaxInlineWait: -1}, func(s *scene) {
		up := s.upstream(0, stormUntil(1, rateLimited(1)))
		result, _ := s.launch("w", up.work).Wait()
		require.Equal(t, spawn.Parked, result.State)
	})
}

func TestD11_MaxElapsedDoesNotOverflow(t *testing.T) {
	const longest = time.Duration(1<<63 - 2)
	config := spawn.Config{MaxInlineWait: longest, Policy: retry.Policy{MaxElapsed: time.Second}}
	play(t, limiter.Config{}, config, func(s *scene) {
		result, err := s.launch("w", func(context.Context, *spawn.Attempt) error {
			return &refusal{429, longest}
		}).Wait()
		require.Zero(t, s.now())
		require.ErrorIs(t, err, retry.ErrElapsed)
		require.Equal(t, spawn.Dead, result.State)
		require.True(t, result.RetryAt.After(s.start))
	})
}

type wrapped struct{ error }

func (w wrapped) Unwrap() error { return w.error }

func TestD15_StatedTimeSurvivesWrapping(t *testing.T) {
	play(t, limiter.Config{}, spawn.Config{}, func(s *scene) {
		w := s.launch("w", func(_ context.Context, a *spawn.Attempt) error {
			if a.Number() == 1 {
				return fmt.Errorf("agent: %w", wrapped{errors.Join(errors.New("turn 7"), rateLimited(90))})
			}
			return nil
		})
		s.at(0)
		require.Equal(t, 90.0, s.blockedUntil())
		require.Equal(t, 1, s.pauses())
		_, err := w.Wait()
		require.NoError(t, err)
		require.Equal(t, seconds(90), s.now())
	})
}
