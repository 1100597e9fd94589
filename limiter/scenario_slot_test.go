package limiter_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdoff-go/holdoff/limiter"
)

// Group G of the scenarios: slots and waiters.

func TestG5_AbandonedWaiterIsNotHandedTheSlot(t *testing.T) {
	cfg := base()
	cfg.Budget = 1
	play(t, cfg, func(s *scene) {
		holder := s.take()
		w, x := s.ask(limiter.Normal), s.ask(limiter.Normal)
		s.at(1)
		w.cancel()
		s.at(2)
		require.ErrorIs(s, w.err, context.Canceled)
		holder.Release()
		synctest.Wait()
		require.NotNil(s, x.slot)
		require.Equal(s, 2.0, x.at)
		require.Equal(s, 1, s.l.Status().InFlight)
	})
}

// G6 with the pause as a third racer: whatever meets, no slot is lost and none
// invented.
func TestG6_GrantAndCancelAtTheSameInstant(t *testing.T) {
	const rounds = 10_000
	l, err := limiter.New(base())
	require.NoError(t, err)
	for round := range rounds {
		holders := make([]*limiter.Slot, 8)
		for i := range holders {
			holders[i], err = l.TryAcquire()
			require.NoError(t, err)
		}
		ctx, cancel := context.WithCancel(context.Background())
		var racers sync.WaitGroup
		for i := range 3 {
			racers.Go(func() {
				slot, err := l.AcquireAs(ctx, limiter.Priority(i))
				if err != nil {
					require.ErrorIs(t, err, context.Canceled)
				}
				slot.Release()
			})
		}
		racers.Go(cancel)
		racers.Go(func() {
			for _, slot := range holders {
				slot.Release()
			}
		})
		if round%2 == 1 {
			racers.Go(func() { holders[0].ReportRateLimited(time.Hour) })
		}
		racers.Wait()
		l.Resume("next round")
		require.NoError(t, l.SetBudget(8))
		st := l.Status()
		require.Zero(t, st.InFlight, "round %d", round)
		require.Zero(t, st.Waiting)
	}
	for range 8 {
		_, err := l.TryAcquire()
		require.NoError(t, err)
	}
	_, err = l.TryAcquire()
	require.Error(t, err)
}

func TestG7_OneChangeWakesAllItLetsIn(t *testing.T) {
	cfg := base()
	cfg.Budget = 2
	t.Run("both holders release", func(t *testing.T) {
		play(t, cfg, func(s *scene) {
			holders := s.takeAll(2)
			waiters := s.askAll(2, limiter.Normal)
			holders[0].Release()
			holders[1].Release()
			synctest.Wait()
			require.Equal(s, 2, in(waiters...))
		})
	})
	t.Run("Resume lifts a pause", func(t *testing.T) {
		play(t, cfg, func(s *scene) {
			s.l.ReportRateLimited(0)
			waiters := s.askAll(2, limiter.Normal)
			s.l.Resume("fixed")
			synctest.Wait()
			require.Equal(s, 2, in(waiters...))
		})
	})
	t.Run("a success clears a pause", func(t *testing.T) {
		play(t, cfg, func(s *scene) {
			s.l.ReportRateLimited(0)
			waiters := s.askAll(2, limiter.Normal)
			s.l.ReportSuccess()
			synctest.Wait()
			require.Equal(s, 2, in(waiters...))
		})
	})
}

func TestG9_NobodyBarges(t *testing.T) {
	cfg := base()
	cfg.Budget = 1
	play(t, cfg, func(s *scene) {
		ctx, stop := context.WithCancel(s.ctx)
		go func() {
			for ctx.Err() == nil {
				slot, err := s.l.Acquire(ctx)
				if err != nil {
					return
				}
				time.Sleep(seconds(0.05))
				slot.Release()
			}
		}()
		synctest.Wait()
		waiter := s.ask(limiter.Normal)
		s.at(0.1)
		require.NotNil(s, waiter.slot)
		stop()
		synctest.Wait()
	})
}

