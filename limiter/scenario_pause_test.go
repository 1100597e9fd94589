package limiter_test

import (
	"context"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdoff-go/holdoff/limiter"
)

// Group D: the stated time.

func TestD1_LongStatedTimeIsKept(t *testing.T) {
	play(t, base(), func(s *scene) {
		s.take().ReportRateLimited(9000 * time.Second)
		require.Equal(s, 9000.0, s.blockedUntil())
		hurried := s.askFor(limiter.Normal, 300)
		patient := s.ask(limiter.Normal)
		require.True(s, hurried.back())
		require.Zero(s, hurried.at, "at once")
		var blocked *limiter.BlockedError
		require.ErrorAs(s, hurried.err, &blocked)
		require.Equal(s, 9000.0, blocked.Until.Sub(s.start).Seconds())
		s.at(8999.9)
		require.Equal(s, 1, waiting(patient))
		s.at(9000)
		require.NotNil(s, patient.slot)
	})
}

func TestD6_ZeroOrPastTimeMakesNoHotLoop(t *testing.T) {
	play(t, base(), func(s *scene) {
		slots := s.takeAll(8)
		slots[0].ReportRateLimited(0)
		require.Equal(s, 60.0, s.blockedUntil())
		passed := 0
		for i := range 1000 {
			s.at(float64(i) * 0.002)
			stated := time.Duration(0)
			if i%2 == 1 {
				stated = time.Until(s.start.Add(-5 * time.Second))
			}
			slots[i%8].ReportRateLimited(stated)
			if _, err := s.l.TryAcquire(); err == nil {
				passed++
			}
			require.Equal(s, 60.0, s.blockedUntil())
		}
		require.Zero(s, passed)
		// The timetable is where it was: the first probe at 3, not later.
		for _, slot := range slots {
			slot.Release()
		}
		probe := s.ask(limiter.Resumed)
		s.at(3)
		require.NotNil(s, probe.slot)
	})
}

func TestD7_NegativeTime(t *testing.T) {
	play(t, base(), func(s *scene) {
		s.at(5)
		s.l.ReportRateLimited(-5 * time.Second)
		require.Equal(s, 65.0, s.blockedUntil())
		s.l.ReportRateLimited(math.MinInt64)
		require.Equal(s, 65.0, s.blockedUntil())
		st := s.l.Status()
		for _, n := range []int{st.Budget, st.InFlight, st.Waiting} {
			require.GreaterOrEqual(s, n, 0)
		}
	})
}

func TestD9_StatedTimeIsCapped(t *testing.T) {
	for name, cfg := range map[string]limiter.Config{
		"by the default": {},
		"by MaxPause":    {MaxPause: time.Hour},
		"by nothing":     {MaxPause: math.MaxInt64},
	} {
		t.Run(name, func(t *testing.T) {
			play(t, cfg, func(s *scene) {
				s.at(10)
				s.l.ReportRateLimited(math.MaxInt64)
				until := s.l.Status().BlockedUntil
				limit := cfg.MaxPause
				if limit == 0 {
					limit = 24 * time.Hour
				}
				if limit == math.MaxInt64 {
					require.Greater(s, until.Year(), 2200)
					s.at(1e9)
					require.Equal(s, limiter.ReasonRateLimited, s.reason())
					return
				}
				require.Equal(s, limit, time.Until(until))
			})
		})
	}
}

func TestD14_AssumedPauseIsCappedOnEveryBranch(t *testing.T) {
	t.Run("each refused by the probe after the pause", func(t *testing.T) {
		play(t, base(), func(s *scene) {
			s.l.ReportRateLimited(0)
			for range 22 {
				s.at(s.blockedUntil())
				probe := s.take()
				probe.ReportRateLimited(0)
				probe.Release()
				require.LessOrEqual(s, s.blockedUntil()-s.now(), 600.0)
			}
			require.Equal(s, 600.0, s.blockedUntil()-s.now())
		})
	})
	t.Run("each refused by the probe of the timetable", func(t *testing.T) {
		play(t, base(), func(s *scene) {
			s.l.ReportRateLimited(0)
			for range 22 {
				probe := s.ask(limiter.Resumed)
				for at := s.now() + 1; !probe.back(); at++ {
					s.at(at)
				}
				probe.slot.ReportRateLimited(0)
				probe.slot.Release()
				require.LessOrEqual(s, s.blockedUntil()-s.now(), 600.0)
			}
		})
	})
	t.Run("each overloaded", func(t *testing.T) {
		play(t, base(), func(s *scene) {
			var pauses []float64
			for range 8 {
				probe := s.take()
				probe.ReportOverloaded(0)
				probe.Release()
				pauses = append(pauses, s.blockedUntil()-s.now())
				s.at(s.blockedUntil())
			}
			require.Equal(s, []float64{10, 20, 40, 80, 160, 320, 600, 600}, pauses)
		})
	})
}

// Group E: integrity of the pause.

