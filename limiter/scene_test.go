package limiter_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdoff-go/holdoff/limiter"
)

// base is what the scenarios are told of.
func base() limiter.Config { return limiter.Config{Name: "upstream", Budget: 8} }

// A scene is one scenario on the clock of a synctest bubble. It tells time in
// seconds from its start.
type scene struct {
	*testing.T
	l     *limiter.Limiter
	ctx   context.Context // ends with the scene
	start time.Time
}

func play(t *testing.T, cfg limiter.Config, story func(s *scene)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		l, err := limiter.New(cfg)
		require.NoError(t, err)
		story(&scene{T: t, l: l, ctx: ctx, start: time.Now()})
	})
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// at lets time pass until t, and everybody act who acts then.
func (s *scene) at(t float64) {
	s.Helper()
	wait := seconds(t) - time.Since(s.start)
	require.GreaterOrEqual(s, wait, time.Duration(0), "the scene is past this time")
	time.Sleep(wait)
	synctest.Wait()
}

func (s *scene) now() float64 { return time.Since(s.start).Seconds() }

// blockedUntil is Status.BlockedUntil; zero is none.
func (s *scene) blockedUntil() float64 {
	until := s.l.Status().BlockedUntil
	if until.IsZero() {
		return 0
	}
	return until.Sub(s.start).Seconds()
}

func (s *scene) reason() limiter.Reason { return s.l.Status().Reason }

// take expects that a slot is free.
func (s *scene) take() *limiter.Slot {
	s.Helper()
	slot, err := s.l.TryAcquire()
	require.NoError(s, err)
	return slot
}

func (s *scene) takeAll(n int) []*limiter.Slot {
	s.Helper()
	slots := make([]*limiter.Slot, n)
	for i := range slots {
		slots[i] = s.take()
	}
	return slots
}

// refused expects that TryAcquire says no, and returns why.
func (s *scene) refused() *limiter.BlockedError {
	s.Helper()
	slot, err := s.l.TryAcquire()
	require.Nil(s, slot)
	var blocked *limiter.BlockedError
	require.ErrorAs(s, err, &blocked)
	return blocked
}

// A caller is somebody who waits in Acquire, or has waited. Its results may be
// read once it is back.
type caller struct {
	cancel context.CancelFunc
	done   chan struct{}
	at     float64
	slot   *limiter.Slot
	err    error
}

func (c *caller) back() bool {
	select {
	case <-c.done:
		return true
	default:
		return false
	}
}

// ask has somebody ask for a slot, and returns when they have it or wait.
func (s *scene) ask(p limiter.Priority) *caller { return s.askFor(p, 0) }

// askFor is ask with a deadline, in seconds from now; 0 is none.
func (s *scene) askFor(p limiter.Priority, deadline float64) *caller {
	ctx, cancel := context.WithCancel(s.ctx)
	if deadline > 0 {
		ctx, cancel = context.WithTimeout(s.ctx, seconds(deadline))
	}
	c := &caller{cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(c.done)
		defer cancel()
		c.slot, c.err = s.l.AcquireAs(ctx, p)
		c.at = s.now()
	}()
	synctest.Wait()
	return c
}

func (s *scene) askAll(n int, p limiter.Priority) []*caller {
	callers := make([]*caller, n)
	for i := range callers {
		callers[i] = s.ask(p)
	}
	return callers
}

// in is how many of callers have a slot.
func in(callers ...*caller) int {
	n := 0
	for _, c := range callers {
		if c.back() && c.slot != nil {
			n++
		}
	}
	return n
}

// waiting is how many of callers still wait.
func waiting(callers ...*caller) int {
	n := 0
	for _, c := range callers {
		if !c.back() {
			n++
		}
	}
	return n
}

// A journal is what several goroutines have seen, in order.
type journal[T any] struct {
	mu      sync.Mutex
	entries []T
}

func (j *journal[T]) add(e T) int {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.entries = append(j.entries, e)
	return len(j.entries)
}

func (j *journal[T]) all() []T {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.Clone(j.entries)
}
