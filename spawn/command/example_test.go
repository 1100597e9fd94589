package command_test

import (
	"context"
	"fmt"
	"time"

	"github.com/holdoff-go/holdoff/limiter"
	"github.com/holdoff-go/holdoff/retry"
	"github.com/holdoff-go/holdoff/spawn"
	"github.com/holdoff-go/holdoff/spawn/command"
)

// An agent's CLI as a worker: it exits with 75 at first, because it was refused,
// and is run again, a few milliseconds later here.
func Example() {
	l, err := limiter.New(limiter.Config{ProbeAfter: time.Millisecond})
	if err != nil {
		fmt.Println(err)
		return
	}
	s, err := spawn.New(spawn.Config{Limiter: l, Policy: retry.Policy{Initial: time.Millisecond}})
	if err != nil {
		fmt.Println(err)
		return
	}
	runner := command.Runner{Record: command.JSON}
	out, err := spawn.Do(context.Background(), s, func(ctx context.Context, a *spawn.Attempt) ([]byte, error) {
		// agent stands for exec.Command("agent", "exec", "--json", prompt).
		if a.Number() == 1 {
			return runner.Run(ctx, agent("is refused"))
		}
		return runner.Run(ctx, agent("works"))
	})
	fmt.Printf("%s%v\n", out, err)
	// Output:
	// the artefact
	// <nil>
}
