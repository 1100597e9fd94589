package limiter_test

import (
	"log/slog"
	"math"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdoff-go/holdoff/limiter"
)

// Group F of the scenarios: the budget.

func TestF1_BudgetIsNeverCutToZero(t *testing.T) {
	cfg := base()
	cfg.Budget = 1
	cfg.Cut = func(budget, _ int) int { return int(0.4 * float64(budget)) }
	play(t, cfg, func(s *scene) {
		slot := s.take()
		slot.ReportRateLimited(0)
		slot.Release()
		require.Equal(s, 1, s.l.Status().Budget)
		c := s.ask(limiter.Normal)
		s.at(60)
		require.NotNil(s, c.slot)
	})
}

// F2 is in the table of TestConfig; this is a Cut that makes no sense at run time.
func TestF2_CutThatMakesNoSense(t *testing.T) {
	for name, c := range map[string]struct {
		cut    func(budget, inFlight int) int
		budget int
	}{
		"zero":         {func(int, int) int { return 0 }, 2},
		"negative":     {func(int, int) int { return math.MinInt }, 2},
		"too much":     {func(int, int) int { return math.MaxInt }, 8},
		"not a number": {func(b, n int) int { return int(math.NaN()) }, 0},
		"panics":       {func(int, int) int { panic("cut") }, 3},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := base()
			cfg.Floor = 2
			cfg.Cut = c.cut
			cfg.Logger = slog.New(slog.DiscardHandler)
			play(t, cfg, func(s *scene) {
				s.takeAll(6)[0].ReportRateLimited(0)
				budget := s.l.Status().Budget
				require.GreaterOrEqual(s, budget, 2, "the floor")
				require.LessOrEqual(s, budget, 8)
				if c.budget > 0 {
					require.Equal(s, c.budget, budget)
				}
			})
		})
	}
	t.Run("calls the limiter", func(t *testing.T) {
		cfg := base()
		var l *limiter.Limiter
		cfg.Cut = func(int, int) int {
			l.Status()
			_, err := l.TryAcquire()
			require.NoError(t, err)
			return 5
		}
		play(t, cfg, func(s *scene) {
			l = s.l
			s.take().ReportRateLimited(0)
			require.Equal(s, 5, s.l.Status().Budget)
			require.Equal(s, 2, s.l.Status().InFlight)
		})
	})
	t.Run("ends its goroutine", func(t *testing.T) {
		cfg := base()
		cfg.Cut = func(int, int) int { runtime.Goexit(); return 0 }
		play(t, cfg, func(s *scene) {
			slot := s.take()
			go slot.ReportRateLimited(0)
			synctest.Wait()
			require.Equal(s, 1, s.l.Status().InFlight)
			s.take()
		})
	})
}

func TestF3_OtherFailuresDoNotTouchTheBudget(t *testing.T) {
	cfg := base()
	cfg.Budget = 3
	play(t, cfg, func(s *scene) {
		for range 7 {
			s.take().Release() // failed, and reported nothing
		}
		st := s.l.Status()
		require.Equal(s, 3, st.Budget)
		require.Zero(s, st.BlockedUntil)
	})
}

func TestF4_OneBurstIsOneCut(t *testing.T) {
	cfg := base()
	cfg.Budget = 64
	play(t, cfg, func(s *scene) {
		slots := s.takeAll(64)
		for i, slot := range slots {
			s.at(1 + float64(i)*2/64)
			slot.ReportRateLimited(0)
			slot.Release()
			require.Equal(s, 32, s.l.Status().Budget)
			require.Equal(s, 61.0, s.blockedUntil(), "from the first report")
		}
		s.at(61)
		s.take().ReportRateLimited(0)
		require.Equal(s, 61.0+120, s.blockedUntil(), "the burst was one step of the ladder")
		require.Equal(s, 32, s.l.Status().Budget, "and a probe never cuts")
	})
}

func TestF5_SlotIsNotPassedOnBeforeTheCut(t *testing.T) {
	cfg := base()
	cfg.Budget = 4
	play(t, cfg, func(s *scene) {
		slots := s.takeAll(4)
		waiter := s.ask(limiter.Normal)
		slots[0].ReportRateLimited(0)
		slots[0].Release()
		synctest.Wait()
		st := s.l.Status()
		require.Equal(s, 1, waiting(waiter))
		require.Equal(s, 2, st.Budget)
		require.Equal(s, 3, st.InFlight)
		slots[1].Release()
		slots[2].Release()
		s.at(59.9)
		require.Equal(s, 1, waiting(waiter))
		s.at(60)
		require.NotNil(s, waiter.slot)
	})
}

func TestF8_SuccessesAtTheCeilingChangeNothing(t *testing.T) {
	play(t, base(), func(s *scene) {
		slot := s.take()
		for range 1000 {
			slot.ReportSuccess()
			require.Equal(s, 8, s.l.Status().Budget)
		}
	})
}

