package limiter_test

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdoff-go/holdoff/limiter"
)

// Group B of the scenarios: after the pause, herd and probe.

func TestB1_LockstepRetries(t *testing.T) {
	play(t, base(), func(s *scene) {
		// Given 5 workers refused at 0 with a stated 10 s, answers in 1 s.
		var starts journal[float64]
		var over journal[int]
		for _, slot := range s.takeAll(5) {
			slot.ReportRateLimited(10 * time.Second)
			slot.Release()
			go func() {
				slot, err := s.l.AcquireAs(s.ctx, limiter.Resumed)
				require.NoError(s, err)
				starts.add(s.now())
				st := s.l.Status()
				over.add(st.InFlight - st.Budget)
				time.Sleep(time.Second)
				slot.ReportSuccess()
				slot.Release()
			}()
			synctest.Wait()
		}
		s.at(60)
		require.Len(s, starts.all(), 5)
		first := starts.all()[0]
		require.GreaterOrEqual(s, first, 10.0)
		require.LessOrEqual(s, first, 12.0)
		for _, start := range starts.all()[1:] {
			require.GreaterOrEqual(s, start, first+1, "before the probe has been answered")
		}
		require.LessOrEqual(s, slices.Max(over.all()), 0, "above the budget")
	})
}

func TestB2_SynchronisedExpiry(t *testing.T) {
	play(t, base(), func(s *scene) {
		s.l.ReportRateLimited(0)
		callers := s.askAll(5, limiter.Normal)
		s.at(60)
		require.Equal(s, 1, in(callers...))
		require.NotNil(s, callers[0].slot, "first in, first out")
		s.at(60.05)
		callers[0].slot.ReportRateLimited(0)
		callers[0].slot.Release()
		s.at(179)
		require.Equal(s, 4, waiting(callers...))
		require.GreaterOrEqual(s, s.blockedUntil(), 180.0)
	})
}

func TestB3_StopAllWorkersAtOnce(t *testing.T) {
	cfg := base()
	cfg.Budget = 10
	play(t, cfg, func(s *scene) {
		// Given 10 workers on a channel, each of which takes a slot a job.
		type job struct{ priority limiter.Priority }
		jobs := make(chan job, 20)
		var starts journal[float64]
		work := func(i int, slot *limiter.Slot) {
			time.Sleep(seconds(float64(i))) // the 9 come back at 1..9
			slot.Release()
			for j := range jobs {
				slot, err := s.l.AcquireAs(s.ctx, j.priority)
				require.NoError(s, err)
				starts.add(s.now())
				time.Sleep(seconds(0.1))
				slot.ReportSuccess()
				slot.Release()
			}
		}
		slots := s.takeAll(10)
		for range 9 {
			jobs <- job{limiter.Normal}
		}
		for i, slot := range slots[1:] {
			go work(i+1, slot)
		}
		slots[0].ReportRateLimited(90 * time.Second)
		slots[0].Release()
		refused := s.ask(limiter.Resumed)
		s.at(89.9)
		require.Empty(s, starts.all())
		s.at(90)
		require.NotNil(s, refused.slot, "the refused job is first")
		require.Empty(s, starts.all())
		refused.slot.ReportSuccess()
		refused.slot.Release()
		s.at(100)
		close(jobs)
		synctest.Wait()
		require.Len(s, starts.all(), 9)
	})
}

func TestB5_ProbeClaimThatIsLost(t *testing.T) {
	play(t, base(), func(s *scene) {
		s.l.ReportRateLimited(0)
		s.at(60)
		s.take() // and vanishes
		next := s.askAll(2, limiter.Normal)
		s.at(89.9)
		require.Equal(s, 2, waiting(next...))
		s.at(90)
		require.NotNil(s, next[0].slot)
		require.Equal(s, 1, waiting(next...), "one more, not the herd")
		s.at(120)
		require.Equal(s, 0, waiting(next...))
	})
}

