package limiter

import (
	"context"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdoff-go/holdoff/internal/clock"
)

// admitUnheard puts n waiters into l's queue and lets them in; none hears of it.
func admitUnheard(l *Limiter, p Priority, n int) []*waiter {
	l.mu.Lock()
	defer l.mu.Unlock()
	ws := make([]*waiter, n)
	for i := range ws {
		l.arrivals++
		ws[i] = &waiter{priority: p, arrival: l.arrivals, ready: make(chan struct{}, 1), pass: pass{limiter: l}}
		l.queue(ws[i])
	}
	l.handOut(l.look())
	return ws
}

func queueOf(l *Limiter, p Priority) []*waiter {
	l.mu.Lock()
	defer l.mu.Unlock()
	var ws []*waiter
	for w := l.waiting.queues[p].head; w != nil; w = w.next {
		ws = append(ws, w)
	}
	return ws
}

// cancelAll ends the waiters of a test, as callers do whose contexts end before
// they hear of a grant.
func cancelAll(l *Limiter, ws []*waiter) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for _, w := range ws {
		select {
		case <-w.ready: // a select would choose between the two
		default:
		}
		_ = (&pass{limiter: l}).await(ctx, w)
	}
}

// E12 of the scenarios: what has been admitted and has not started does not
// start in the pause; it goes back to the head of the queue in order.
func TestE12_AdmittedWorkDoesNotStartInThePause(t *testing.T) {
	for name, shut := range map[string]func(*Limiter){
		"a refusal": func(l *Limiter) { l.ReportRateLimited(0) },
		"a hold":    func(l *Limiter) { l.Hold("deploy") },
	} {
		t.Run(name, func(t *testing.T) {
			l, err := New(Config{Budget: 8})
			require.NoError(t, err)
			admitted := admitUnheard(l, Normal, 8)
			later := admitUnheard(l, Normal, 2)
			require.Equal(t, 8, l.Status().InFlight)
			shut(l)
			require.Zero(t, l.Status().InFlight, "their slots are free")
			require.Equal(t, append(admitted, later...), queueOf(l, Normal))
			for _, w := range admitted {
				require.False(t, w.granted.Load())
			}
			l.Resume("")
			require.Equal(t, 8, l.Status().InFlight)
			require.Equal(t, later, queueOf(l, Normal))
			cancelAll(l, append(admitted, later...))
			require.Zero(t, l.Status().InFlight)
		})
	}
	t.Run("a stated time in an open pause stops a probe", func(t *testing.T) {
		l, err := New(Config{Budget: 8})
		require.NoError(t, err)
		l.ReportRateLimited(0)
		admitted := admitUnheard(l, Emergency, 1)
		require.True(t, admitted[0].granted.Load())
		l.ReportRateLimited(time.Hour)
		require.False(t, admitted[0].granted.Load())
		cancelAll(l, admitted)
	})
	t.Run("an emergency keeps its turn when its grant is taken back", func(t *testing.T) {
		l, err := New(Config{Budget: 8})
		require.NoError(t, err)
		l.ReportRateLimited(0)
		first := admitUnheard(l, Emergency, 1)
		l.ReportRateLimited(0) // lengthens; the emergency still goes at once
		require.True(t, first[0].granted.Load())
		cancelAll(l, first)
		second := admitUnheard(l, Emergency, 1)
		require.True(t, second[0].granted.Load(), "the first never started")
		cancelAll(l, second)
		require.Zero(t, l.Status().InFlight)
	})
}

// One wait on the clock serves all waiters of a pause, also those who come after
// others have gone: an abandoned wait stays in a fake clock for ever.
func TestAlarm_OneWaitAPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &countingClock{}
		l, err := New(Config{Clock: c})
		require.NoError(t, err)
		l.ReportRateLimited(time.Hour)
		for range 3 {
			ctx, cancel := context.WithCancel(context.Background())
			for range 1000 {
				go func() {
					_, err := l.Acquire(ctx)
					require.ErrorIs(t, err, context.Canceled)
				}()
			}
			synctest.Wait()
			require.Equal(t, 1000, l.Status().Waiting)
			cancel()
			synctest.Wait()
			require.Zero(t, l.Status().Waiting)
		}
		require.EqualValues(t, 1, c.waits.Load())
	})
}

