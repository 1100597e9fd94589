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
	"flag"
	"fmt"
	"os"
	"os/signal"

	"github.com/holdoff-go/holdoff/examples/internal/stage"
)

func main() {
	scale := flag.Float64("scale", 10, "how many times faster than life the clock runs")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := perform(ctx, *scale); err != nil {
		fmt.Fprintln(os.Stderr, "eino:", err)
		os.Exit(1)
	}
}

func perform(ctx context.Context, scale float64) error {
	s, err := stage.Open(scale, os.Stdout, script())
	if err != nil {
		return err
	}
	defer s.Close()
	results, err := fleet(ctx, s, make([]journal, 8))
	s.Sum(results)
	return err
}
