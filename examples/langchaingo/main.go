// Langchaingo runs a fleet of langchaingo's chains against a provider that
// refuses every call for a while:
//
//	go run .
//
// The lines that matter begin with "holdoff:"; the rest is langchaingo as its own
// documentation has it. The fleet is in fleet.go, a chain in chain.go.
package main

import (
	"context"

	"github.com/holdoff-go/holdoff/examples/internal/stage"
)

func main() {
	stage.Main("langchaingo", nil, func(ctx context.Context, s *stage.Stage) error {
		results, err := fleet(ctx, s, make([]string, 8))
		s.Sum(results)
		return err
	})
}
