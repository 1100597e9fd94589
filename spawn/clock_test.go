package spawn_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdoff-go/holdoff/limiter"
	"github.com/holdoff-go/holdoff/retry"
	"github.com/holdoff-go/holdoff/spawn"
)

// A stepClock is a fake clock with one time, in the year 2000, that moves only
// when told. It stands for those that users bring.
type stepClock struct {
	mu    sync.Mutex
	now   time.Time
	after []fakeTimer
}

type fakeTimer struct {
	at time.Time
	c  chan time.Time
}

func newStepClock() *stepClock { return &stepClock{now: time.Unix(946684800, 0)} }

func (c *stepClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *stepClock) After(d time.Duration) <-chan time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	timer := fakeTimer{c.now.Add(d), make(chan time.Time, 1)}
	if d <= 0 {
		timer.c <- c.now
	} else {
		c.after = append(c.after, timer)
	}
	return timer.c
}

// step moves the clock on second by second, and lets all that happens happen.
func (c *stepClock) step(d time.Duration) {
	synctest.Wait()
	for ; d > 0; d -= time.Second {
		c.mu.Lock()
		c.now = c.now.Add(time.Second)
		kept := c.after[:0]
		for _, timer := range c.after {
			if timer.at.After(c.now) {
				kept = append(kept, timer)
			} else {
				timer.c <- c.now
			}
		}
		c.after = kept
		c.mu.Unlock()
		synctest.Wait()
	}
}

func TestFakeClock_LadderAndPause(t *testing.T) {
	clock := newStepClock()
	play(t, limiter.Config{Clock: clock}, spawn.Config{Clock: clock}, func(s *scene) {
		calls := []float64{}
		start := clock.Now()
		w := s.launch("w", func(context.Context, *spawn.Attempt) error {
			calls = append(calls, clock.Now().Sub(start).Seconds())
			return rateLimited(0)
		})
		clock.step(60 * time.Second)
		result, err := w.Wait()
		require.ErrorIs(t, err, retry.RateLimited)
		require.Equal(t, []float64{0, 3, 9, 21}, calls)
		require.Equal(t, 21*time.Second, result.Attempts[3].End.Sub(start))
		require.Zero(t, s.now(), "no real time has passed")
	})
}

func TestFakeClock_MaxElapsed(t *testing.T) {
	clock := newStepClock()
	config := spawn.Config{Clock: clock, Policy: retry.Policy{MaxElapsed: 100 * time.Second}}
	play(t, limiter.Config{Budget: 1, Clock: clock}, config, func(s *scene) {
		slot, err := s.limiter.TryAcquire()
		require.NoError(t, err)
		defer slot.Release()
		queued := s.launch("queued", napping(0))
		clock.step(99 * time.Second)
		require.Equal(t, spawn.Queued, queued.Status().State)
		time.Sleep(time.Hour) // real time is not what it counts
		synctest.Wait()
		require.Equal(t, spawn.Queued, queued.Status().State)
		clock.step(time.Second)
		_, err = queued.Wait()
		require.ErrorIs(t, err, retry.ErrElapsed)

		s.limiter.ReportRateLimited(300 * time.Second)
		result, err := s.launch("in vain", napping(0)).Wait()
		require.ErrorIs(t, err, retry.ErrElapsed)
		require.Equal(t, clock.Now().Add(300*time.Second), result.RetryAt)
	})
}
