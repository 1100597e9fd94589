package compat

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/jonboulle/clockwork"
	"github.com/stretchr/testify/require"
	k8sclock "k8s.io/utils/clock/testing"

	"github.com/holdoff-go/holdoff/limiter"
)

// A fake is somebody's fake clock, as it is, and how it is moved.
type fake struct {
	clock   limiter.Clock
	advance func(time.Duration)
}

var fakes = map[string]func() fake{
	"clockwork": func() fake {
		c := clockwork.NewFakeClock()
		return fake{c, c.Advance}
	},
	"benbjohnson": func() fake {
		c := clock.NewMock()
		return fake{c, c.Add}
	},
	"k8s": func() fake {
		c := k8sclock.NewFakeClock(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))
		return fake{c, c.Step}
	},
}

// A stage is a limiter on somebody's fake clock. The bubble's own time stands
// still; it only tells when all goroutines have come to rest.
type stage struct {
	*testing.T
	fake
	l     *limiter.Limiter
	start time.Time
	ctx   context.Context
}

func (s *stage) pass(d time.Duration) {
	s.advance(d)
	synctest.Wait()
}

func (s *stage) take() *limiter.Slot {
	s.Helper()
	slot, err := s.l.TryAcquire()
	require.NoError(s, err)
	return slot
}

func (s *stage) refused() limiter.Reason {
	s.Helper()
	_, err := s.l.TryAcquire()
	var blocked *limiter.BlockedError
	require.ErrorAs(s, err, &blocked)
	return blocked.Reason
}

func (s *stage) blockedUntil() time.Duration {
	if until := s.l.Status().BlockedUntil; !until.IsZero() {
		return until.Sub(s.start)
	}
	return 0
}

// ask has somebody ask for a slot; it comes through the channel.
func (s *stage) ask(p limiter.Priority) <-chan *limiter.Slot {
	got := make(chan *limiter.Slot, 1)
	go func() {
		if slot, err := s.l.AcquireAs(s.ctx, p); err == nil {
			got <- slot
		}
	}()
	synctest.Wait()
	return got
}

