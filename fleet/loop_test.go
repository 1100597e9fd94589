package fleet_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdoff-go/holdoff/fleet"
)

// bubble runs a test in time that passes by itself, from midnight on.
func bubble(t *testing.T, test func(t *testing.T, l *looped)) {
	synctest.Test(t, func(t *testing.T) {
		g, err := fleet.New(fleet.Config{
			Caps:   fleet.Caps{HourlyBudget: 10 * fleet.Dollar, Instances: 20},
			Window: fleet.Window{Launches: 3, Per: 15 * time.Minute},
		})
		require.NoError(t, err)
		test(t, &looped{t: t, guard: g, midnight: time.Now()})
	})
}

// looped notes when its step ran.
type looped struct {
	t        *testing.T
	guard    *fleet.Guard
	loop     *fleet.Loop
	midnight time.Time

	mu    sync.Mutex
	calls []string
}

func (l *looped) sleepUntil(clock string) {
	l.t.Helper()
	d := at(clock).Sub(at("00:00:00")) - time.Since(l.midnight)
	require.GreaterOrEqual(l.t, d, time.Duration(0))
	time.Sleep(d)
}

func (l *looped) now() string {
	return at("00:00:00").Add(time.Since(l.midnight)).Format("15:04:05.999")
}

func (l *looped) ran() []string {
	synctest.Wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	calls := l.calls
	l.calls = nil
	return calls
}

// start runs the loop until the test ends.
func (l *looped) start(every time.Duration, step func(context.Context) error) {
	l.t.Helper()
	l.loop = fleet.NewLoop(l.guard, func(ctx context.Context) error {
		l.mu.Lock()
		l.calls = append(l.calls, l.now())
		l.mu.Unlock()
		if step == nil {
			return nil
		}
		return step(ctx)
	}, every)
	ctx, cancel := context.WithCancel(l.t.Context())
	done := make(chan error, 1)
	go func() { done <- l.loop.Run(ctx) }()
	l.t.Cleanup(func() {
		cancel()
		require.ErrorIs(l.t, <-done, context.Canceled)
	})
}

func TestScenario3_PhaseLock(t *testing.T) {
	bubble(t, func(t *testing.T, l *looped) {
		launch := func(key string) fleet.Decision {
			d, err := l.guard.Launch(t.Context(), fleet.Request{Key: key, MaxPrice: usd("0.44")}, (&cloud{}).create)
			require.NoError(t, err)
			return d
		}
		for _, clock := range []string{"18:25:10", "18:25:11", "18:25:12"} {
			l.sleepUntil(clock)
			require.Equal(t, fleet.Granted, launch(clock).Code)
		}
		l.sleepUntil("18:30:07")
		decisions := map[string]fleet.Code{}
		l.start(5*time.Minute, func(context.Context) error {
			if _, done := decisions["18:40:10"]; !done {
				decisions[l.now()] = launch("wanted").Code
			}
			return nil
		})
		l.sleepUntil("18:45:08")
		require.Equal(t, []string{"18:30:07", "18:35:07", "18:40:07", "18:40:10", "18:45:07"}, l.ran())
		require.Equal(t, map[string]fleet.Code{
			"18:30:07": fleet.RateWindow, "18:35:07": fleet.RateWindow, "18:40:07": fleet.RateWindow, "18:40:10": fleet.Granted,
		}, decisions)
	})
}