// Nothing is stuck: a probe may end in any way.
func TestB5_ProbeThatEndsOtherwise(t *testing.T) {
	ends := map[string]func(*scene, *limiter.Slot){
		"released without a verdict": func(_ *scene, probe *limiter.Slot) { probe.Release() },
		"panics": func(s *scene, probe *limiter.Slot) {
			go func() {
				defer func() { _ = recover() }()
				defer probe.Release()
				panic("worker")
			}()
			synctest.Wait()
		},
	}
	for name, end := range ends {
		t.Run(name, func(t *testing.T) {
			play(t, base(), func(s *scene) {
				s.l.ReportRateLimited(0)
				first := s.ask(limiter.Resumed)
				second := s.ask(limiter.Resumed)
				s.at(3)
				require.NotNil(s, first.slot)
				require.Equal(s, 1, waiting(second))
				s.at(4)
				end(s, first.slot)
				synctest.Wait()
				require.NotNil(s, second.slot, "the turn is passed on, the timetable stays")
				require.Equal(s, 60.0, s.blockedUntil())
			})
		})
	}
	t.Run("canceled while it waits", func(t *testing.T) {
		play(t, base(), func(s *scene) {
			s.l.ReportRateLimited(0)
			first, second := s.ask(limiter.Resumed), s.ask(limiter.Resumed)
			s.at(1)
			first.cancel()
			s.at(3)
			require.NotNil(s, second.slot)
		})
	})
}

func TestB6_EndOfThePauseRestoresNoBudget(t *testing.T) {
	play(t, base(), func(s *scene) {
		slots := s.takeAll(8)
		slots[0].ReportRateLimited(0)
		for _, slot := range slots {
			slot.Release()
		}
		s.at(60)
		require.Equal(s, 4, s.l.Status().Budget)
		callers := s.askAll(8, limiter.Normal)
		require.Equal(s, 1, in(callers...))
		callers[0].slot.ReportSuccess()
		synctest.Wait()
		require.Equal(s, 3, in(callers...), "the probe, answered, and a window of two")
		callers[1].slot.ReportSuccess()
		callers[2].slot.ReportSuccess()
		synctest.Wait()
		require.Equal(s, 4, in(callers...))
		require.Equal(s, 4, s.l.Status().Budget)
	})
}

func TestB7_HalfOpenAdmitsOne(t *testing.T) {
	play(t, base(), func(s *scene) {
		s.l.ReportRateLimited(0)
		s.at(60)
		probe := s.take() // hangs for 30 s
		var callers, hurried []*caller
		for range 50 {
			callers = append(callers, s.ask(limiter.Normal))
			hurried = append(hurried, s.askFor(limiter.Normal, 20))
		}
		s.at(79.9)
		require.Equal(s, 1, s.l.Status().InFlight)
		require.Equal(s, 100, waiting(append(callers, hurried...)...))
		s.at(80)
		for _, c := range hurried {
			var blocked *limiter.BlockedError
			require.ErrorAs(s, c.err, &blocked)
			require.Equal(s, limiter.ReasonProbing, blocked.Reason)
			require.Equal(s, 80.0, c.at)
		}
		require.Equal(s, 50, waiting(callers...))
		probe.ReportSuccess()
		synctest.Wait()
		require.Equal(s, 2, in(callers...))
	})
}

func TestB8_ExpiryIsNoProofOfHealth(t *testing.T) {
	play(t, base(), func(s *scene) {
		s.takeAll(4)[0].ReportRateLimited(0)
		s.l.SetBudget(6)
		s.at(61)
		st := s.l.Status()
		require.Zero(s, st.BlockedUntil)
		require.Equal(s, limiter.ReasonNone, st.Reason)
		require.Equal(s, 6, st.Budget)
		probe := s.take()
		require.Equal(s, limiter.ReasonProbing, s.refused().Reason)
		probe.ReportSuccess()
		s.take()
	})
}

// One timetable a storm: 3 s after the refusal, then 6 s after that probe's,
// 12 s, doubling up to the pause.
func TestProbes_Timetable(t *testing.T) {
	play(t, base(), func(s *scene) {
		slots := s.takeAll(4)
		for _, slot := range slots {
			slot.ReportRateLimited(0)
			slot.Release()
		}
		var starts journal[float64]
		for i := range slots {
			go func() {
				for {
					slot, err := s.l.AcquireAs(s.ctx, limiter.Resumed)
					if err != nil {
						return
					}
					require.Equal(s, i, (starts.add(s.now())-1)%4, "in turns")
					slot.ReportRateLimited(0)
					slot.Release()
				}
			}()
			synctest.Wait()
		}
		s.at(400)
		require.Equal(s, []float64{3, 9, 21, 45, 93, 153, 213, 273, 333, 393}, starts.all())
	})
}

