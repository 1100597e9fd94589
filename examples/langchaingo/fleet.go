package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/tmc/langchaingo/chains"
	"github.com/tmc/langchaingo/llms/openai"

	"github.com/holdoff-go/holdoff/examples/internal/stage"
	"github.com/holdoff-go/holdoff/limiter"
	"github.com/holdoff-go/holdoff/limiter/httplimit"
	"github.com/holdoff-go/holdoff/spawn"
)

// fleet runs a chain for each report, fills the reports in, and returns when all
// chains have ended.
func fleet(ctx context.Context, s *stage.Stage, reports []string) ([]spawn.Result, error) {
	// holdoff: one limiter before the provider, and one spawner for the chains.
	l, err := limiter.New(limiter.Config{Name: "provider", Clock: s.Clock})
	if err != nil {
		return nil, err
	}
	workers, err := spawn.New(spawn.Config{Limiter: l, Clock: s.Clock, OnEvent: s.Tell})
	if err != nil {
		return nil, err
	}
	// holdoff: one line round the HTTP client. It sees what the framework loses:
	// to that, every refusal is a text without its Retry-After.
	client := &http.Client{Transport: &httplimit.Transport{Limiter: l, Base: s.Transport}}

	model, err := openai.New(openai.WithBaseURL(s.URL), openai.WithModel("sim-1"), openai.WithToken("none"), openai.WithHTTPClient(client))
	if err != nil {
		return nil, err
	}
	handles := make([]*spawn.Handle, len(reports))
	for i := range reports {
		chain, err := newChain(model)
		if err != nil {
			return nil, err
		}
		// holdoff: a chain is a worker. What refuses one of its steps does not kill
		// it: it comes back when its turn is, and that step is made again.
		handles[i] = workers.Start(ctx, spawn.Worker{ID: fmt.Sprintf("chain-%d", i+1), Run: func(ctx context.Context, _ *spawn.Attempt) error {
			report, err := chains.Run(ctx, chain, "storms")
			reports[i] = report
			return err
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
