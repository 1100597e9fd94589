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

// Scenarios B, end to end: after the pause.

func TestB1_OneProbeThenTheRest(t *testing.T) {
	play(t, limiter.Config{}, spawn.Config{}, func(s *scene) {
		up := s.upstream(time.Second, stormUntil(5, rateLimited(10)))
		results, _ := wait(up.launch(5)...)
		require.Equal(t, map[spawn.State]int{spawn.Succeeded: 5}, ended(results))
		calls := up.times("")[5:]
		require.Len(t, calls, 5)
		require.GreaterOrEqual(t, calls[0], 10.0)
		require.LessOrEqual(t, calls[0], 12.0)
		for _, at := range calls[1:] {
			require.GreaterOrEqual(t, at, calls[0]+1, "the probe is answered first")
		}
	})
}

func TestB2_ExpiryDoesNotRepeatTheBurst(t *testing.T) {
	play(t, limiter.Config{}, spawn.Config{}, func(s *scene) {
		slot, err := s.limiter.TryAcquire()
		require.NoError(t, err)
		slot.ReportRateLimited(0)
		slot.Release()
		up := s.upstream(time.Second, func(callTo) error { return rateLimited(0) })
		ctx, cancel := context.WithCancel(s.ctx)
		s.ctx = ctx
		handles := up.launch(5)
		s.at(61)
		require.Equal(t, []float64{60}, up.times(""))
		require.Equal(t, 4, s.limiter.Status().Waiting)
		require.GreaterOrEqual(t, s.blockedUntil(), 180.0)
		cancel()
		results, _ := wait(handles...)
		require.Equal(t, map[spawn.State]int{spawn.Canceled: 5}, ended(results))
	})
}

func TestB3_OneRefusalStopsAllWorkers(t *testing.T) {
	play(t, limiter.Config{}, spawn.Config{}, func(s *scene) {
		jobs := make(chan int)
		var starts []float64
		first := ""
		done := make(chan struct{})
		for i := range 10 {
			go func() {
				defer func() { done <- struct{}{} }()
				time.Sleep(time.Duration(i) * time.Second) // comes for work at t = i
				for job := range jobs {
					_, err := s.spawner.Run(s.ctx, spawn.Worker{ID: fmt.Sprint("job", job), Run: func(_ context.Context, a *spawn.Attempt) error {
						if job == 0 && a.Number() == 1 {
							return rateLimited(90)
						}
						s.note(func() {
							if first == "" {
								first = a.WorkerID()
							}
							starts = append(starts, s.now().Seconds())
						})
						time.Sleep(time.Second)
						return nil
					}})
					require.NoError(t, err)
				}
			}()
		}
		for job := range 10 {
			jobs <- job
		}
		close(jobs)
		for range 10 {
			<-done
		}
		require.Len(t, starts, 10)
		for _, at := range starts {
			require.GreaterOrEqual(t, at, 90.0)
		}
		require.Equal(t, "job0", first)
	})
}

// H12, and what the architecture says of who pays for a storm.

func TestH12_ALoneWorkerHasFourAttempts(t *testing.T) {
	play(t, limiter.Config{}, spawn.Config{}, func(s *scene) {
		up := s.upstream(0, func(callTo) error { return rateLimited(0) })
		result, err := s.launch("w", up.work).Wait()
		require.ErrorIs(t, err, retry.RateLimited)
		require.Equal(t, spawn.Dead, result.State)
		require.Equal(t, []float64{0, 3, 9, 21}, up.times(""))
		require.Equal(t, seconds(21), s.now())
		require.Len(t, s.deaths, 1)
		require.Len(t, s.deaths[0].Attempts, 4)
	})
}

func TestH12_UnlimitedWithinMaxElapsedOutlivesAStorm(t *testing.T) {
	policy := retry.Policy{MaxRetries: retry.Unlimited, MaxElapsed: 2 * time.Hour}
	play(t, limiter.Config{}, spawn.Config{Policy: policy}, func(s *scene) {
		up := s.upstream(0, stormUntil(600, rateLimited(0)))
		w := s.launch("w", up.work)
		s.at(600)
		require.False(t, s.status("w").State.Terminal())
		result, err := w.Wait()
		require.NoError(t, err)
		require.Less(t, s.now(), seconds(700))
		require.Less(t, result.Total, 20, "on the storm's timetable")
	})
}

func TestH12_FourWorkersOutliveThreeMinutes(t *testing.T) {
	play(t, limiter.Config{}, spawn.Config{}, func(s *scene) {
		up := s.upstream(time.Second, stormUntil(185, rateLimited(0)))
		s.at(5)
		handles := up.launch(4)
		s.at(10)
		fifth := s.launch("fifth", up.work)
		results, _ := wait(append(handles, fifth)...)
		require.Equal(t, map[spawn.State]int{spawn.Succeeded: 5}, ended(results))
		require.LessOrEqual(t, up.refusals(6, 1e6), 8)
		accepted := 0.0
		for _, c := range up.seen() {
			if !c.refused && accepted == 0 {
				accepted = c.at
			}
		}
		require.GreaterOrEqual(t, up.times("fifth")[0], accepted+1, "a probe has to succeed first, which takes a second")
	})
}

func TestH12_OneInFlightThreeQueued(t *testing.T) {
	for _, after := range []float64{0, 1, 5, 30} {
		t.Run(fmt.Sprintf("Retry-After %v", after), func(t *testing.T) {
			play(t, limiter.Config{Budget: 1}, spawn.Config{}, func(s *scene) {
				up := s.upstream(time.Second, stormUntil(330, rateLimited(after)))
				results, _ := wait(up.launch(4)...)
				require.Equal(t, map[spawn.State]int{spawn.Succeeded: 4}, ended(results))
				require.Empty(t, s.deaths)
			})
		})
	}
}

