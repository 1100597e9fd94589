package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/holdoff-go/holdoff/examples/internal/stage"
	"github.com/holdoff-go/holdoff/limiter"
	"github.com/holdoff-go/holdoff/limiter/httplimit"
	"github.com/holdoff-go/holdoff/spawn"
)

// fleet runs an agent for each journal, and returns when all have ended.
func fleet(ctx context.Context, s *stage.Stage, journals []journal) ([]spawn.Result, error) {
	// holdoff: one limiter before the provider, and one spawner for the agents.
	l, err := limiter.New(limiter.Config{Name: "provider", Clock: s.Clock})
	if err != nil {
		return nil, err
	}
	agents, err := spawn.New(spawn.Config{Limiter: l, Clock: s.Clock, OnEvent: s.Tell})
	if err != nil {
		return nil, err
	}
	// holdoff: one line round the HTTP client of the framework's model.
	client := &http.Client{Transport: &httplimit.Transport{Limiter: l, Base: s.Transport}}

	handles := make([]*spawn.Handle, len(journals))
	for i := range journals {
		id := fmt.Sprintf("agent-%d", i+1)
		// holdoff: an agent is a worker. What refuses it does not kill it: it comes
		// back when its turn is, and goes on where its journal ends.
		handles[i] = agents.Start(ctx, spawn.Worker{ID: id, Run: func(ctx context.Context, _ *spawn.Attempt) error {
			return journals[i].goOn(ctx, client, s.URL, id)
		}})
	}
	results := make([]spawn.Result, len(handles))
	var errs []error
	for i, h := range handles {
		results[i], err = h.Wait()
		errs = append(errs, err)
	}
	return results, errors.Join(errs...)
}