// TestLimiter_OnFakeClocks runs the limiter's main stories on each fake clock,
// with no adapter.
func TestLimiter_OnFakeClocks(t *testing.T) {
	stories := map[string]struct {
		cfg limiter.Config
		act func(s *stage)
	}{
		"a pause ends at its boundary": {limiter.Config{}, func(s *stage) {
			s.l.ReportRateLimited(0)
			require.Equal(s, time.Minute, s.blockedUntil())
			require.Equal(s, limiter.ReasonRateLimited, s.refused())
			s.pass(time.Minute - 1)
			require.Equal(s, limiter.ReasonRateLimited, s.refused())
			s.pass(1)
			require.Zero(s, s.blockedUntil())
			s.take()
			require.Equal(s, limiter.ReasonProbing, s.refused())
		}},
		"a waiter wakes at the end of a stated pause": {limiter.Config{}, func(s *stage) {
			s.l.ReportRateLimited(90 * time.Second)
			waiter := s.ask(limiter.Normal)
			s.pass(89 * time.Second)
			require.Empty(s, waiter)
			s.pass(time.Second)
			require.Len(s, waiter, 1)
		}},
		"a pause that is lengthened while somebody waits": {limiter.Config{}, func(s *stage) {
			s.l.ReportRateLimited(10 * time.Second)
			waiter := s.ask(limiter.Normal)
			s.pass(5 * time.Second)
			s.l.ReportRateLimited(10 * time.Second)
			s.pass(5 * time.Second)
			require.Empty(s, waiter)
			s.pass(5 * time.Second)
			require.Len(s, waiter, 1)
		}},
		"probes on their timetable": {limiter.Config{}, func(s *stage) {
			s.take().ReportRateLimited(0)
			require.NoError(s, s.l.SetBudget(16))
			for _, gap := range []time.Duration{3, 6, 12, 24, 48, 60} {
				probe := s.ask(limiter.Resumed)
				s.pass(gap*time.Second - 1)
				require.Empty(s, probe)
				s.pass(1)
				require.Len(s, probe, 1)
				slot := <-probe
				slot.ReportRateLimited(0)
				slot.Release()
			}
		}},
		"silence gives the turn to the next": {limiter.Config{}, func(s *stage) {
			s.l.ReportRateLimited(0)
			s.pass(time.Minute)
			s.take()
			next := s.ask(limiter.Normal)
			s.pass(29 * time.Second)
			require.Empty(s, next)
			s.pass(time.Second)
			require.Len(s, next, 1)
		}},
		"quiet time restores the budget": {limiter.Tower(), func(s *stage) {
			for range 4 {
				s.take()
			}
			s.l.ReportRateLimited(0)
			for budget := 3; budget <= 16; budget++ {
				require.Equal(s, budget, s.l.Status().Budget)
				s.pass(3 * time.Minute)
			}
			require.Equal(s, 16, s.l.Status().Budget)
		}},
		"a waiter wakes when quiet time restores the budget": {limiter.Config{Budget: 2}, func(s *stage) {
			s.take()
			refused := s.take()
			refused.ReportRateLimited(0)
			refused.Release()
			waiter := s.ask(limiter.Normal)
			s.pass(time.Minute)
			require.Empty(s, waiter, "budget 1, one in flight")
			s.pass(2*time.Minute - 1)
			require.Empty(s, waiter)
			s.pass(1)
			require.Len(s, waiter, 1)
		}},
		"a steady pace": {limiter.Config{Pace: 2}, func(s *stage) {
			s.take()
			var waiters []<-chan *limiter.Slot
			for range 4 {
				waiters = append(waiters, s.ask(limiter.Normal))
			}
			for _, waiter := range waiters {
				require.Empty(s, waiter)
				s.pass(500 * time.Millisecond)
				require.Len(s, waiter, 1)
			}
		}},
		"I4 a deadline is real time": {limiter.Config{}, func(s *stage) {
			s.l.ReportRateLimited(0)
			ctx, cancel := context.WithTimeout(s.ctx, 5*time.Second)
			defer cancel()
			_, err := s.l.Acquire(ctx)
			var blocked *limiter.BlockedError
			require.ErrorAs(s, err, &blocked)
			require.Equal(s, time.Minute, blocked.Wanted)
			require.Equal(s, 5*time.Second, blocked.Allowed)
		}},
		"a storm is forgotten in quiet": {limiter.Config{}, func(s *stage) {
			s.l.ReportRateLimited(0)
			s.pass(11*time.Minute - 1)
			require.True(s, s.l.Status().Storm)
			s.pass(1)
			require.False(s, s.l.Status().Storm)
		}},
	}
	for name, newFake := range fakes {
		for story, c := range stories {
			t.Run(name+"/"+story, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					ctx, cancel := context.WithCancel(t.Context())
					defer cancel()
					s := &stage{T: t, fake: newFake(), ctx: ctx}
					cfg := c.cfg
					cfg.Clock = s.clock
					var err error
					s.l, err = limiter.New(cfg)
					require.NoError(t, err)
					s.start = s.clock.Now()
					c.act(s)
				})
			})
		}
	}
}

// Waiters share one wait on the clock, and those who come later use it too: a
// fake keeps what nobody waits for any more.
func TestLimiter_OneWaitOnAFakeClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := k8sclock.NewFakeClock(time.Now())
		l, err := limiter.New(limiter.Config{Clock: c})
		require.NoError(t, err)
		l.ReportRateLimited(0)
		for range 10 {
			ctx, cancel := context.WithCancel(t.Context())
			for range 100 {
				go func() { _, _ = l.Acquire(ctx) }()
			}
			synctest.Wait()
			require.Equal(t, 1, c.Waiters())
			cancel()
			synctest.Wait()
		}
	})
}