func TestG16_FailedAcquireFollowedByUse(t *testing.T) {
	play(t, base(), func(s *scene) {
		ctx, cancel := context.WithCancel(s.ctx)
		cancel()
		slot, err := s.l.Acquire(ctx)
		require.ErrorIs(s, err, context.Canceled)
		require.Nil(s, slot)
		useSlot(slot)
		call, err := s.l.Wait(ctx)
		require.ErrorIs(s, err, context.Canceled)
		require.Nil(s, call)
		useCall(call)
		call, err = slot.Wait(ctx)
		require.ErrorIs(s, err, context.Canceled)
		require.Nil(s, call)
		call, err = slot.Wait(s.ctx)
		require.NoError(s, err)
		useCall(call)
		st := s.l.Status()
		require.Zero(s, st.InFlight)
		require.Zero(s, st.BlockedUntil)
	})
}

func useSlot(slot *limiter.Slot) {
	slot.ReportRateLimited(0)
	slot.ReportOverloaded(0)
	slot.ReportSuccess()
	slot.Release()
	slot.Release()
}

func useCall(call *limiter.Call) {
	call.ReportRateLimited(0)
	call.ReportOverloaded(0)
	call.ReportSuccess()
}

func TestG1_DoubleReleaseIsNoSecondSlot(t *testing.T) {
	cfg := base()
	cfg.Budget = 2
	play(t, cfg, func(s *scene) {
		for range 1000 {
			slot := s.take()
			func() {
				defer func() { _ = recover() }()
				defer slot.Release()
				defer slot.Release()
				panic("task")
			}()
		}
		require.Zero(s, s.l.Status().InFlight)
		s.takeAll(2)
		s.refused()
	})
}

// A report after Release still counts as evidence.
func TestSlot_ReportAfterRelease(t *testing.T) {
	t.Run("a refusal", func(t *testing.T) {
		play(t, base(), func(s *scene) {
			slots := s.takeAll(5)
			slots[0].Release()
			slots[0].ReportRateLimited(0)
			require.Equal(s, 60.0, s.blockedUntil())
			require.Equal(s, 2, s.l.Status().Budget, "half of the 4 in flight")
			slots[1].ReportRateLimited(0)
			require.Equal(s, 60.0, s.blockedUntil(), "of the same burst")
		})
	})
	t.Run("a probe's success", func(t *testing.T) {
		play(t, base(), func(s *scene) {
			s.l.ReportRateLimited(0)
			s.at(60)
			probe := s.take()
			probe.Release()
			probe.ReportSuccess()
			require.False(s, s.l.Status().Storm)
			s.takeAll(2)
			require.Equal(s, limiter.ReasonProbing, s.refused().Reason)
		})
	})
	t.Run("a probe's refusal", func(t *testing.T) {
		play(t, base(), func(s *scene) {
			s.l.ReportRateLimited(0)
			s.at(60)
			probe := s.take()
			probe.Release()
			probe.ReportRateLimited(0)
			require.Equal(s, 180.0, s.blockedUntil())
		})
	})
}

