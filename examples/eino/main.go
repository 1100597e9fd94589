// Eino runs a fleet of eino's ReAct agents against a provider that refuses every
// call for a while:
//
//	go run .
//
// The lines that matter begin with "holdoff:"; the rest is eino as its own
// documentation has it. The fleet is in fleet.go, an agent in agent.go.
package main

import (
	"context"

	"github.com/holdoff-go/holdoff/examples/internal/stage"
)

func main() {
	stage.Main("eino", script(), func(ctx context.Context, s *stage.Stage) error {
		results, err := fleet(ctx, s, make([]journal, 8))
		s.Sum(results)
		return err
	})
}