// "Retry-After: 1" keeps the gate shut for the gap, or it burns a fleet.
func TestProbes_ShortStatedTime(t *testing.T) {
	for _, probeAfter := range []time.Duration{0, -1} {
		t.Run(fmt.Sprint(probeAfter), func(t *testing.T) {
			cfg := base()
			cfg.ProbeAfter = probeAfter
			play(t, cfg, func(s *scene) {
				s.take().ReportRateLimited(time.Second)
				s.l.SetBudget(8)
				var starts []float64
				for len(starts) < 6 {
					c := s.ask(limiter.Resumed)
					for t := s.now(); !c.back(); t++ {
						s.at(t + 1)
					}
					starts = append(starts, c.at)
					c.slot.ReportRateLimited(time.Second)
					c.slot.Release()
				}
				require.Equal(s, []float64{1, 7, 19, 43, 91, 151}, starts)
			})
		})
	}
	t.Run("longer than the gap it is taken at its word", func(t *testing.T) {
		play(t, base(), func(s *scene) {
			s.l.ReportRateLimited(0)
			probe := s.ask(limiter.Resumed)
			s.at(3)
			probe.slot.ReportRateLimited(70 * time.Second)
			require.Equal(s, 73.0, s.blockedUntil())
			probe.slot.Release()
			next := s.ask(limiter.Resumed)
			s.at(72.9)
			require.Equal(s, 1, waiting(next))
			s.at(73)
			require.NotNil(s, next.slot)
		})
	})
}

func TestProbes_NoneBeforeTheEndWhenOff(t *testing.T) {
	cfg := base()
	cfg.ProbeAfter = -1
	play(t, cfg, func(s *scene) {
		s.l.ReportRateLimited(0)
		c := s.ask(limiter.Resumed)
		s.at(59.9)
		require.Equal(s, 1, waiting(c))
		s.at(60)
		require.NotNil(s, c.slot)
	})
}

// Success, Resume and 600 s of quiet after it end the storm.
func TestStorm_Ends(t *testing.T) {
	for name, end := range map[string]func(*scene){
		"by the probe's success":       func(s *scene) { s.at(60); s.take().ReportSuccess() },
		"by success of unknown origin": func(s *scene) { s.l.ReportSuccess() },
		"by Resume":                    func(s *scene) { s.l.Resume("seen") },
		"by quiet":                     func(s *scene) { s.at(660) },
	} {
		t.Run(name, func(t *testing.T) {
			play(t, base(), func(s *scene) {
				s.l.ReportRateLimited(0)
				require.True(s, s.l.Status().Storm)
				end(s)
				require.False(s, s.l.Status().Storm)
				s.l.Resume("") // the window of the quiet case
				at := s.now()
				s.l.ReportRateLimited(0)
				require.Equal(s, at+60, s.blockedUntil(), "the next starts from the first step")
			})
		})
	}
	t.Run("not earlier", func(t *testing.T) {
		play(t, base(), func(s *scene) {
			s.l.ReportRateLimited(0)
			s.at(659.9)
			require.True(s, s.l.Status().Storm)
			s.l.ReportRateLimited(0)
			require.InDelta(s, 659.9+120, s.blockedUntil(), 1e-6)
		})
	})
}

// A success in a stated pause ends the storm; a refusal after it, in the same
// pause, begins another, with its own timetable and one probe.
func TestStorm_BeginsAnewWithinAStatedPause(t *testing.T) {
	play(t, base(), func(s *scene) {
		slot := s.take()
		s.l.ReportRateLimited(20 * time.Second)
		s.l.SetBudget(8)
		s.l.ReportSuccess()
		require.Equal(s, 20.0, s.blockedUntil())
		require.False(s, s.l.Status().Storm)
		s.at(19)
		s.l.ReportRateLimited(0)
		require.Equal(s, 79.0, s.blockedUntil())
		require.True(s, s.l.Status().Storm)
		slot.ReportSuccess() // of before: clears nothing
		slot.Release()
		first, second := s.ask(limiter.Resumed), s.ask(limiter.Resumed)
		s.at(21.9)
		require.Equal(s, 2, waiting(first, second))
		s.at(22)
		require.NotNil(s, first.slot)
		require.Equal(s, 1, waiting(second))
	})
}

