// Tower shows what holdoff is for. It starts an LLM provider on loopback that
// refuses every call for a while, runs the same workers under three towers, and
// puts what came of them side by side:
//
//	go run ./examples/tower
//
// holdoff.go is the tower to copy. With -url it drives any OpenAI-compatible
// endpoint instead, in real time:
//
//	OPENAI_API_KEY=… go run ./examples/tower -url https://api.openai.com/v1 -model gpt-5-mini
//
// With -provider it serves the provider alone, for a client of your own.
//
// It exits with status 1 if holdoff lost a worker or it could not run, and 2 for
// flags that make no sense.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/holdoff-go/holdoff/examples/internal/cli"
)

// errLost says that a worker did not finish under holdoff.
var errLost = errors.New("holdoff lost a worker")

func main() { cli.Main("tower", run) }

func run(ctx context.Context, args []string, stdout io.Writer) error {
	o, err := parse(args, stdout)
	if err != nil {
		return err
	}
	if o.provider {
		return serveProvider(ctx, o, stdout)
	}
	return perform(ctx, o, stdout)
}

// acts are the towers, in the order they are shown.
func acts(o options) []act {
	holdoff := act{
		name: "holdoff", title: "holdoff", build: newHoldoff,
		story: "Under holdoff: the refused back off, nobody new starts, one probes for all.",
	}
	if o.url != "" {
		return []act{holdoff}
	}
	return []act{
		{
			name: "plain", title: "plain spawner", build: newPlain,
			story: "A plain spawner: a worker dies of its first refusal; the next is spawned.",
		},
		{
			name: "quick_retries", title: "quick retries", build: newQuick,
			story: "The same, with an SDK's usual two quick retries, after 0.5 s and 1 s.",
		},
		holdoff,
	}
}

func perform(ctx context.Context, o options, stdout io.Writer) error {
	text, d := stdout, newDisplay(stdout, o.workers)
	if o.json {
		text, d = io.Discard, silent{}
	}
	fmt.Fprintln(text, cli.Wrap(preface(o)))
	all, shown := []figures(nil), acts(o)
	for i, a := range shown {
		story := a.story
		if len(shown) > 1 {
			story = fmt.Sprintf("%d. %s", i+1, story)
		}
		fmt.Fprintln(text, cli.Wrap(story))
		f, err := play(ctx, o, a, d)
		if err != nil {
			return err
		}
		fmt.Fprintln(text)
		all = append(all, f)
		if ctx.Err() != nil {
			break
		}
	}
	writeTable(text, o, all)
	if o.json {
		if err := writeJSON(stdout, o, all); err != nil {
			return err
		}
	}
	return verdict(ctx, o, all, text)
}

// preface says what will be seen.
func preface(o options) string {
	fleet := fmt.Sprintf("%d workers of %d turns each", o.workers, o.turns)
	if o.url != "" {
		return fmt.Sprintf("%s against %s,\nin real time: a pause of 60 s, retries after 3, 6 and 12 s.\n", fleet, o.url)
	}
	text := fmt.Sprintf("%s against a simulated provider, over real HTTP on loopback.\n%s\n", fleet, weather(o))
	if o.scale == 1 {
		return text + "The clock runs in real time.\n"
	}
	here := func(s float64) string { return fmt.Sprintf("%.3g s", s/o.scale) }
	return text + fmt.Sprintf("The clock runs %g times as fast as life: the pause of 60 s takes %s, "+
		"the ladder of 3, 6 and 12 s takes %s, %s and %s. All times shown are on that clock.\n",
		o.scale, here(60), here(3), here(6), here(12))
}

// verdict says whether holdoff kept its word.
func verdict(ctx context.Context, o options, all []figures, text io.Writer) error {
	if ctx.Err() != nil {
		return errors.New("interrupted")
	}
	f := all[len(all)-1]
	if lost := o.workers - f.Finished; lost > 0 {
		return fmt.Errorf("%w: %d of %d did not finish", errLost, lost, o.workers)
	}
	fmt.Fprintf(text, "holdoff lost nobody: %d refusals, and every worker finished its %d turns.\n", f.Refused, o.turns)
	return nil
}
