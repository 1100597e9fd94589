package limiter_test

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdoff-go/holdoff/internal/clock"
	"github.com/holdoff-go/holdoff/limiter"
)

// twoTimes is a clock whose time of day can be set and goes on while the host
// sleeps, and whose monotonic time, which its waits measure, stands still then.
type twoTimes struct {
	mu    sync.Mutex
	wall  time.Time
	mono  time.Duration
	waits map[chan time.Time]time.Duration
}

var _ clock.Reader = (*twoTimes)(nil)

func newTwoTimes(wall time.Time) *twoTimes {
	return &twoTimes{wall: wall, waits: map[chan time.Time]time.Duration{}}
}

func (c *twoTimes) Now() time.Time { return c.Read().Wall }

func (c *twoTimes) Read() clock.Reading {
	c.mu.Lock()
	defer c.mu.Unlock()
	return clock.Reading{Wall: c.wall, Mono: c.mono}
}

func (c *twoTimes) After(d time.Duration) <-chan time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	ch := make(chan time.Time, 1)
	c.waits[ch] = c.mono + d
	return ch
}

// pass lets both times go on by d.
func (c *twoTimes) pass(d time.Duration) {
	c.mu.Lock()
	c.wall, c.mono = c.wall.Add(d), c.mono+d
	for ch, at := range c.waits {
		if at <= c.mono {
			ch <- c.wall
			delete(c.waits, ch)
		}
	}
	c.mu.Unlock()
	synctest.Wait()
}

// step sets the time of day by d; the monotonic time stands still. This is also
// what a host's sleep looks like.
func (c *twoTimes) step(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.wall = c.wall.Add(d)
}

func onTwoTimes(t *testing.T, wall time.Time, story func(s *scene, c *twoTimes)) {
	c := newTwoTimes(wall)
	cfg := base()
	cfg.Clock = c
	play(t, cfg, func(s *scene) { story(s, c) })
}

func TestI2_TimerStandsStillDuringSuspend(t *testing.T) {
	start := time.Date(2026, 3, 1, 13, 0, 0, 0, time.UTC)
	given := func(t *testing.T, story func(s *scene, c *twoTimes)) {
		onTwoTimes(t, start, func(s *scene, c *twoTimes) {
			s.l.ReportRateLimited(time.Hour) // until 14:00
			c.pass(5 * time.Minute)
			story(s, c)
		})
	}
	t.Run("the first Acquire is admitted", func(t *testing.T) {
		given(t, func(s *scene, c *twoTimes) {
			c.step(65 * time.Minute) // 14:10
			c.pass(time.Second)
			require.Zero(s, s.l.Status().BlockedUntil)
			require.NotNil(s, s.ask(limiter.Normal).slot)
		})
	})
	t.Run("whoever was asleep looks again at the next call", func(t *testing.T) {
		given(t, func(s *scene, c *twoTimes) {
			asleep := s.ask(limiter.Normal)
			c.step(65 * time.Minute)
			next := s.ask(limiter.Normal)
			require.NotNil(s, asleep.slot)
			require.Equal(s, 1, waiting(next), "the one that was asleep is first, and the probe")
		})
	})
	t.Run("a sleep that ends within the pause shortens the wait by as much", func(t *testing.T) {
		given(t, func(s *scene, c *twoTimes) {
			asleep := s.ask(limiter.Normal)
			c.step(30 * time.Minute) // 13:35
			s.refused()              // somebody calls, and the timer is set anew
			c.pass(25*time.Minute - time.Second)
			require.Equal(s, 1, waiting(asleep))
			c.pass(time.Second)
			require.NotNil(s, asleep.slot)
		})
	})
}

func TestI3_WallClockStepsBack(t *testing.T) {
	onTwoTimes(t, time.Date(2026, 3, 1, 13, 0, 0, 0, time.UTC), func(s *scene, c *twoTimes) {
		s.l.ReportRateLimited(0)
		waiter := s.ask(limiter.Normal)
		remaining := func() time.Duration { return s.l.Status().BlockedUntil.Sub(c.Now()) }
		c.pass(10 * time.Second)
		c.step(-time.Hour)
		for left := 50 * time.Second; left > 0; left -= time.Second {
			require.Equal(s, left, remaining())
			require.Equal(s, 1, waiting(waiter))
			c.pass(time.Second)
		}
		require.NotNil(s, waiter.slot)
		require.Zero(s, s.l.Status().BlockedUntil)
	})
}