// A pause cleared by a success doubles nothing, stated time or not.
func TestStorm_UnknownSuccessWithinAStatedPauseForgetsTheAssumedOne(t *testing.T) {
	play(t, base(), func(s *scene) {
		s.l.ReportRateLimited(0)
		s.l.ReportRateLimited(30 * time.Second)
		s.l.ReportSuccess()
		require.Equal(s, 30.0, s.blockedUntil())
		s.at(31)
		s.l.ReportRateLimited(0)
		require.Equal(s, 91.0, s.blockedUntil())
	})
}

// O1: urgent work behind the backlog.
func TestO1_UrgentWorkBehindTheBacklog(t *testing.T) {
	cfg := base()
	cfg.Budget = 2
	cfg.Cut = func(budget, _ int) int { return budget }
	given := func(t *testing.T, stated time.Duration, story func(s *scene, routine []*caller)) {
		play(t, cfg, func(s *scene) {
			// Budget 2 with 1 free, 500 routine waiting, a pause until 60.
			s.take().ReportRateLimited(stated)
			routine := s.askAll(500, limiter.Normal)
			s.at(1)
			story(s, routine)
		})
	}
	t.Run("it starts at once and none of the backlog", func(t *testing.T) {
		given(t, 0, func(s *scene, routine []*caller) {
			urgent := s.ask(limiter.Emergency)
			require.NotNil(s, urgent.slot)
			require.Equal(s, 1.0, urgent.at)
			s.at(59)
			require.Equal(s, 0, in(routine...))
			require.Equal(s, 60.0, s.blockedUntil())
		})
	})
	t.Run("a second one waits for the timetable", func(t *testing.T) {
		given(t, 0, func(s *scene, routine []*caller) {
			urgent := s.ask(limiter.Emergency)
			second := s.ask(limiter.Emergency)
			resumed := s.ask(limiter.Resumed)
			s.at(1.05)
			urgent.slot.ReportRateLimited(0)
			urgent.slot.Release()
			s.at(7)
			require.Equal(s, 1, waiting(second))
			s.at(7.05) // 6 s after the probe's refusal
			require.NotNil(s, second.slot, "it leads the line")
			require.Equal(s, 1, waiting(resumed))
			require.Equal(s, 0, in(routine...))
		})
	})
	t.Run("never above the budget", func(t *testing.T) {
		given(t, 0, func(s *scene, _ []*caller) {
			require.NoError(s, s.l.SetBudget(1))
			urgent := s.ask(limiter.Emergency)
			s.at(59)
			require.Equal(s, 1, waiting(urgent))
		})
	})
	t.Run("never in a stated pause", func(t *testing.T) {
		given(t, 60*time.Second, func(s *scene, routine []*caller) {
			urgent := s.ask(limiter.Emergency)
			s.at(59.9)
			require.Equal(s, 1, waiting(urgent))
			s.at(60)
			require.NotNil(s, urgent.slot)
			require.Equal(s, 0, in(routine...))
		})
	})
	t.Run("it waits for a probe that is out", func(t *testing.T) {
		given(t, 0, func(s *scene, _ []*caller) {
			resumed := s.ask(limiter.Resumed)
			s.at(3)
			require.NotNil(s, resumed.slot)
			urgent := s.ask(limiter.Emergency)
			require.Equal(s, 1, waiting(urgent))
			resumed.slot.ReportRateLimited(0)
			resumed.slot.Release()
			synctest.Wait()
			require.NotNil(s, urgent.slot, "it is the next probe, at once")
		})
	})
}

// A probe that is released before it tells of its refusal is on the timetable like
// any other: else each would pass its turn on at once, and all would call. One other
// may, who took the turn before it was told of.
func TestProbes_ReleasedBeforeTheReport(t *testing.T) {
	play(t, base(), func(s *scene) {
		s.l.ReportRateLimited(0)
		var calls journal[float64]
		for range 20 {
			go func() {
				for {
					slot, err := s.l.AcquireAs(s.ctx, limiter.Resumed)
					if err != nil {
						return
					}
					calls.add(s.now())
					time.Sleep(50 * time.Millisecond)
					slot.Release()
					slot.ReportRateLimited(0)
				}
			}()
		}
		s.at(44)
		var turns []float64
		for _, at := range calls.all() {
			if n := len(turns); n == 0 || at-turns[n-1] > 1 {
				turns = append(turns, at)
			}
		}
		require.Equal(s, []float64{3, 9.05, 21.1}, turns)
		require.LessOrEqual(s, len(calls.all()), 2*len(turns))
	})
}
