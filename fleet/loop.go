package fleet

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"

	"github.com/holdoff-go/holdoff/internal/clock"
)

const (
	// coalesce is the least time between the starts of two runs that
	// notifications ask for: a storm of events costs one run a second.
	coalesce = time.Second
	// defaultEvery is a loop's safety net when none is given.
	defaultEvery = 5 * time.Minute
)

// A Loop runs a host's step: read the signals, ask the guard, launch. It runs
//
//   - when it starts;
//   - soon after [Loop.Notify], which is what makes it quick;
//   - at the instant at which a launch that the guard denied can pass, instead of
//     a whole period later;
//   - at once, when the guard establishes an emergency;
//   - and at a fixed period, the safety net for a notification that was lost.
//
// One step runs at a time; whatever happens meanwhile asks for one more after
// it. Make one with [NewLoop], and run it with Run in a goroutine of your own.
// Its methods are safe for concurrent use.
type Loop struct {
	guard *Guard
	step  func(context.Context) error
	every time.Duration

	notified chan struct{} // holds a token when a run is asked for, soon
	alarmed  chan struct{} // the same, at once
	changed  chan struct{} // the same when wake was set

	mu      sync.Mutex
	running bool
	wake    time.Time // when a denied launch can pass; zero is none
}

// NewLoop returns a loop that runs step, every so often at least; zero is 5 min.
// It does nothing before Run.
func NewLoop(g *Guard, step func(context.Context) error, every time.Duration) *Loop {
	if every == 0 {
		every = defaultEvery
	}
	return &Loop{
		guard: g, step: step, every: every,
		notified: make(chan struct{}, 1), alarmed: make(chan struct{}, 1), changed: make(chan struct{}, 1),
	}
}

// Notify asks for a run: within a second, or after the one that is under way.
// It never blocks, and however often it is called meanwhile it asks for one.
func (l *Loop) Notify() { put(l.notified) }

func (l *Loop) raise() { put(l.alarmed) }

func (l *Loop) wakeAt(at time.Time) {
	l.mu.Lock()
	earlier := l.wake.IsZero() || at.Before(l.wake)
	if earlier {
		l.wake = at
	}
	l.mu.Unlock()
	if earlier {
		put(l.changed)
	}
}

// put leaves a token, if there is none yet.
func put(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

func take(c chan struct{}) {
	select {
	case <-c:
	default:
	}
}

// Run runs the loop until ctx ends, and returns its cause. A step's error and
// panic are logged, and the next run is the retry. A loop that runs already, and
// one made without a guard or step or with a negative period, is an error.
func (l *Loop) Run(ctx context.Context) error {
	switch {
	case l.guard == nil:
		return errors.New("fleet: the loop has no guard")
	case l.step == nil:
		return errors.New("fleet: the loop has no step")
	case l.every < 0:
		return fmt.Errorf("fleet: the loop's period is %s", l.every)
	}
	if err := l.enter(); err != nil {
		return err
	}
	defer l.leave()

	c := &cycle{loop: l, clock: l.guard.cfg.Clock}
	c.line = clock.NewLine(c.clock)
	for ctx.Err() == nil {
		// What was asked for until now is answered by this run.
		take(l.notified)
		take(l.alarmed)
		l.forgetWake(c.clock.Now())
		c.began = c.line.Now()
		l.once(ctx)
		c.wait(ctx)
	}
	return context.Cause(ctx)
}

func (l *Loop) enter() error {
	// The guard's lock comes before the loop's wherever both are held.
	l.guard.mu.Lock()
	defer l.guard.mu.Unlock()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.running {
		return errors.New("fleet: the loop runs already")
	}
	l.running = true
	l.guard.loops[l] = struct{}{}
	return nil
}

func (l *Loop) leave() {
	l.guard.mu.Lock()
	defer l.guard.mu.Unlock()
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.guard.loops, l)
	l.running = false
}

// forgetWake drops a wake that has come. One that is to come may be that of a
// launch somebody else asked for, and stays.
func (l *Loop) forgetWake(now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.wake.After(now) {
		l.wake = time.Time{}
	}
}

func (l *Loop) once(ctx context.Context) {
	log := l.guard.cfg.Logger
	defer func() {
		if p := recover(); p != nil {
			log.ErrorContext(ctx, "the step panicked", slog.Any("panic", p), slog.String("stack", string(debug.Stack())))
		}
	}()
	if err := l.step(ctx); err != nil && ctx.Err() == nil {
		log.ErrorContext(ctx, "the step failed", slog.Any("error", err))
	}
}

// cycle is what one Run knows of time. Periods are counted on a line, which a
// wall clock that is set back does not stretch.
type cycle struct {
	loop  *Loop
	clock Clock
	line  *clock.Line
	began time.Duration // when the latest run began

	timer   <-chan time.Time
	timerAt time.Duration
}

// wait returns when the next run is to begin.
func (c *cycle) wait(ctx context.Context) {
	notified := false
	for {
		now := c.line.Now()
		// The periods are counted from Run's start, so that a run that was late
		// or extra does not move those that follow.
		due := (c.began/c.loop.every + 1) * c.loop.every
		if wake := c.wake(now); wake < due {
			due = wake
		}
		if notified {
			due = min(due, c.began+coalesce)
		}
		if due <= now {
			return
		}
		if c.timer == nil || c.timerAt != due { // one timer for one instant: a fake clock keeps what is abandoned
			c.timer, c.timerAt = c.clock.After(due-now), due
		}
		select {
		case <-ctx.Done():
			return
		case <-c.loop.alarmed:
			return
		case <-c.loop.notified:
			notified = true
		case <-c.loop.changed:
		case <-c.timer:
			// Not asked again whether it is time: the wall clock may have been set.
			c.timer = nil
			return
		}
	}
}

// wake is when a denied launch can pass, on the line.
func (c *cycle) wake(now time.Duration) time.Duration {
	c.loop.mu.Lock()
	at := c.loop.wake
	c.loop.mu.Unlock()
	if at.IsZero() {
		return 1<<63 - 1
	}
	return now + max(0, at.Sub(c.clock.Now()))
}