type countingClock struct {
	clock.Real
	waits atomic.Int64
}

func (c *countingClock) After(d time.Duration) <-chan time.Time {
	c.waits.Add(1)
	return c.Real.After(d)
}

// A tick that its watcher has not taken wakes the next one, early at worst.
func TestAlarm_SurvivesItsWatcher(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, err := New(Config{})
		require.NoError(t, err)
		l.ReportRateLimited(time.Minute)
		ctx, cancel := context.WithCancel(context.Background())
		acquire := func(ctx context.Context) {
			slot, err := l.Acquire(ctx)
			if err == nil {
				slot.ReportSuccess()
				slot.Release()
			}
		}
		go acquire(ctx)
		synctest.Wait()
		cancel() // the watcher ends, its tick stays
		synctest.Wait()
		time.Sleep(59 * time.Second)
		go acquire(context.Background())
		synctest.Wait()
		l.ReportRateLimited(time.Minute) // the end moves to 119 s; the tick of 60 s is early
		time.Sleep(time.Second)
		synctest.Wait()
		require.Equal(t, 1, l.Status().Waiting)
		time.Sleep(59 * time.Second)
		synctest.Wait()
		require.Zero(t, l.Status().Waiting)
	})
}

// handClock's waits end by hand.
type handClock struct {
	clock.Real
	tick chan time.Time
}

func (c handClock) After(time.Duration) <-chan time.Time { return c.tick }

// A watcher that was stopped may still take the tick, when both come at once. The
// one that runs by then must not sleep on for it.
func TestAlarm_TickTakenByAnOlderWatcher(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := handClock{tick: make(chan time.Time, 1)}
		l, err := New(Config{Clock: c})
		require.NoError(t, err)
		l.ReportRateLimited(time.Minute)
		go l.watch(c.tick, make(chan struct{})) // the older one: first in the channel's line
		synctest.Wait()
		go func() {
			slot, err := l.Acquire(context.Background())
			require.NoError(t, err)
			slot.Release()
		}()
		synctest.Wait()
		require.Equal(t, 1, l.Status().Waiting)
		time.Sleep(time.Minute)
		c.tick <- time.Now()
		synctest.Wait()
		require.Zero(t, l.Status().Waiting)
		// The bubble reports a watcher that is left over.
	})
}

// 64 goroutines call everything; then nothing is left over.
func TestN6_EverythingAtOnce(t *testing.T) {
	var l *Limiter
	l, err := New(Config{
		Budget: 8, Pause: 2 * time.Millisecond, Recover: time.Millisecond, Pace: 1e6, MaxWaiting: 40,
		OnEvent: func(Event) { l.Status() },
		Cut:     func(budget, _ int) int { l.Status(); return budget - 1 },
	})
	require.NoError(t, err)
	var callers sync.WaitGroup
	for i := range 64 {
		callers.Go(func() {
			r := rand.New(rand.NewPCG(uint64(i), 2))
			for range 40 {
				ctx, cancel := context.WithTimeout(context.Background(), time.Duration(r.IntN(int(3*time.Millisecond))))
				slot, _ := l.AcquireAs(ctx, Priority(r.IntN(3)))
				other, _ := l.TryAcquire()
				c, _ := slot.Wait(ctx)
				switch r.IntN(12) {
				case 0:
					c.ReportRateLimited(0)
				case 1:
					slot.ReportRateLimited(time.Duration(r.IntN(int(time.Millisecond))))
				case 2:
					slot.ReportOverloaded(0)
				case 3:
					l.ReportRateLimited(0)
				case 4:
					l.ReportSuccess()
				case 5:
					l.Hold("hold")
				case 6:
					_ = l.SetBudget(1 + r.IntN(16))
				case 7:
					l.Resume("resume")
				default:
					c.ReportSuccess()
				}
				l.Status()
				slot.Release()
				other.Release()
				slot.ReportSuccess()
				cancel()
			}
		})
	}
	callers.Wait()
	l.Resume("")
	require.NoError(t, l.SetBudget(8))
	st := l.Status()
	require.Zero(t, st.InFlight)
	require.Zero(t, st.Waiting)
	for range 8 {
		_, err := l.Acquire(context.Background())
		require.NoError(t, err)
	}
}
