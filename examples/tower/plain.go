package main

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/holdoff-go/holdoff/limiter"
	"github.com/holdoff-go/holdoff/retry"
)

// A plain tower is a spawner without holdoff: a worker dies of the first error
// its call returns, and the spawner goes on spawning the others.
type plain struct {
	clock limiter.Clock
	start time.Time
	over  time.Duration                                       // how long spawning takes
	call  func(ctx context.Context, p *plain, a *agent) error // how a worker makes a turn's call

	mu   sync.Mutex
	rows []row
}

func newPlain(s *scene) (tower, error) {
	return newSpawner(s, once), nil
}

func newQuick(s *scene) (tower, error) {
	return newSpawner(s, quickly), nil
}

func newSpawner(s *scene, call func(context.Context, *plain, *agent) error) *plain {
	return &plain{clock: s.clock, start: s.start, over: s.over, rows: comingRows(s.agents), call: call}
}

func comingRows(agents []*agent) []row {
	rows := make([]row, len(agents))
	for i, a := range agents {
		rows[i] = row{id: a.id, state: coming, turns: a.turns}
	}
	return rows
}

func (p *plain) run(ctx context.Context, agents []*agent) {
	var workers sync.WaitGroup
	spawnEach(ctx, p.clock, p.over, agents, func(a *agent) {
		workers.Go(func() { p.work(ctx, a) })
	})
	workers.Wait()
}

// spawnEach starts the agents one after another, evenly over a time.
func spawnEach(ctx context.Context, clock limiter.Clock, over time.Duration, agents []*agent, start func(*agent)) {
	for i, a := range agents {
		if i > 0 && sleep(ctx, clock, over/time.Duration(len(agents))) != nil {
			return
		}
		start(a)
	}
}

func (p *plain) work(ctx context.Context, a *agent) {
	p.set(a, row{state: running})
	for !a.finished() {
		err := p.call(ctx, p, a)
		if err == nil && !a.finished() {
			err = a.ponder(ctx)
		}
		switch {
		case ctx.Err() != nil:
			p.set(a, row{state: canceled})
			return
		case err != nil:
			p.set(a, row{state: dead, note: reason(err)})
			return
		}
	}
	p.set(a, row{state: finished})
}

func (p *plain) set(a *agent, r row) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := range p.rows {
		if p.rows[i].id == a.id {
			r.id, r.turns = a.id, a.turns
			p.rows[i] = r
		}
	}
}

func (p *plain) roster() roster {
	p.mu.Lock()
	defer p.mu.Unlock()
	return roster{rows: append([]row(nil), p.rows...)}
}

// once makes the call and leaves it at that.
func once(ctx context.Context, _ *plain, a *agent) error { return a.turn(ctx) }

// quickly makes the call as the usual SDK does, with two retries of its own:
// after 0.5 s and 1 s, or after the Retry-After if the refusal has one.
func quickly(ctx context.Context, p *plain, a *agent) error {
	wait := 500 * time.Millisecond
	for range 2 {
		err := a.turn(ctx)
		var refused *retry.ResponseError
		if !errors.As(err, &refused) || !temporary(refused.StatusCode) {
			return err
		}
		pause := wait
		if s, err := strconv.Atoi(refused.Header.Get("Retry-After")); err == nil && s > 0 {
			pause = time.Duration(s) * time.Second
		}
		p.set(a, row{state: backsOff, until: p.clock.Now().Add(pause).Sub(p.start), note: reason(err)})
		if err := sleep(ctx, p.clock, pause); err != nil {
			return err
		}
		p.set(a, row{state: running})
		wait *= 2
	}
	return a.turn(ctx)
}

// temporary says which statuses SDKs retry.
func temporary(status int) bool {
	return status == http.StatusTooManyRequests || status == http.StatusRequestTimeout ||
		status == http.StatusConflict || status >= http.StatusInternalServerError
}
