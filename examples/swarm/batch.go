package main

import (
	"context"
	"fmt"
	"iter"
	"sync/atomic"
	"time"

	"github.com/holdoff-go/holdoff/limiter"
	"github.com/holdoff-go/holdoff/retry"
	"github.com/holdoff-go/holdoff/spawn"
	"github.com/holdoff-go/holdoff/spawn/swarm"
)

// A task is one input of the swarm. Its name is its key.
type task struct {
	name, question string
}

// tasks yields the inputs by their names, which a store outlives the process by.
func tasks(n int) iter.Seq2[string, task] {
	return func(yield func(string, task) bool) {
		digits := len(fmt.Sprint(n))
		for i := range n {
			t := task{fmt.Sprintf("task-%0*d", digits, i+1), fmt.Sprintf("Summarise chapter %d in one sentence.", i+1)}
			if !yield(t.name, t) {
				return
			}
		}
	}
}

// retries is how often a task is tried again: as often as it is when nothing is said.
const retries = 3

// A batch is the tasks as a swarm: one limiter before the provider, one spawner,
// and the swarm on it.
type batch struct {
	scene   *scene
	limiter *limiter.Limiter
	swarm   *swarm.Swarm[string, task, string]
	store   *fileStore // nil: none

	suspended, resumed atomic.Int64
}

func newBatch(s *scene, d display) (*batch, error) {
	b := &batch{scene: s}
	l, err := limiter.New(limiter.Config{Name: "provider", Clock: s.clock})
	if err != nil {
		return nil, err
	}
	sp, err := spawn.New(spawn.Config{Limiter: l, Policy: retry.Policy{MaxRetries: retries}, Clock: s.clock})
	if err != nil {
		return nil, err
	}
	cfg := swarm.Config[string, string]{
		Spawner: sp,
		Cap:     s.options.cap,
		Burst:   s.options.burst,
		Pace:    s.options.pace,
		Total:   s.options.tasks,
		Clock:   s.clock,
		OnEvent: func(e swarm.Event[string]) {
			b.count(e.Kind)
			d.event(s.at(), e)
		},
	}
	if s.options.store != "" {
		if b.store, err = openStore(s.options.store); err != nil {
			return nil, err
		}
		cfg.Store = b.store
	}
	b.limiter = l
	b.swarm, err = swarm.New(cfg, tasks(s.options.tasks), func(ctx context.Context, a *spawn.Attempt, t task) (string, error) {
		return s.client.ask(ctx, t.name, t.question)
	})
	return b, err
}

func (b *batch) close() {
	if b.store != nil {
		b.store.close()
	}
}

// run ranges over the results, which come in the order of the tasks.
func (b *batch) run(ctx context.Context) figures {
	began := time.Now()
	f := figures{Tasks: b.scene.options.tasks, Results: []result{}, Failures: []string{}}
	for name, r := range b.swarm.Results(ctx) {
		if r.Err != nil {
			f.Failures = append(f.Failures, name+": "+r.Err.Error())
			continue
		}
		f.Results = append(f.Results, result{name, r.Value})
	}
	p := b.swarm.Progress()
	f.Done, f.Stored, f.Parked, f.Dead, f.Canceled = p.Done, p.Stored, p.Parked, p.Dead, p.Canceled
	f.Suspended, f.Resumed = b.suspended.Load(), b.resumed.Load()
	calls := b.scene.sim.Counts()
	f.Calls, f.Accepted, f.Refused, f.MaxInFlight = calls.Calls, calls.Accepted, calls.Refused, calls.MaxInFlight
	f.Seconds, f.WallSeconds = seconds(p.Elapsed), seconds(time.Since(began))
	return f
}

func (b *batch) count(kind swarm.EventKind) {
	switch kind {
	case swarm.EventSuspended:
		b.suspended.Add(1)
	case swarm.EventResumed:
		b.resumed.Add(1)
	}
}

// watch shows the progress until the run is over, and its last state.
func (b *batch) watch(d display, over <-chan struct{}) {
	tick := time.NewTicker(frame)
	defer tick.Stop()
	for running := true; running; {
		select {
		case <-over:
			running = false
		case <-tick.C:
		}
		d.show(b.scene.at(), b.swarm.Progress(), b.passage())
	}
}

// passage says in words what the limiter's status says.
func (b *batch) passage() string {
	st := b.limiter.Status()
	state := "open"
	switch {
	case !st.BlockedUntil.IsZero():
		state = fmt.Sprintf("paused until %s (%s)", minutes(st.BlockedUntil.Sub(b.scene.start)), st.Reason)
	case st.Reason == limiter.ReasonProbing:
		state = "probing: a few calls first"
	}
	return fmt.Sprintf("%s; budget %d, %d in flight", state, st.Budget, st.InFlight)
}
