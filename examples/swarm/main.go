// Swarm runs 60 tasks as one swarm against an LLM provider on loopback that
// refuses every call for a while, with a progress bar:
//
//	go run ./examples/swarm
//
// batch.go is the part to copy. With -store a second run starts only the tasks
// that the first one did not finish, say because it was interrupted.
//
// It exits with status 1 if a task was lost, it could not run or was interrupted,
// and 2 for flags that make no sense.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/holdoff-go/holdoff/examples/internal/cli"
)

var (
	errLost        = errors.New("tasks were lost")
	errInterrupted = errors.New("interrupted")
)

func main() { cli.Main("swarm", run) }

func run(ctx context.Context, args []string, stdout io.Writer) error {
	o, err := parse(args, stdout)
	if err != nil {
		return err
	}
	return perform(ctx, o, stdout)
}

// perform runs the tasks, shows them meanwhile, and tells how it ended.
func perform(ctx context.Context, o options, stdout io.Writer) error {
	text, d := stdout, newDisplay(stdout)
	if o.json {
		text, d = io.Discard, silent{}
	}
	fmt.Fprintln(text, cli.Wrap(preface(o)))
	s, err := newScene(o)
	if err != nil {
		return err
	}
	defer s.close()
	b, err := newBatch(s, d)
	if err != nil {
		return err
	}
	defer b.close()

	watched := make(chan struct{})
	over := make(chan struct{})
	go func() {
		defer close(watched)
		b.watch(d, over)
	}()
	f := b.run(ctx)
	close(over)
	<-watched
	d.end()

	fmt.Fprint(text, f.summary())
	if o.json {
		if err := f.writeJSON(stdout); err != nil {
			return err
		}
	}
	switch {
	case ctx.Err() != nil:
		if o.store != "" {
			return fmt.Errorf("%w; run it again to go on", errInterrupted)
		}
		return errInterrupted
	case f.Done < f.Tasks:
		return fmt.Errorf("%w: %d of %d", errLost, f.Tasks-f.Done, f.Tasks)
	}
	return nil
}
