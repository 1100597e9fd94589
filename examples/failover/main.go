// Failover runs one job on two subscriptions, of which the first is used up midway,
// against an LLM provider on loopback, and tells what happened and who was charged:
//
//	go run ./examples/failover
//
// job.go is the part to copy. It ends by itself within seconds, and exits with status
// 1 if the story went wrong, and 2 if it could not be told.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"time"

	"github.com/holdoff-go/holdoff/internal/provider"
)

// errWrong says that something was lost, done twice or charged to the wrong one.
var errWrong = errors.New("the story went wrong")

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err == nil || errors.Is(err, flag.ErrHelp) {
		return
	}
	fmt.Fprintln(os.Stderr, "failover:", err)
	if errors.Is(err, errWrong) {
		os.Exit(1)
	}
	os.Exit(2)
}

func run(ctx context.Context, args []string, stdout io.Writer) error {
	fs := flag.NewFlagSet("failover", flag.ContinueOnError)
	fs.SetOutput(stdout)
	latency := fs.Duration("latency", 150*time.Millisecond, "how long the provider takes for an answer")
	if err := fs.Parse(args); err != nil {
		return err
	}
	if fs.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q", fs.Arg(0))
	}
	p, err := provider.Start(upstream(*latency))
	if err != nil {
		return err
	}
	defer p.Close()
	return tell(ctx, stage{p, p.URL(), nil}, stdout)
}
