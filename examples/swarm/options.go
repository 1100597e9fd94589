package main

import (
	"io"
	"time"

	"github.com/holdoff-go/holdoff/examples/internal/cli"
)

const maxTasks = 10_000

type options struct {
	tasks, cap, burst int
	pace, storm       time.Duration
	scale             float64
	seed              uint64
	store             string
	json              bool

	inMemory bool // no network, for tests in virtual time
}

func parse(args []string, help io.Writer) (options, error) {
	var o options
	fs := cli.Flags("swarm", "It runs tasks as one swarm against a simulated provider that refuses every call for a while.")
	fs.IntVar(&o.tasks, "tasks", 60, "how many tasks there are, of one call each")
	fs.IntVar(&o.cap, "cap", 24, "how many of them are alive at once")
	fs.IntVar(&o.burst, "burst", 8, "how many are started at once, before the pace")
	fs.DurationVar(&o.pace, "pace", 700*time.Millisecond, "the time between two starts after the burst; 0s: none")
	fs.DurationVar(&o.storm, "storm", 40*time.Second, "how long the provider refuses every call, on the swarm's clock;\n0s: never")
	fs.Float64Var(&o.scale, "scale", 15, "how many times faster than life the swarm's clock runs; 1 is real\ntime")
	fs.Uint64Var(&o.seed, "seed", 1, "seed of the provider's latencies")
	fs.StringVar(&o.store, "store", "", "keep the results in this `file`, and start only the tasks that have\nnone there")
	fs.BoolVar(&o.json, "json", false, "print the figures as JSON and nothing else")
	if _, err := cli.Parse(fs, args, help); err != nil {
		return o, err
	}
	switch {
	case o.tasks < 1 || o.tasks > maxTasks:
		return o, cli.Usagef("-tasks is %d: it must be 1 to %d", o.tasks, maxTasks)
	case o.cap < 1:
		return o, cli.Usagef("-cap is %d: it must be at least 1", o.cap)
	case o.burst < 1:
		return o, cli.Usagef("-burst is %d: it must be at least 1", o.burst)
	case o.pace < 0:
		return o, cli.Usagef("-pace is %v: it must not be negative", o.pace)
	case o.storm < 0:
		return o, cli.Usagef("-storm is %v: it must not be negative", o.storm)
	}
	if err := cli.CheckScale(o.scale); err != nil {
		return o, err
	}
	if o.pace == 0 {
		o.burst = 0 // it has no meaning then
	}
	return o, nil
}