func TestScenario13_Events(t *testing.T) {
	t.Run("a notification is not for the next tick", func(t *testing.T) {
		bubble(t, func(t *testing.T, l *looped) {
			l.sleepUntil("18:30:00")
			l.start(5*time.Minute, nil)
			require.Equal(t, []string{"18:30:00"}, l.ran())
			l.sleepUntil("18:33:00")
			l.loop.Notify()
			l.sleepUntil("18:33:02")
			require.Equal(t, []string{"18:33:00"}, l.ran())
			l.sleepUntil("18:35:00")
			require.Equal(t, []string{"18:35:00"}, l.ran(), "the ticks keep their phase")
		})
	})
	t.Run("200 notifications in a second are two runs", func(t *testing.T) {
		bubble(t, func(t *testing.T, l *looped) {
			l.start(5*time.Minute, nil)
			l.sleepUntil("00:01:00")
			l.ran()
			for range 200 {
				l.loop.Notify()
				time.Sleep(5 * time.Millisecond)
			}
			l.sleepUntil("00:02:00")
			require.Equal(t, []string{"00:01:00", "00:01:01"}, l.ran())
		})
	})
	t.Run("notifications during a run are one more", func(t *testing.T) {
		bubble(t, func(t *testing.T, l *looped) {
			l.start(5*time.Minute, func(context.Context) error {
				time.Sleep(10 * time.Second)
				return nil
			})
			l.sleepUntil("00:01:00")
			l.ran()
			l.loop.Notify()
			for range 5 {
				time.Sleep(time.Second)
				l.loop.Notify()
			}
			l.sleepUntil("00:02:00")
			require.Equal(t, []string{"00:01:00", "00:01:10"}, l.ran())
		})
	})
	t.Run("a notification that is lost", func(t *testing.T) {
		bubble(t, func(t *testing.T, l *looped) {
			l.sleepUntil("18:30:00")
			l.start(5*time.Minute, nil)
			l.sleepUntil("18:35:01")
			require.Equal(t, []string{"18:30:00", "18:35:00"}, l.ran())
		})
	})
	t.Run("an emergency that rises", func(t *testing.T) {
		bubble(t, func(t *testing.T, l *looped) {
			l.start(5*time.Minute, nil)
			signal := func(d fleet.Demand) { require.NoError(t, l.guard.Signal(t.Context(), d)) }
			signal(fleet.Demand{Running: 1})
			l.sleepUntil("00:01:00")
			signal(fleet.Demand{Pending: 59})
			l.sleepUntil("00:02:00")
			require.Equal(t, []string{"00:00:00"}, l.ran())
			signal(fleet.Demand{Pending: 59})
			require.Equal(t, []string{"00:02:00"}, l.ran())
			l.sleepUntil("00:03:00")
			signal(fleet.Demand{Pending: 59})
			require.Empty(t, l.ran(), "it rose once")
		})
	})
}

func TestLoopWakesForWhatSomebodyElseWasDenied(t *testing.T) {
	bubble(t, func(t *testing.T, l *looped) {
		reserve := func(key string, count int) fleet.Decision {
			d, err := l.guard.Reserve(t.Context(), fleet.Request{Key: key, Count: count, MaxPrice: usd("0.44")})
			require.NoError(t, err)
			return d
		}
		reserve("full", 3)
		l.start(10*time.Minute, nil)
		l.sleepUntil("00:01:00")
		require.Equal(t, fleet.RateWindow, reserve("tool", 1).Code)
		l.sleepUntil("00:25:00")
		require.Equal(t, []string{"00:00:00", "00:10:00", "00:15:00", "00:20:00"}, l.ran())
	})
}

func TestLoopOutlivesItsStep(t *testing.T) {
	bubble(t, func(t *testing.T, l *looped) {
		n := 0
		l.start(time.Minute, func(context.Context) error {
			if n++; n == 1 {
				panic("boom")
			}
			return errors.New("no listing")
		})
		l.sleepUntil("00:02:30")
		require.Equal(t, []string{"00:00:00", "00:01:00", "00:02:00"}, l.ran())
		require.ErrorContains(t, l.loop.Run(t.Context()), "runs already")
	})
}

func TestLoopErrors(t *testing.T) {
	g, err := fleet.New(base(nil))
	require.NoError(t, err)
	step := func(context.Context) error { return nil }
	require.ErrorContains(t, fleet.NewLoop(nil, step, 0).Run(t.Context()), "no guard")
	require.ErrorContains(t, fleet.NewLoop(g, nil, 0).Run(t.Context()), "no step")
	require.ErrorContains(t, fleet.NewLoop(g, step, -time.Second).Run(t.Context()), "period is -1s")
	cause := errors.New("shutting down")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	l := fleet.NewLoop(g, step, 0)
	require.Equal(t, cause, l.Run(ctx))
	l.Notify()
	l.Notify() // never blocks, running or not
}
