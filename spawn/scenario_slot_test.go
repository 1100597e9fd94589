package spawn_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdoff-go/holdoff/limiter"
	"github.com/holdoff-go/holdoff/retry"
	"github.com/holdoff-go/holdoff/spawn"
)

// Scenarios G: slots and waiters.

func TestG1_PanicsLeakNoSlot(t *testing.T) {
	play(t, limiter.Config{Budget: 2}, spawn.Config{}, func(s *scene) {
		var handles []*spawn.Handle
		for i := range 1000 {
			handles = append(handles, s.launch(fmt.Sprint("w", i), func(context.Context, *spawn.Attempt) error {
				panic(fmt.Sprint("boom ", i))
			}))
		}
		results, errs := wait(handles...)
		require.Equal(t, map[spawn.State]int{spawn.Dead: 1000}, ended(results))
		for i, err := range errs {
			var panicked *spawn.PanicError
			require.ErrorAs(t, err, &panicked)
			require.Equal(t, fmt.Sprint("boom ", i), panicked.Value)
			require.Contains(t, string(panicked.Stack), "scenario_slot_test.go")
			require.ErrorContains(t, err, fmt.Sprint("worker panicked: boom ", i))
			require.ErrorIs(t, err, retry.Unknown)
		}
		require.Zero(t, s.limiter.Status().InFlight)
		for range 2 {
			slot, err := s.limiter.TryAcquire()
			require.NoError(t, err)
			defer slot.Release()
		}
	})
}

func TestG3_GoexitIsAFailure(t *testing.T) {
	play(t, limiter.Config{Budget: 1}, spawn.Config{}, func(s *scene) {
		result, err := s.spawner.Run(s.ctx, spawn.Worker{ID: "w", Run: func(context.Context, *spawn.Attempt) error {
			runtime.Goexit()
			return nil
		}})
		require.ErrorIs(t, err, spawn.ErrGoexit)
		require.Equal(t, spawn.Dead, result.State)
		require.Less(t, s.now(), time.Second)
		require.Zero(t, s.limiter.Status().InFlight)
		require.NoError(t, s.spawner.Drain(s.ctx))
	})
}

func TestG13_WaitingForASlotIsNoAttempt(t *testing.T) {
	play(t, limiter.Config{Budget: 1}, spawn.Config{}, func(s *scene) {
		slot, err := s.limiter.TryAcquire()
		require.NoError(t, err)
		up := s.upstream(0, func(callTo) error { return nil })
		w := s.launch("w", up.work)
		s.at(299)
		require.Equal(t, spawn.Queued, s.status("w").State)
		require.Zero(t, s.status("w").Attempt)
		s.at(300)
		slot.Release()
		result, err := w.Wait()
		require.NoError(t, err)
		require.Equal(t, []float64{300}, up.times("w"))
		require.Equal(t, 1, result.Total)
		require.Equal(t, 1, result.Attempts[0].Number)
	})
}

func TestG17_ParentsLendTheirSlots(t *testing.T) {
	play(t, limiter.Config{Budget: 2}, spawn.Config{}, func(s *scene) {
		up := s.upstream(time.Second, func(callTo) error { return nil })
		var parents []*spawn.Handle
		for i := range 2 {
			parents = append(parents, s.launch(fmt.Sprint("parent", i), func(ctx context.Context, _ *spawn.Attempt) error {
				_, err := s.spawner.Run(ctx, spawn.Worker{ID: fmt.Sprint("child", i), Run: up.work})
				require.LessOrEqual(t, s.limiter.Status().InFlight, 2)
				return err
			}))
		}
		results, _ := wait(parents...)
		require.Equal(t, map[spawn.State]int{spawn.Succeeded: 2}, ended(results))
		require.Equal(t, []float64{0, 0}, up.times(""))
		require.Zero(t, s.limiter.Status().InFlight)
	})
}

// Scenarios L: hard quota, poison, budgets.