// The window after a pause: a fresh success takes its slot out of the count and
// adds one, 30 s of silence add one, and it is over at the budget.
func TestWindow(t *testing.T) {
	given := func(t *testing.T, story func(s *scene)) {
		play(t, base(), func(s *scene) {
			s.l.ReportRateLimited(0)
			s.at(60)
			story(s)
		})
	}
	t.Run("opens by successes", func(t *testing.T) {
		given(t, func(s *scene) {
			for _, window := range []int{1, 2, 4} {
				slots := s.takeAll(window)
				require.Equal(s, limiter.ReasonProbing, s.refused().Reason)
				for _, slot := range slots {
					slot.ReportSuccess()
					slot.Release()
				}
			}
			s.takeAll(8)
			require.Equal(s, limiter.ReasonBudget, s.refused().Reason, "it is over")
		})
	})
	t.Run("a second success of one slot frees no second place", func(t *testing.T) {
		given(t, func(s *scene) {
			probe := s.take()
			probe.ReportSuccess()
			slots := s.takeAll(2)
			probe.ReportSuccess() // a later call of the same worker: one more place
			s.take()
			require.Equal(s, limiter.ReasonProbing, s.refused().Reason)
			slots[0].Release()
			slots[0].ReportSuccess()
			s.takeAll(2)
			require.Equal(s, limiter.ReasonProbing, s.refused().Reason)
		})
	})
	t.Run("opens by silence, one each 30 s", func(t *testing.T) {
		given(t, func(s *scene) {
			for i := range 7 {
				s.take()
				require.Equal(s, limiter.ReasonProbing, s.refused().Reason)
				s.at(60 + 30*float64(i+1) - 0.001)
				require.Equal(s, limiter.ReasonProbing, s.refused().Reason)
				s.at(60 + 30*float64(i+1))
			}
			s.take()
			require.Equal(s, limiter.ReasonBudget, s.refused().Reason, "it is over")
			require.True(s, s.l.Status().Storm, "silence is no success")
		})
	})
	t.Run("a slot without an answer passes its turn on", func(t *testing.T) {
		given(t, func(s *scene) {
			for range 10 {
				probe := s.take()
				require.Equal(s, limiter.ReasonProbing, s.refused().Reason)
				probe.Release()
			}
		})
	})
	t.Run("a refusal in it opens the next pause", func(t *testing.T) {
		given(t, func(s *scene) {
			s.take().ReportSuccess()
			slots := s.takeAll(2)
			slots[0].ReportSuccess()
			slots[1].ReportRateLimited(0)
			require.Equal(s, 120.0, s.blockedUntil(), "not doubled: there was a success since")
			require.NoError(s, s.l.SetBudget(8))
			s.at(120)
			s.take()
			require.Equal(s, limiter.ReasonProbing, s.refused().Reason)
		})
	})
	t.Run("Resume opens wholly", func(t *testing.T) {
		given(t, func(s *scene) {
			s.take()
			s.l.Resume("seen")
			s.takeAll(7)
		})
	})
	t.Run("a success of unknown origin opens wholly", func(t *testing.T) {
		given(t, func(s *scene) {
			s.take()
			s.l.ReportSuccess()
			s.takeAll(7)
		})
	})
	t.Run("a budget of one has its probe too", func(t *testing.T) {
		given(t, func(s *scene) {
			require.NoError(s, s.l.SetBudget(1))
			probe := s.take()
			probe.ReportRateLimited(0)
			probe.Release()
			require.Equal(s, 180.0, s.blockedUntil())
			s.at(180)
			probe = s.take()
			probe.ReportSuccess()
			probe.Release()
			s.take()
		})
	})
}

// Waiters are let in by priority, and in order of arrival within one.
func TestOrder(t *testing.T) {
	cfg := base()
	cfg.Budget = 1
	play(t, cfg, func(s *scene) {
		holder := s.take()
		var order journal[int]
		for i, p := range []limiter.Priority{
			limiter.Normal, limiter.Resumed, limiter.Normal, limiter.Emergency, limiter.Resumed, limiter.Emergency,
		} {
			go func() {
				slot, err := s.l.AcquireAs(s.ctx, p)
				require.NoError(s, err)
				order.add(i)
				slot.Release()
			}()
			synctest.Wait()
		}
		holder.Release()
		synctest.Wait()
		require.Equal(s, []int{3, 5, 1, 4, 0, 2}, order.all())
	})
}

func TestAcquireAs_UnknownPriority(t *testing.T) {
	play(t, base(), func(s *scene) {
		for _, p := range []limiter.Priority{-1, 3, 4, 100} {
			slot, err := s.l.AcquireAs(s.ctx, p)
			require.Nil(s, slot)
			require.ErrorContains(s, err, "priority is")
		}
	})
	require.Equal(t, "normal resumed emergency Priority(9)",
		limiter.Normal.String()+" "+limiter.Resumed.String()+" "+limiter.Emergency.String()+" "+limiter.Priority(9).String())
}

// Group H, the limiter's part: deadlines.

