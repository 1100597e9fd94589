package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/holdoff-go/holdoff/limiter"
	"github.com/holdoff-go/holdoff/spawn"
)

// A held tower runs its workers under holdoff: one limiter before the upstream,
// one spawner for the workers, everything else as it comes.
type held struct {
	limiter *limiter.Limiter
	spawner *spawn.Spawner
	clock   limiter.Clock
	start   time.Time
	over    time.Duration // how long spawning takes

	mu      sync.Mutex
	rows    []row
	handles []*spawn.Handle
}

func newHoldoff(s *scene) (tower, error) {
	return newHeld(s, limiter.Config{Name: "provider", Clock: s.clock})
}

func newHeld(s *scene, cfg limiter.Config) (tower, error) {
	l, err := limiter.New(cfg)
	if err != nil {
		return nil, err
	}
	sp, err := spawn.New(spawn.Config{Limiter: l, Clock: s.clock})
	if err != nil {
		return nil, err
	}
	return &held{limiter: l, spawner: sp, clock: s.clock, start: s.start, over: s.over, rows: comingRows(s.agents)}, nil
}

// work is a worker as the spawner runs it: on each attempt it goes on where the
// last one stopped, asks before each further call, and tells what came of it.
func work(ctx context.Context, at *spawn.Attempt, a *agent) error {
	for first := true; !a.finished(); first = false {
		if !first { // the first call of an attempt is what its slot was given for
			if err := a.ponder(ctx); err != nil {
				return err
			}
			if err := at.Wait(ctx); err != nil {
				return err
			}
		}
		if err := a.turn(ctx); err != nil {
			return err
		}
		at.Progress()
	}
	return nil
}

func (h *held) run(ctx context.Context, agents []*agent) {
	spawnEach(ctx, h.clock, h.over, agents, func(a *agent) {
		handle := h.spawner.Start(ctx, spawn.Worker{ID: a.id, Run: func(ctx context.Context, at *spawn.Attempt) error {
			return work(ctx, at, a)
		}})
		h.mu.Lock()
		defer h.mu.Unlock()
		h.handles = append(h.handles, handle)
	})
	for _, handle := range h.started() {
		_, _ = handle.Wait() // the roster has it
	}
}

func (h *held) started() []*spawn.Handle {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.handles[:len(h.handles):len(h.handles)]
}

func (h *held) roster() roster {
	r := roster{rows: append([]row(nil), h.rows...)}
	r.limiter, r.load = h.passage()
	for i, handle := range h.started() { // in the order of the rows
		r.rows[i] = h.row(r.rows[i], handle.Status())
	}
	return r
}

// states are spawn's in the words of the roster.
var states = map[spawn.State]state{
	spawn.Queued: queued, spawn.Running: running, spawn.BackingOff: backsOff,
	spawn.Succeeded: finished, spawn.Dead: dead, spawn.Parked: parked, spawn.Canceled: canceled,
}

func (h *held) row(r row, st spawn.WorkerStatus) row {
	r.state = states[st.State]
	if st.Until.After(h.clock.Now()) {
		r.until = st.Until.Sub(h.start)
	} else if st.State == spawn.BackingOff {
		r.state = queued // its time has come, its turn has not
	}
	switch {
	case st.State == spawn.Running && st.Attempt > 1:
		r.note = fmt.Sprintf("attempt %d", st.Attempt)
	case st.State != spawn.Running && st.State != spawn.Succeeded && st.Err != nil:
		r.note = reason(st.Err)
	}
	return r
}

// passage says in words what the limiter's status says.
func (h *held) passage() (state, load string) {
	st := h.limiter.Status()
	switch {
	case !st.BlockedUntil.IsZero():
		state = fmt.Sprintf("paused until %s (%s)", minutes(st.BlockedUntil.Sub(h.start)), st.Reason)
	case st.Reason == limiter.ReasonProbing:
		state = "probing: a few calls first"
	default:
		state = "open"
	}
	return state, fmt.Sprintf("budget %d, %d in flight, %d waiting", st.Budget, st.InFlight, st.Waiting)
}