func TestH12_TheLastRetryIsNotSpentOnAStorm(t *testing.T) {
	// One worker is refused, and its siblings are in long calls that tell nothing.
	// The budget is not cut: else the siblings fill it, and nobody may probe.
	uncut := limiter.Config{Cut: func(budget, _ int) int { return budget }}
	scenario := func(t *testing.T, sibling time.Duration, f func(s *scene, up *upstream, w *spawn.Handle)) {
		play(t, uncut, spawn.Config{}, func(s *scene) {
			up := s.upstream(time.Second, stormUntil(330, rateLimited(1)))
			for i := range 3 {
				s.launch(fmt.Sprint("sibling", i), func(ctx context.Context, _ *spawn.Attempt) error {
					select {
					case <-time.After(sibling):
						return nil
					case <-ctx.Done():
						return ctx.Err()
					}
				})
			}
			s.at(0)
			f(s, up, s.launch("w", up.work))
		})
	}
	t.Run("while a sibling has one to spare", func(t *testing.T) {
		scenario(t, 10*time.Minute, func(s *scene, up *upstream, w *spawn.Handle) {
			result, err := w.Wait()
			require.NoError(t, err)
			require.Greater(t, result.Total, 4)
			require.Less(t, s.now(), seconds(330+61), "and finds the end of the storm as soon as a probe may")
			require.LessOrEqual(t, up.refusals(0, 330), 10)
			s.at(601)
		})
	})
	t.Run("but when it is alone", func(t *testing.T) {
		scenario(t, 30*time.Second, func(s *scene, up *upstream, w *spawn.Handle) {
			result, err := w.Wait()
			require.ErrorIs(t, err, retry.RateLimited)
			require.Equal(t, spawn.Dead, result.State)
			require.Less(t, s.now(), seconds(150))
		})
	})
	t.Run("and not for a worker that is refused while others are served", func(t *testing.T) {
		play(t, limiter.Config{}, spawn.Config{}, func(s *scene) {
			up := s.upstream(time.Second, func(c callTo) error {
				if c.worker == "poison" {
					return rateLimited(0)
				}
				return nil
			})
			ctx, cancel := context.WithCancel(s.ctx)
			for i := range 3 {
				s.spawner.Start(ctx, spawn.Worker{ID: fmt.Sprint("healthy", i), Run: func(ctx context.Context, a *spawn.Attempt) error {
					for {
						if err := a.Wait(ctx); err != nil {
							return err
						}
						if err := up.call(ctx, a.WorkerID()); err != nil {
							return err
						}
						a.Progress()
					}
				}})
			}
			result, err := s.launch("poison", up.work).Wait()
			require.ErrorIs(t, err, retry.RateLimited)
			require.Equal(t, 4, result.Total)
			require.Len(t, up.times("poison"), 4)
			cancel()
			s.at(s.now().Seconds() + 1)
		})
	})
	t.Run("and a policy without retries has none to spare", func(t *testing.T) {
		play(t, limiter.Config{}, spawn.Config{Policy: retry.Policy{MaxRetries: -1}}, func(s *scene) {
			up := s.upstream(time.Second, stormUntil(330, rateLimited(0)))
			results, _ := wait(up.launch(3)...)
			require.Equal(t, map[spawn.State]int{spawn.Dead: 3}, ended(results))
			require.Len(t, up.times(""), 3)
		})
	})
}

func TestG12_H12_EmergencyProbesAheadOfTheTimetable(t *testing.T) {
	play(t, limiter.Config{Budget: 1}, spawn.Config{}, func(s *scene) {
		up := s.upstream(0, func(c callTo) error {
			if c.worker == "a" && c.at < 4 {
				return rateLimited(0)
			}
			return nil
		})
		a := s.launch("a", up.work)
		s.at(4)
		require.Equal(t, []float64{0, 3}, up.times("a"))
		require.Zero(t, s.limiter.Status().InFlight)
		line := s.status("a")
		require.Equal(t, spawn.BackingOff, line.State)
		require.Equal(t, 9.0, s.clock(line.Until))
		require.Equal(t, 2, line.Attempt)
		s.at(5)
		urgent := s.spawner.Start(s.ctx, spawn.Worker{ID: "urgent", Priority: limiter.Emergency, Run: up.work})
		s.at(5)
		require.Equal(t, []float64{5}, up.times("urgent"))
		results, _ := wait(a, urgent)
		require.Equal(t, map[spawn.State]int{spawn.Succeeded: 2}, ended(results))
		require.Equal(t, []float64{0, 3, 9}, up.times("a"))
	})
}

func TestEmergencyStaysOneWhenItIsRetried(t *testing.T) {
	play(t, limiter.Config{Budget: 1}, spawn.Config{}, func(s *scene) {
		up := s.upstream(0, func(c callTo) error {
			if c.number == 1 {
				return transient()
			}
			return nil
		})
		urgent := s.spawner.Start(s.ctx, spawn.Worker{ID: "urgent", Priority: limiter.Emergency, Run: up.work})
		s.at(0)
		holder := s.launch("holder", func(context.Context, *spawn.Attempt) error { time.Sleep(10 * time.Second); return nil })
		s.at(1)
		other := s.spawner.Start(s.ctx, spawn.Worker{ID: "other", Priority: limiter.Resumed, Run: func(context.Context, *spawn.Attempt) error {
			time.Sleep(10 * time.Second)
			return nil
		}})
		results, _ := wait(urgent, holder, other)
		require.Equal(t, map[spawn.State]int{spawn.Succeeded: 3}, ended(results))
		require.Equal(t, []float64{0, 10}, up.times("urgent"), "ahead of resumed work that came before")
	})
}