func TestF9_QuietTimeRestoresTheBudget(t *testing.T) {
	given := func(t *testing.T, story func(s *scene)) {
		play(t, base(), func(s *scene) {
			slots := s.takeAll(4)
			slots[0].ReportRateLimited(0)
			for _, slot := range slots {
				slot.Release()
			}
			require.Equal(s, 2, s.l.Status().Budget)
			story(s)
		})
	}
	t.Run("nothing was called since: only the probe goes first", func(t *testing.T) {
		given(t, func(s *scene) {
			s.at(30 * 60)
			require.Equal(s, 8, s.l.Status().Budget)
			burst := s.askAll(8, limiter.Normal)
			require.Equal(s, 1, in(burst...))
		})
	})
	t.Run("at most one in flight meanwhile", func(t *testing.T) {
		given(t, func(s *scene) {
			for at := 60.0; at < 30*60; at += 300 {
				s.at(at)
				slot := s.take()
				s.at(at + 1)
				slot.ReportSuccess()
				slot.Release()
			}
			s.at(30 * 60)
			require.Equal(s, 8, s.l.Status().Budget)
			burst := s.askAll(8, limiter.Normal)
			for i := 0; in(burst...) < 8; i++ { // the window has opened by the successes
				burst[i].slot.ReportSuccess()
				synctest.Wait()
				require.LessOrEqual(s, i, 2)
			}
		})
	})
}

func TestF13_ResizeReachesWaiters(t *testing.T) {
	cfg := base()
	cfg.Budget = 4
	play(t, cfg, func(s *scene) {
		slots := s.takeAll(4)
		waiters := s.askAll(10, limiter.Normal)
		require.NoError(s, s.l.SetBudget(1))
		for _, slot := range slots {
			slot.Release()
		}
		synctest.Wait()
		require.Equal(s, 1, in(waiters...))
	})
	play(t, cfg, func(s *scene) {
		s.l.Hold("until all 10 wait and none runs")
		waiters := s.askAll(10, limiter.Normal)
		require.NoError(s, s.l.SetBudget(8))
		s.l.Resume("")
		synctest.Wait()
		for i, w := range waiters {
			require.Equal(s, i < 8, w.back(), "waiter %d", i)
		}
		require.NoError(s, s.l.SetBudget(9))
		synctest.Wait()
		require.NotNil(s, waiters[8].slot)
		require.Equal(s, 1, waiting(waiters...))
	})
	play(t, base(), func(s *scene) {
		for _, n := range []int{0, -1, math.MinInt} {
			require.ErrorContains(s, s.l.SetBudget(n), "budget is")
		}
		require.Equal(s, 8, s.l.Status().Budget)
	})
}

// Growth: one slot for as many fresh successes as the budget is.
func TestBudget_GrowsBySuccesses(t *testing.T) {
	for name, c := range map[string]struct {
		grow   int
		needed []int // successes for each further slot, from budget 2
	}{
		"a round a slot":   {0, []int{2, 3, 4, 5, 6, 7}},
		"two rounds":       {2, []int{4, 6, 8, 10, 12, 14}},
		"as many as there": {math.MaxInt, nil},
		"never":            {-1, nil},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := base()
			cfg.Grow = c.grow
			cfg.Recover = -1
			play(t, cfg, func(s *scene) {
				slots := s.takeAll(4)
				slots[0].ReportRateLimited(0)
				slots[1].ReportSuccess() // from before the refusal: not fresh
				for _, slot := range slots {
					slot.Release()
				}
				s.at(60)
				probe := s.take()
				if c.needed == nil {
					for range 10_000 {
						probe.ReportSuccess()
					}
					s.at(24 * 3600)
					require.Equal(s, 2, s.l.Status().Budget)
					return
				}
				for i, n := range c.needed {
					for range n {
						require.Equal(s, 2+i, s.l.Status().Budget)
						probe.ReportSuccess()
					}
				}
				require.Equal(s, 8, s.l.Status().Budget)
			})
		})
	}
}

// A refusal of unknown origin cannot be told from its burst: one cut in 2 s.
func TestBudget_UnknownOriginCutsOnceInTwoSeconds(t *testing.T) {
	play(t, base(), func(s *scene) {
		s.takeAll(8)
		for _, step := range []struct {
			at     float64
			budget int
		}{{0, 4}, {0.5, 4}, {1.999, 4}, {2, 4}} {
			s.at(step.at)
			s.l.ReportRateLimited(0)
			require.Equal(s, step.budget, s.l.Status().Budget)
		}
	})
	cfg := base()
	cfg.Cut = func(budget, _ int) int { return budget - 1 }
	play(t, cfg, func(s *scene) {
		s.takeAll(8)
		for i := range 10 {
			s.at(float64(i))
			s.l.ReportRateLimited(0)
			require.Equal(s, max(8-1-i/2, 1), s.l.Status().Budget)
		}
	})
}

// Recover is exact for times that no machine counts with.
func TestBudget_RecoverAtTheEdges(t *testing.T) {
	for name, c := range map[string]struct {
		recover time.Duration
		at      float64
		budget  int
	}{
		"a nanosecond":    {1, 60, math.MaxInt},
		"negative: never": {-1, 1e9, 2},
		"longer than any": {math.MaxInt64, 1e9, 2},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := base()
			cfg.Budget = math.MaxInt
			cfg.Recover = c.recover
			cfg.Cut = func(int, int) int { return 2 }
			play(t, cfg, func(s *scene) {
				slots := s.takeAll(2)
				slots[0].ReportRateLimited(0)
				waiter := s.ask(limiter.Normal) // whose alarm must not spin
				s.at(c.at)
				if c.budget == 2 {
					require.Equal(s, 2, s.l.Status().Budget)
					require.Equal(s, 1, waiting(waiter))
					return
				}
				require.Greater(s, s.l.Status().Budget, math.MaxInt32)
			})
		})
	}
}
