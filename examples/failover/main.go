// Failover runs one job on two subscriptions, of which the first is used up midway,
// against an LLM provider on loopback, and tells what happened and who was charged:
//
//	go run ./examples/failover
//
// job.go is the part to copy. It ends by itself within seconds, and exits with status
// 1 if the story went wrong or could not be told, and 2 for flags that make no sense.
package main

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/holdoff-go/holdoff/examples/internal/cli"
	"github.com/holdoff-go/holdoff/internal/provider"
)

// errWrong says that something was lost, done twice or charged to the wrong one.
var errWrong = errors.New("the story went wrong")

func main() { cli.Main("failover", run) }

func run(ctx context.Context, args []string, stdout io.Writer) error {
	fs := cli.Flags("failover", "It runs one job on two subscriptions, of which the first is used up midway.")
	latency := fs.Duration("latency", 150*time.Millisecond, "how long the provider takes for an answer")
	if _, err := cli.Parse(fs, args, stdout); err != nil {
		return err
	}
	if *latency < 0 {
		return cli.Usagef("-latency is %v: it must not be negative", *latency)
	}
	p, err := provider.Start(upstream(*latency))
	if err != nil {
		return err
	}
	defer p.Close()
	return tell(ctx, stage{p, p.URL(), nil}, stdout)
}