func TestL1_HardQuotaIsNotRetried(t *testing.T) {
	play(t, limiter.Config{}, spawn.Config{}, func(s *scene) {
		up := s.upstream(0, func(callTo) error { return exhausted(0) })
		result, err := s.launch("w", up.work).Wait()
		require.Zero(t, s.now())
		require.Equal(t, spawn.Parked, result.State)
		require.Equal(t, 1, result.Total)
		require.Equal(t, 7200.0, s.clock(result.RetryAt), "2 h where no reset is known")
		require.ErrorIs(t, err, retry.QuotaExhausted)
		require.ErrorIs(t, err, spawn.ErrParked)
		require.Equal(t, []spawn.State{spawn.Queued, spawn.Running, spawn.Parked}, s.states("w"), "one event for the operator")
		require.Zero(t, s.pauses(), "the limiter is told nothing")

		for sec := 600.0; sec <= 3600; sec += 600 {
			s.at(sec)
			later, err := s.launch("", up.work).Wait()
			require.Equal(t, spawn.Parked, later.State)
			require.Zero(t, later.Total)
			require.Equal(t, result.RetryAt, later.RetryAt)
			require.ErrorIs(t, err, retry.QuotaExhausted)
		}
		require.Len(t, up.times(""), 1)
		s.at(7200)
		_, err = s.launch("", up.work).Wait()
		require.Error(t, err)
		require.Len(t, up.times(""), 2, "asked again when the time is over")
	})
}

func TestL1_QuotaParksThoseAtTheGate(t *testing.T) {
	play(t, limiter.Config{Budget: 1}, spawn.Config{}, func(s *scene) {
		up := s.upstream(time.Second, func(callTo) error { return exhausted(0) })
		results, _ := wait(up.launch(5)...)
		require.Equal(t, map[spawn.State]int{spawn.Parked: 5}, ended(results))
		require.Len(t, up.times(""), 1, "nobody who queued meanwhile calls")
		require.Zero(t, s.limiter.Status().InFlight)
	})
}

func TestL3_PoisonIsLaunchedFourTimes(t *testing.T) {
	play(t, limiter.Config{}, spawn.Config{}, func(s *scene) {
		n := 0
		result, err := s.launch("poison", func(context.Context, *spawn.Attempt) error {
			n++
			return errors.Join(fmt.Errorf("wedged, launch %d", n), transient())
		}).Wait()
		require.Equal(t, spawn.Dead, result.State)
		s.at(24 * 3600)
		require.Equal(t, 4, n)
		require.Len(t, s.deaths, 1)
		for launch := 1; launch <= 4; launch++ {
			require.Contains(t, s.deaths[0].Attempts[launch-1].Err.Error(), fmt.Sprint("launch ", launch))
		}
		var given *retry.Error
		require.ErrorAs(t, err, &given)
		require.Len(t, given.Causes, 4)
	})
}

func TestL4_EndlessRefusalsEndOnce(t *testing.T) {
	policy := retry.Policy{MaxRetries: retry.Unlimited, MaxElapsed: time.Hour}
	play(t, limiter.Config{}, spawn.Config{Policy: policy}, func(s *scene) {
		up := s.upstream(0, func(callTo) error { return rateLimited(0) })
		result, err := s.launch("w", up.work).Wait()
		require.ErrorIs(t, err, retry.ErrElapsed)
		require.LessOrEqual(t, s.now(), time.Hour)
		require.Len(t, s.deaths, 1)
		terminal := 0
		for _, state := range s.states("w") {
			if state.Terminal() {
				terminal++
			}
		}
		require.Equal(t, 1, terminal)
		require.Equal(t, len(up.times("")), result.Total)
	})
}

func TestL10_TheFleetHasARetryBudget(t *testing.T) {
	play(t, limiter.Config{Budget: 50}, spawn.Config{RetryBudget: 10}, func(s *scene) {
		up := s.upstream(0, func(c callTo) error {
			if c.number == 1 {
				return transient()
			}
			return nil
		})
		results, errs := wait(up.launch(50)...)
		require.Equal(t, map[spawn.State]int{spawn.Succeeded: 10, spawn.Dead: 40}, ended(results))
		require.Len(t, up.times(""), 60)
		for i, r := range results {
			if r.State == spawn.Dead {
				require.Equal(t, 1, r.Total)
				require.ErrorIs(t, errs[i], spawn.ErrRetryBudget)
				require.ErrorIs(t, errs[i], retry.Transient)
			}
		}
	})
}

