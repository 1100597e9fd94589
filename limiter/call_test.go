package limiter_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/time/rate"

	"github.com/holdoff-go/holdoff/limiter"
)

// waitFor has somebody call wait, and returns a caller without a slot.
func (s *scene) waitFor(wait func(context.Context) (*limiter.Call, error), deadline float64) *caller {
	ctx, cancel := context.WithCancel(s.ctx)
	if deadline > 0 {
		ctx, cancel = context.WithTimeout(s.ctx, seconds(deadline))
	}
	c := &caller{cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(c.done)
		defer cancel()
		_, c.err = wait(ctx)
		c.at = s.now()
	}()
	synctest.Wait()
	return c
}

// Wait gates calls of running work: by stated pauses, a hold and the pace.
func TestWait_WhatItWaitsFor(t *testing.T) {
	t.Run("not an assumed pause, nor the budget", func(t *testing.T) {
		cfg := base()
		cfg.Budget = 1
		play(t, cfg, func(s *scene) {
			s.take().ReportRateLimited(0)
			c := s.waitFor(s.l.Wait, 0)
			require.True(s, c.back())
			require.NoError(s, c.err)
			require.Equal(s, 1, s.l.Status().InFlight, "it holds no slot")
		})
	})
	t.Run("a stated pause", func(t *testing.T) {
		play(t, base(), func(s *scene) {
			s.l.ReportRateLimited(5 * time.Second)
			c := s.waitFor(s.l.Wait, 0)
			require.Equal(s, 1, s.l.Status().Waiting)
			s.at(4.9)
			require.Equal(s, 1, waiting(c))
			s.at(5)
			require.NoError(s, c.err)
			require.Equal(s, 5.0, c.at)
		})
	})
	t.Run("a hold", func(t *testing.T) {
		play(t, base(), func(s *scene) {
			s.l.Hold("deploy")
			c := s.waitFor(s.l.Wait, 0)
			s.at(100)
			require.Equal(s, 1, waiting(c))
			s.l.Resume("deployed")
			synctest.Wait()
			require.True(s, c.back())
		})
	})
	t.Run("a deadline before the end", func(t *testing.T) {
		play(t, base(), func(s *scene) {
			s.l.ReportRateLimited(5 * time.Second)
			c := s.waitFor(s.l.Wait, 4)
			require.True(s, c.back())
			require.ErrorIs(s, c.err, context.DeadlineExceeded)
			var blocked *limiter.BlockedError
			require.ErrorAs(s, c.err, &blocked)
			require.Equal(s, 5*time.Second, blocked.Wanted)
		})
	})
	t.Run("the window after a pause does not gate it", func(t *testing.T) {
		play(t, base(), func(s *scene) {
			s.l.ReportRateLimited(0)
			s.at(60)
			s.take()
			require.True(s, s.waitFor(s.l.Wait, 0).back())
			require.Equal(s, limiter.ReasonProbing, s.refused().Reason)
		})
	})
	t.Run("running work goes before new work", func(t *testing.T) {
		cfg := base()
		cfg.Pace = 1
		play(t, cfg, func(s *scene) {
			s.take()
			normal := s.ask(limiter.Normal)
			call := s.waitFor(s.l.Wait, 0)
			s.at(1)
			require.Equal(s, 0, waiting(call))
			require.Equal(s, 1, waiting(normal))
			s.at(2)
			require.NotNil(s, normal.slot)
		})
	})
}

// A probe that makes its calls through Slot.Wait is answered by them.
func TestSlotWait_AnswersForTheProbe(t *testing.T) {
	given := func(t *testing.T, story func(s *scene, call *limiter.Call, probe *limiter.Slot)) {
		play(t, base(), func(s *scene) {
			s.l.ReportRateLimited(0)
			s.at(60)
			probe := s.take()
			call, err := probe.Wait(s.ctx)
			require.NoError(s, err)
			story(s, call, probe)
		})
	}
	t.Run("a success", func(t *testing.T) {
		given(t, func(s *scene, call *limiter.Call, _ *limiter.Slot) {
			call.ReportSuccess()
			s.takeAll(2)
			require.Equal(s, limiter.ReasonProbing, s.refused().Reason)
		})
	})
	t.Run("a refusal is the probe's: twice as long, and no cut", func(t *testing.T) {
		given(t, func(s *scene, call *limiter.Call, _ *limiter.Slot) {
			call.ReportRateLimited(0)
			require.Equal(s, 180.0, s.blockedUntil())
			require.Equal(s, 8, s.l.Status().Budget)
		})
	})
	t.Run("an overload as well", func(t *testing.T) {
		given(t, func(s *scene, call *limiter.Call, _ *limiter.Slot) {
			call.ReportOverloaded(0)
			require.Equal(s, 80.0, s.blockedUntil())
			require.Equal(s, limiter.ReasonOverloaded, s.reason())
		})
	})
	t.Run("a call of a later generation speaks for itself", func(t *testing.T) {
		given(t, func(s *scene, call *limiter.Call, probe *limiter.Slot) {
			call.ReportRateLimited(0)
			later, err := probe.Wait(s.ctx)
			require.NoError(s, err)
			call.ReportSuccess()
			require.Equal(s, 180.0, s.blockedUntil(), "of before")
			later.ReportSuccess()
			require.Zero(s, s.blockedUntil())
		})
	})
}

// Pace is a steady rate of admissions and calls, kept by x/time/rate.
func TestPace(t *testing.T) {
	cfg := base()
	cfg.Pace = 2
	cfg.Burst = 3
	t.Run("a burst, then steady", func(t *testing.T) {
		play(t, cfg, func(s *scene) {
			s.takeAll(3)
			blocked := s.refused()
			require.Equal(s, limiter.ReasonPace, blocked.Reason)
			require.Equal(s, 0.5, blocked.Until.Sub(s.start).Seconds())
			require.Equal(s, limiter.ReasonPace, s.reason())
			callers := s.askAll(4, limiter.Normal)
			for i, c := range callers {
				s.at(0.5*float64(i+1) - 0.000001)
				require.Equal(s, 1, waiting(c))
				s.at(0.5 * float64(i+1))
				require.NotNil(s, c.slot)
			}
			s.at(100)
			s.take()
			require.Equal(s, limiter.ReasonBudget, s.refused().Reason, "8 of 8: not the pace's doing")
		})
	})
	t.Run("calls of running work count", func(t *testing.T) {
		play(t, cfg, func(s *scene) {
			slot := s.take()
			for i := range 10 {
				_, err := slot.Wait(s.ctx)
				require.NoError(s, err)
				require.Equal(s, max(0, float64(i-1)*0.5), s.now())
			}
		})
	})
	t.Run("a deadline before the next token", func(t *testing.T) {
		play(t, cfg, func(s *scene) {
			s.takeAll(3)
			c := s.askFor(limiter.Normal, 0.4)
			require.True(s, c.back())
			require.ErrorIs(s, c.err, context.DeadlineExceeded)
		})
	})
	t.Run("odd rates never wake in vain for ever", func(t *testing.T) {
		for _, pace := range []float64{0.3, 3, 7, 1e3 / 7, 1e9 / 3} {
			cfg := base()
			cfg.Budget = 1000
			cfg.Pace = rate.Limit(pace)
			play(t, cfg, func(s *scene) {
				for range 100 {
					_, err := s.l.Acquire(s.ctx)
					require.NoError(s, err)
				}
				require.InEpsilon(s, 99/pace, s.now(), 0.01)
			})
		}
	})
}
