package main

import (
	"context"
	"sync"

	"github.com/holdoff-go/holdoff/examples/internal/stage"
	"github.com/holdoff-go/holdoff/limiter"
	"github.com/holdoff-go/holdoff/spawn"
)

// callbacks are what the program hears of its jobs.
type callbacks struct {
	onDone func(*job)
	onDead func(*job, error)
}

// goroutines is how many the pool has: more than are let through at once, as
// holdoff says how many that is.
const goroutines = 12

// work hands the jobs to the pool's goroutines, and returns when all have ended.
func work(ctx context.Context, s *stage.Stage, jobs []*job, on callbacks) error {
	// holdoff: one limiter before the provider, and one spawner for the jobs.
	l, err := limiter.New(limiter.Config{Name: "provider", Budget: 8, Clock: s.Clock})
	if err != nil {
		return err
	}
	spawner, err := spawn.New(spawn.Config{Limiter: l, Clock: s.Clock, OnEvent: s.Tell})
	if err != nil {
		return err
	}

	queue := make(chan *job)
	var pool sync.WaitGroup
	for range goroutines {
		pool.Go(func() {
			for j := range queue {
				// holdoff: instead of j.do(ctx). The callback for the dead is
				// called when no retry will mend it, and not of a refusal.
				_, err := spawner.Run(ctx, spawn.Worker{ID: j.id, Run: func(ctx context.Context, a *spawn.Attempt) error {
					return j.do(ctx, a, s)
				}})
				if err != nil {
					on.onDead(j, err)
				} else {
					on.onDone(j)
				}
			}
		})
	}
	for _, j := range jobs {
		queue <- j
	}
	close(queue)
	pool.Wait()
	c := s.Counts()
	s.Sayf("the provider accepted %d calls and refused %d", c.Accepted, c.Refused)
	return nil
}
