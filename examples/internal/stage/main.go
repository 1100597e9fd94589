package stage

import (
	"context"
	"io"

	"github.com/holdoff-go/holdoff/examples/internal/cli"
	"github.com/holdoff-go/holdoff/internal/provider"
)

// Main is a whole program: it opens a stage, plays on it, and exits as cli.Main does.
func Main(name string, script provider.Script, play func(context.Context, *Stage) error) {
	cli.Main(name, func(ctx context.Context, args []string, stdout io.Writer) error {
		return run(ctx, name, args, stdout, script, play)
	})
}

func run(ctx context.Context, name string, args []string, stdout io.Writer, script provider.Script, play func(context.Context, *Stage) error) error {
	fs := cli.Flags(name, "It runs a fleet against a simulated provider that refuses every call for a while.")
	scale := fs.Float64("scale", 10, "how many times faster than life the clock runs; 1 is real time")
	if _, err := cli.Parse(fs, args, stdout); err != nil {
		return err
	}
	if err := cli.CheckScale(*scale); err != nil {
		return err
	}
	s, err := open(*scale, stdout, script)
	if err != nil {
		return err
	}
	defer s.Close()
	err = play(ctx, s)
	if ctx.Err() != nil {
		return context.Cause(ctx) // which each of the fleet has as its error
	}
	return err
}