func TestE1_LaterReportOnlyLengthens(t *testing.T) {
	play(t, base(), func(s *scene) {
		slots := s.takeAll(3)
		for i, report := range []struct{ at, stated, until float64 }{{0, 1, 1}, {0.3, 90, 90.3}, {2, 10, 90.3}} {
			s.at(report.at)
			slots[i].ReportRateLimited(seconds(report.stated))
			require.InDelta(s, report.until, s.blockedUntil(), 1e-6)
		}
	})
}

func TestE3_UnrelatedSuccess(t *testing.T) {
	play(t, base(), func(s *scene) {
		s.l.ReportRateLimited(60 * time.Second)
		for i := range 10 {
			s.at(5 + float64(i))
			s.l.ReportSuccess()
			require.Equal(s, 60.0, s.blockedUntil())
		}
		s.at(59.9)
		s.refused()
	})
	play(t, base(), func(s *scene) {
		s.l.ReportRateLimited(0)
		s.at(5)
		s.l.ReportSuccess()
		require.Zero(s, s.blockedUntil())
	})
}

func TestE4_SuccessOfAnOldCall(t *testing.T) {
	given := func(t *testing.T, story func(s *scene, a *limiter.Slot)) {
		play(t, base(), func(s *scene) {
			a := s.take()
			b := s.take()
			s.at(1)
			b.ReportRateLimited(0)
			require.Equal(s, 61.0, s.blockedUntil())
			story(s, a)
		})
	}
	t.Run("clears nothing", func(t *testing.T) {
		given(t, func(s *scene, a *limiter.Slot) {
			budget := s.l.Status().Budget
			s.at(5)
			a.ReportSuccess()
			require.Equal(s, 61.0, s.blockedUntil())
			require.Equal(s, budget, s.l.Status().Budget)
		})
	})
	t.Run("a later call of the same work counts", func(t *testing.T) {
		given(t, func(s *scene, a *limiter.Slot) {
			s.at(2)
			call, err := a.Wait(s.ctx)
			require.NoError(s, err)
			s.at(5)
			call.ReportSuccess()
			require.Zero(s, s.blockedUntil())
		})
	})
	t.Run("so does a probe's", func(t *testing.T) {
		given(t, func(s *scene, _ *limiter.Slot) {
			require.NoError(s, s.l.SetBudget(8))
			probe := s.ask(limiter.Resumed)
			s.at(4)
			require.NotNil(s, probe.slot)
			probe.slot.ReportSuccess()
			require.Zero(s, s.blockedUntil())
		})
	})
}

func TestE6_OneSharedEnd(t *testing.T) {
	cfg := base()
	cfg.Budget = 16
	play(t, cfg, func(s *scene) {
		// Given 10 tasks refused at 0..2 with the same reset at 2000.
		slots := s.takeAll(10)
		var tasks []*caller
		for i, slot := range slots {
			s.at(float64(i) * 0.2)
			slot.ReportRateLimited(seconds(2000 - s.now()))
			slot.Release()
			tasks = append(tasks, s.ask(limiter.Resumed))
			require.InDelta(s, 2000, s.blockedUntil(), 1e-6)
		}
		s.at(1999.9)
		require.Equal(s, 10, waiting(tasks...))
		s.at(2001) // all are let in as fast as the window opens, with no second sleep
		for _, task := range tasks {
			require.NotNil(s, task.slot)
			require.InDelta(s, 2001, task.at, 1)
			task.slot.ReportSuccess()
			task.slot.Release()
			s.at(s.now() + 0.001)
		}
	})
}

func TestE7_AutomaticPauseEnds_HoldStays(t *testing.T) {
	play(t, base(), func(s *scene) {
		old := s.takeAll(2)
		s.l.ReportRateLimited(0)
		s.at(1)
		s.l.Hold("deploy")
		s.at(60) // without any call
		st := s.l.Status()
		require.Zero(s, st.BlockedUntil)
		require.Equal(s, limiter.ReasonHold, st.Reason)
		require.Equal(s, "deploy", st.Hold)
		require.Equal(s, 1.0, st.Since.Sub(s.start).Seconds())
		s.at(90000)
		require.Equal(s, limiter.ReasonHold, s.refused().Reason)

		s.l.Resume("deployed")
		old[0].ReportRateLimited(0)
		old[1].ReportRateLimited(time.Hour)
		require.Equal(s, limiter.ReasonNone, s.reason(), "late reports of calls from before undo nothing")
		s.takeAll(2)
	})
}

func TestE8_EscalationIsForgottenInQuiet(t *testing.T) {
	play(t, base(), func(s *scene) {
		for range 5 {
			probe := s.take()
			probe.ReportRateLimited(0)
			probe.Release()
			s.at(s.blockedUntil())
		}
		s.at(s.now() + 20*60)
		s.take().ReportRateLimited(0)
		require.Equal(s, 60.0, s.blockedUntil()-s.now())
	})
}

func TestE9_EscalationHasACeiling(t *testing.T) {
	play(t, base(), func(s *scene) {
		var pauses []float64
		for range 8 {
			probe := s.take()
			probe.ReportRateLimited(0)
			probe.Release()
			pauses = append(pauses, s.blockedUntil()-s.now())
			s.at(s.blockedUntil())
		}
		require.Equal(s, []float64{60, 120, 240, 480, 600, 600, 600, 600}, pauses)
	})
}

