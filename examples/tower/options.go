package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"net/url"
	"strconv"
	"strings"
	"time"
)

const (
	mixedRetryAfter = 15 * time.Second // what the second half of a mixed storm states
	maxWorkers      = 1000
)

type options struct {
	workers, turns int
	storm          time.Duration
	retryAfter     stated
	scale          float64
	seed           uint64
	json           bool
	url, model     string
	provider       bool

	inMemory bool // no network, for tests in virtual time
}

func parse(args []string, help io.Writer) (options, error) {
	o := options{retryAfter: stated{mixed: true}}
	fs := flag.NewFlagSet("tower", flag.ContinueOnError)
	fs.SetOutput(io.Discard) // main prints the error, once
	fs.IntVar(&o.workers, "workers", 6, "how many workers each tower is given")
	fs.IntVar(&o.turns, "turns", 6, "how many turns, calls one after the other, a worker makes")
	fs.DurationVar(&o.storm, "storm", 40*time.Second, "how long the provider refuses every call, on the tower's clock; 0s: never")
	fs.Var(&o.retryAfter, "retry-after", "what a refusal states: none, a `time` such as 20s, or mixed:\nnothing in the first half of the storm and 15s in the second")
	fs.Float64Var(&o.scale, "scale", 15, "how many times faster than life the tower's clock runs; 1 is real time")
	fs.Uint64Var(&o.seed, "seed", 1, "seed of the provider's latencies and the workers' pauses for thought")
	fs.BoolVar(&o.json, "json", false, "print the figures as JSON and nothing else")
	fs.StringVar(&o.url, "url", "", "drive this OpenAI-compatible `endpoint` under holdoff, in real time, such as\nhttps://api.openai.com/v1; the key is read from OPENAI_API_KEY")
	fs.BoolVar(&o.provider, "provider", false, "serve the provider alone, in real time, for a client of your own: it refuses every call for\nthe time of -storm, and then accepts; interrupt it to see what it counted")
	fs.StringVar(&o.model, "model", "", "the model to ask for with -url")
	if err := fs.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			fs.SetOutput(help)
			fs.Usage()
		}
		return o, err
	}
	given := make(map[string]bool)
	fs.Visit(func(f *flag.Flag) { given[f.Name] = true })
	return o, o.check(fs.Args(), given)
}

func (o *options) check(rest []string, given map[string]bool) error {
	switch {
	case len(rest) > 0:
		return fmt.Errorf("unexpected argument %q; see -h", rest[0])
	case o.workers < 1 || o.workers > maxWorkers:
		return fmt.Errorf("-workers is %d; it must be 1 to %d", o.workers, maxWorkers)
	case o.turns < 1:
		return fmt.Errorf("-turns is %d; it must be at least 1", o.turns)
	case o.storm < 0:
		return fmt.Errorf("-storm is %v; it must not be negative", o.storm)
	case !(o.scale >= 1 && o.scale <= 1000): // NaN too
		return fmt.Errorf("-scale is %v; it must be 1 to 1000", o.scale)
	}
	if o.provider && o.url != "" {
		return errors.New("-provider and -url contradict each other: give one")
	}
	if o.url == "" {
		if o.model != "" {
			return errors.New("-model needs -url")
		}
		o.model = "sim-1"
		return nil
	}
	for _, name := range []string{"storm", "scale", "retry-after"} {
		if given[name] {
			return fmt.Errorf("-%s belongs to the simulated provider; leave it out with -url", name)
		}
	}
	if o.model == "" {
		return errors.New("-url needs -model, the name of a model the endpoint has")
	}
	o.scale = 1
	return o.checkURL()
}

// checkURL completes the base URL that OpenAI clients take to the one to call.
func (o *options) checkURL() error {
	u, err := url.Parse(o.url)
	if err != nil || u.User != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
		return errors.New("-url must be an http or https URL such as https://api.openai.com/v1, without a user or password")
	}
	if !strings.HasSuffix(u.Path, "/chat/completions") {
		u = u.JoinPath("chat/completions")
	}
	o.url = u.String()
	return nil
}

// stated is what a refusal says of when to come back.
type stated struct {
	mixed bool
	wait  time.Duration
}

func (s *stated) String() string {
	switch {
	case s.mixed:
		return "mixed"
	case s.wait == 0:
		return "none"
	}
	return s.wait.String()
}

func (s *stated) Set(text string) error {
	switch text {
	case "mixed":
		*s = stated{mixed: true}
		return nil
	case "none":
		*s = stated{}
		return nil
	}
	d, err := time.ParseDuration(text)
	if n, notDuration := strconv.Atoi(text); notDuration == nil {
		d, err = time.Duration(n)*time.Second, nil // as the header has it
	}
	if err != nil || d < 0 {
		return errors.New("want none, mixed or a time such as 20s")
	}
	*s = stated{wait: d}
	return nil
}