func TestH1_DeadlineShorterThanTheWait(t *testing.T) {
	for name, stated := range map[string]time.Duration{"assumed": 0, "stated": time.Minute} {
		t.Run(name, func(t *testing.T) {
			play(t, base(), func(s *scene) {
				s.l.ReportRateLimited(stated)
				c := s.askFor(limiter.Normal, 5)
				require.True(s, c.back())
				require.Zero(s, c.at, "at once")
				var blocked *limiter.BlockedError
				require.ErrorAs(s, c.err, &blocked)
				require.ErrorIs(s, c.err, context.DeadlineExceeded)
				require.Equal(s, 60.0, blocked.Until.Sub(s.start).Seconds())
				require.Equal(s, limiter.ReasonRateLimited, blocked.Reason)
				require.Equal(s, "upstream", blocked.Name)
				require.True(s, blocked.Timeout())
				require.Zero(s, s.l.Status().Waiting)
			})
		})
	}
	t.Run("a probe that comes in time is waited for", func(t *testing.T) {
		play(t, base(), func(s *scene) {
			s.l.ReportRateLimited(0)
			c := s.askFor(limiter.Resumed, 5)
			s.at(3)
			require.NotNil(s, c.slot)
		})
	})
	t.Run("a pause that opens later evicts nobody", func(t *testing.T) {
		cfg := base()
		cfg.Budget = 1
		play(t, cfg, func(s *scene) {
			holder := s.take()
			c := s.askFor(limiter.Normal, 5)
			s.at(1)
			holder.ReportRateLimited(time.Hour)
			s.at(4.9)
			require.Equal(s, 1, waiting(c))
			s.at(5)
			var blocked *limiter.BlockedError
			require.ErrorAs(s, c.err, &blocked)
			require.Equal(s, 3601.0, blocked.Until.Sub(s.start).Seconds())
			require.Zero(s, blocked.Wanted)
		})
	})
}

func TestH3_WantedAndAllowed(t *testing.T) {
	play(t, base(), func(s *scene) {
		s.l.ReportRateLimited(60 * time.Second)
		c := s.askFor(limiter.Normal, 0.025)
		require.True(s, c.back())
		require.Zero(s, c.at)
		var blocked *limiter.BlockedError
		require.ErrorAs(s, c.err, &blocked)
		require.Equal(s, 60*time.Second, blocked.Wanted)
		require.Equal(s, 25*time.Millisecond, blocked.Allowed)
		require.EqualError(s, c.err,
			"limiter upstream is blocked (rate_limited) until 2000-01-01T00:01:00Z; the wait of 1m0s is longer than the 25ms left until the deadline")
	})
}

func TestAcquire_HowTheContextEndsIt(t *testing.T) {
	stop := errors.New("stop")
	given := func(t *testing.T, end func(s *scene) (context.Context, context.CancelFunc), then func(s *scene, err error)) {
		play(t, base(), func(s *scene) {
			s.l.Hold("deploy")
			ctx, cancel := end(s)
			defer cancel()
			_, err := s.l.Acquire(ctx)
			require.Equal(s, 5.0, s.now())
			then(s, err)
			_, err = s.l.Acquire(ctx)
			require.ErrorIs(s, err, context.Cause(ctx), "it has ended already")
			require.Zero(s, s.l.Status().Waiting)
		})
	}
	t.Run("canceled with a cause", func(t *testing.T) {
		given(t, func(s *scene) (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancelCause(s.ctx)
			time.AfterFunc(5*time.Second, func() { cancel(stop) })
			return ctx, func() { cancel(nil) }
		}, func(s *scene, err error) { require.Equal(s, stop, err) })
	})
	t.Run("its deadline", func(t *testing.T) {
		given(t, func(s *scene) (context.Context, context.CancelFunc) {
			return context.WithTimeout(s.ctx, 5*time.Second)
		}, func(s *scene, err error) {
			require.ErrorIs(s, err, context.DeadlineExceeded)
			require.EqualError(s, err, "limiter upstream is blocked (hold); the deadline ended the wait")
		})
	})
	t.Run("its deadline with a cause", func(t *testing.T) {
		given(t, func(s *scene) (context.Context, context.CancelFunc) {
			return context.WithTimeoutCause(s.ctx, 5*time.Second, stop)
		}, func(s *scene, err error) {
			var blocked *limiter.BlockedError
			require.ErrorAs(s, err, &blocked)
			require.Equal(s, limiter.ReasonHold, blocked.Reason)
			require.ErrorIs(s, err, context.DeadlineExceeded)
			require.ErrorIs(s, err, stop)
		})
	})
}