// Only an assumed pause that ended by time doubles the next.
func TestE9_StatedPausesDoNotEscalate(t *testing.T) {
	play(t, base(), func(s *scene) {
		refuse := func(stated, pause float64) {
			probe := s.take()
			probe.ReportRateLimited(seconds(stated))
			probe.Release()
			require.Equal(s, pause, s.blockedUntil()-s.now())
			s.at(s.blockedUntil())
		}
		for range 5 {
			refuse(70, 70)
		}
		refuse(0, 60)
		refuse(70, 70)
		refuse(0, 120)
	})
}

// What reports of one burst and of several origins do to an open pause.
func TestPause_WhoLengthens(t *testing.T) {
	given := func(t *testing.T, story func(s *scene, refused, burst *limiter.Slot)) {
		play(t, base(), func(s *scene) {
			slots := s.takeAll(2)
			slots[0].ReportRateLimited(0)
			s.at(10)
			story(s, slots[0], slots[1])
		})
	}
	t.Run("not the same burst", func(t *testing.T) {
		given(t, func(s *scene, _, burst *limiter.Slot) {
			burst.ReportRateLimited(0)
			require.Equal(s, 60.0, s.blockedUntil())
		})
	})
	t.Run("the same burst, when it names a time", func(t *testing.T) {
		given(t, func(s *scene, _, burst *limiter.Slot) {
			burst.ReportRateLimited(100 * time.Second)
			require.Equal(s, 110.0, s.blockedUntil())
		})
	})
	t.Run("one of unknown origin", func(t *testing.T) {
		given(t, func(s *scene, _, _ *limiter.Slot) {
			s.l.ReportRateLimited(0)
			require.Equal(s, 70.0, s.blockedUntil())
		})
	})
	t.Run("a later call of running work, which cuts nothing and moves no timetable", func(t *testing.T) {
		given(t, func(s *scene, refused, burst *limiter.Slot) {
			budget := s.l.Status().Budget
			call, err := burst.Wait(s.ctx)
			require.NoError(s, err)
			call.ReportRateLimited(0)
			require.Equal(s, 70.0, s.blockedUntil())
			require.Equal(s, budget, s.l.Status().Budget)
			burst.Release()
			refused.Release()
			require.NotNil(s, s.ask(limiter.Resumed).slot, "the probe was due at 3")
		})
	})
	t.Run("an overload by max, with the reason of the longer one", func(t *testing.T) {
		play(t, base(), func(s *scene) {
			s.l.ReportOverloaded(0)
			require.Equal(s, 10.0, s.blockedUntil())
			require.Equal(s, limiter.ReasonOverloaded, s.reason())
			s.l.ReportRateLimited(0)
			require.Equal(s, 60.0, s.blockedUntil())
			require.Equal(s, limiter.ReasonRateLimited, s.reason())
			s.l.ReportOverloaded(0)
			require.Equal(s, 60.0, s.blockedUntil())
			require.Equal(s, limiter.ReasonRateLimited, s.reason())
		})
	})
	t.Run("a stale refusal after the pause, only when it names a time", func(t *testing.T) {
		given(t, func(s *scene, _, burst *limiter.Slot) {
			budget := s.l.Status().Budget
			s.at(60)
			burst.ReportRateLimited(0)
			require.Zero(s, s.blockedUntil())
			burst.ReportRateLimited(5 * time.Second)
			require.Equal(s, 65.0, s.blockedUntil())
			require.Equal(s, budget, s.l.Status().Budget)
		})
	})
}

// Pause negative assumes none: only the budget learns.
func TestPause_NoneIsAssumed(t *testing.T) {
	cfg := base()
	cfg.Pause = -1
	play(t, cfg, func(s *scene) {
		slots := s.takeAll(8)
		for _, slot := range slots {
			slot.ReportRateLimited(0)
			slot.ReportOverloaded(0)
		}
		st := s.l.Status()
		require.Zero(s, st.BlockedUntil)
		require.Equal(s, 4, st.Budget, "one cut a burst")
		slots[0].ReportRateLimited(5 * time.Second)
		require.Equal(s, 5.0, s.blockedUntil(), "stated pauses are kept")
	})
}

// Group I, the limiter's own part of I4: the context's deadline is real time.
func TestI4_TwoClocksCompared(t *testing.T) {
	clock := newTwoTimes(time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC))
	l, err := limiter.New(limiter.Config{Clock: clock})
	require.NoError(t, err)
	l.ReportRateLimited(60 * time.Second)
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	_, err = l.Acquire(ctx)
	var blocked *limiter.BlockedError
	require.ErrorAs(t, err, &blocked)
	require.Equal(t, 60*time.Second, blocked.Wanted)
	require.InDelta(t, 5*time.Second, blocked.Allowed, float64(time.Second))
	require.Equal(t, 2000, blocked.Until.Year())
}
