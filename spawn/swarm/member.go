package swarm

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/holdoff-go/holdoff/retry"
	"github.com/holdoff-go/holdoff/spawn"
)

// A Result is what became of one input.
type Result[Out any] struct {
	// Value is the result. It is set whenever there is one: of a member that has
	// succeeded, or from the store.
	Value Out
	// Err is nil for an input with a result that is safe. Otherwise it is the error
	// of spawn.Spawner.Run, a *retry.Error for a member that was given up; or that
	// of the store.
	Err error
	// Stored says that Value comes from the store, and no member was started.
	Stored bool
	// Run is how the member's run ended, with its attempts. State is Canceled, with
	// no attempt, for an input whose member was not started.
	Run spawn.Result
}

// A member is the work on one input.
type member[K comparable, Out any] struct {
	key      K
	id       string
	position int // of the input
	result   Result[Out]
	over     bool          // it has no result, and the loop's context had ended
	done     chan struct{} // closed when result, and over, are final
	cancel   context.CancelCauseFunc

	// Guarded by the swarm's mu.
	stopped bool // by Stop
	counted bool
	state   spawn.State
	until   time.Time
}

// end makes r the result of a member that is not started.
func (m *member[K, Out]) end(r Result[Out]) {
	r.Run.ID = m.id
	m.result = r
	close(m.done)
}

// canceled is the result of an input whose member was not started, because of
// why.
func canceled[Out any](why ...error) Result[Out] {
	return Result[Out]{
		Err: &retry.Error{Class: retry.Canceled, Causes: why},
		Run: spawn.Result{State: spawn.Canceled},
	}
}

// start runs the member on a goroutine of its own, and returns once it is on its
// way to the limiter, so that members come there in the order of the inputs.
func (l *loop[K, In, Out]) start(m *member[K, Out], in In) {
	ctx, cancel := context.WithCancelCause(l.ctx)
	m.cancel = cancel
	l.swarm.join(m)
	queued := make(chan struct{})
	underWay := sync.OnceFunc(func() { close(queued) })
	go func() {
		defer close(m.done)
		defer l.leave()
		defer cancel(nil)
		defer underWay()
		// Deferred, because the host's OnEvent may end this goroutine by
		// runtime.Goexit, as a test's FailNow does.
		m.result = canceled[Out](spawn.ErrGoexit)
		m.result.Run.ID = m.id
		defer l.swarm.part(m)
		l.work(ctx, m, in, underWay)
	}()
	<-queued
}

func (l *loop[K, In, Out]) work(ctx context.Context, m *member[K, Out], in In, underWay func()) {
	s := l.swarm
	var value Out
	// Not Spawner.Start: inside a worker the members use the slot of their parent,
	// which waits for them.
	run, err := s.cfg.Spawner.Run(ctx, spawn.Worker{
		ID:       m.id,
		Patience: s.cfg.Patience,
		OnEvent: func(e spawn.Event) {
			if e.State == spawn.Queued {
				underWay()
			}
			s.observe(m, e)
		},
		Run: func(ctx context.Context, a *spawn.Attempt) error {
			v, err := s.run(ctx, a, in)
			if err == nil {
				value = v
			}
			return err
		},
	})
	m.result = Result[Out]{Err: err, Run: run}
	m.over = run.State == spawn.Canceled && l.ctx.Err() != nil
	switch {
	case run.State == spawn.Succeeded:
		m.result.Value = value
		if s.cfg.Store != nil {
			m.result.Err = errSaveGoexit // until Save returns, if it does
			m.result.Err = save(context.WithoutCancel(ctx), s.cfg.Store, m.key, value)
		}
	case run.Total == 0 && is(err, spawn.ErrDraining):
		l.drained.Store(true)
	}
}

// is is errors.Is. A cause or an SDK's error may panic when asked: it is not the
// target.
func is(err, target error) (ok bool) {
	defer func() { _ = recover() }()
	return errors.Is(err, target)
}