func TestRetryBudget_SuccessesGiveATenthBack(t *testing.T) {
	play(t, limiter.Config{}, spawn.Config{RetryBudget: 1}, func(s *scene) {
		up := s.upstream(0, func(c callTo) error {
			if c.worker != "fine" && c.number == 1 {
				return transient()
			}
			return nil
		})
		fails := func(id string) error {
			_, err := s.launch(id, up.work).Wait()
			return err
		}
		require.NoError(t, fails("a"))                       // one retry, and a tenth back
		require.ErrorIs(t, fails("b"), spawn.ErrRetryBudget) // nine tenths are missing
		for range 9 {
			require.NoError(t, fails("fine"))
		}
		require.NoError(t, fails("c"))
	})
}

func TestRetryBudget_RefusalsCostNothing(t *testing.T) {
	play(t, limiter.Config{}, spawn.Config{RetryBudget: 1}, func(s *scene) {
		up := s.upstream(time.Second, stormUntil(60, rateLimited(0)))
		results, _ := wait(up.launch(8)...)
		require.Equal(t, map[spawn.State]int{spawn.Succeeded: 8}, ended(results))
	})
}

// Scenarios M: side effects and partial work.

func TestM1_NoRepeat(t *testing.T) {
	for name, c := range map[string]struct {
		fail     func(a *spawn.Attempt) error
		attempts int
	}{
		"a failure after the effect":      {func(*spawn.Attempt) error { return transient() }, 1},
		"a refusal before anything began": {func(*spawn.Attempt) error { return rateLimited(0) }, 2},
		"a refusal after an accepted call": {func(a *spawn.Attempt) error {
			a.Report(nil)
			return rateLimited(0)
		}, 1},
		"a refusal after progress": {func(a *spawn.Attempt) error {
			a.Progress()
			return rateLimited(0)
		}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			play(t, limiter.Config{}, spawn.Config{}, func(s *scene) {
				result, _ := s.spawner.Run(s.ctx, spawn.Worker{NoRepeat: true, Run: func(_ context.Context, a *spawn.Attempt) error {
					if a.Number() == 1 {
						return c.fail(a)
					}
					return nil
				}})
				require.Equal(t, c.attempts, result.Total)
				require.Equal(t, c.attempts > 1, result.State == spawn.Succeeded)
			})
		})
	}
}

func TestM3_EachAttemptHasItsOwnIdentity(t *testing.T) {
	play(t, limiter.Config{}, spawn.Config{Policy: retry.Policy{MaxRetries: 1}}, func(s *scene) {
		var ids, workers []string
		first, second := errors.New("first"), errors.New("second")
		result, err := s.launch("w", func(_ context.Context, a *spawn.Attempt) error {
			ids, workers = append(ids, a.ID()), append(workers, a.WorkerID())
			return errors.Join([]error{first, second}[a.Number()-1], retry.Transient)
		}).Wait()
		require.Equal(t, []string{"w", "w"}, workers)
		require.Equal(t, []string{"w#1", "w#2"}, ids)
		require.Equal(t, "w#1", result.Attempts[0].ID)
		require.Equal(t, "w#2", result.Attempts[1].ID)
		require.ErrorIs(t, err, first)
		require.ErrorIs(t, err, second)
	})
}

func TestM5_OneFailureDoesNotEmptyTheResult(t *testing.T) {
	play(t, limiter.Config{}, spawn.Config{}, func(s *scene) {
		values := make([]string, 6)
		errs := make([]error, 6)
		done := make(chan struct{})
		for i := range values {
			go func() {
				values[i], errs[i] = spawn.Do(s.ctx, s.spawner, func(context.Context, *spawn.Attempt) (string, error) {
					if i >= 4 {
						return "half of it", transient()
					}
					return fmt.Sprint("result ", i), nil
				})
				done <- struct{}{}
			}()
		}
		for range values {
			<-done
		}
		for i := range 4 {
			require.NoError(t, errs[i])
			require.Equal(t, fmt.Sprint("result ", i), values[i])
		}
		for i := 4; i < 6; i++ {
			require.Empty(t, values[i])
			var given *retry.Error
			require.ErrorAs(t, errs[i], &given)
			require.Equal(t, 4, given.Attempts)
		}
	})
}
