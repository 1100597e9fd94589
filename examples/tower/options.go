package main

import (
	"errors"
	"io"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/holdoff-go/holdoff/examples/internal/cli"
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
	listen         string // empty: a free loopback port

	inMemory bool // no network, for tests in virtual time
}

func parse(args []string, help io.Writer) (options, error) {
	o := options{retryAfter: stated{mixed: true}}
	fs := cli.Flags("tower", "It runs the same workers under three towers, against a simulated provider that refuses every call for a while. "+
		"With -url it drives an endpoint of yours under holdoff, and with -provider it serves the provider alone.")
	fs.IntVar(&o.workers, "workers", 6, "how many workers each tower is given")
	fs.IntVar(&o.turns, "turns", 6, "how many turns, calls one after the other, a worker makes")
	fs.DurationVar(&o.storm, "storm", 40*time.Second, "how long the provider refuses every call, on the tower's clock;\n0s: never")
	fs.Var(&o.retryAfter, "retry-after", "what a refusal states: none, a `time` such as 20s (or 20, in\nseconds), or mixed: nothing in the first half of the storm and 15s in\nthe second")
	fs.Float64Var(&o.scale, "scale", 15, "how many times faster than life the tower's clock runs; 1 is real\ntime")
	fs.Uint64Var(&o.seed, "seed", 1, "seed of the provider's latencies and the workers' pauses for\nthought")
	fs.BoolVar(&o.json, "json", false, "print the figures as JSON and nothing else")
	fs.StringVar(&o.url, "url", "", "drive this OpenAI-compatible `endpoint` under holdoff, in real time,\nsuch as https://api.openai.com/v1; the key is read from OPENAI_API_KEY")
	fs.StringVar(&o.model, "model", "", "the `model` to ask for with -url")
	fs.BoolVar(&o.provider, "provider", false, "serve the provider alone, in real time, for a client of your own: it\nrefuses every call for the time of -storm, and then accepts; interrupt\nit to see what it counted")
	fs.StringVar(&o.listen, "listen", "", "the `address` that -provider listens at, such as 127.0.0.1:8089\n(default a free port on loopback)")
	given, err := cli.Parse(fs, args, help)
	if err != nil {
		return o, err
	}
	return o, o.check(given)
}

func (o *options) check(given map[string]bool) error {
	switch {
	case o.workers < 1 || o.workers > maxWorkers:
		return cli.Usagef("-workers is %d: it must be 1 to %d", o.workers, maxWorkers)
	case o.turns < 1:
		return cli.Usagef("-turns is %d: it must be at least 1", o.turns)
	case o.storm < 0:
		return cli.Usagef("-storm is %v: it must not be negative", o.storm)
	}
	if err := cli.CheckScale(o.scale); err != nil {
		return err
	}
	switch {
	case o.provider && given["url"]:
		return cli.Usagef("-provider and -url contradict each other: give one")
	case o.provider:
		if err := useless(given, "-provider", "workers", "turns", "scale", "seed", "json", "model"); err != nil {
			return err
		}
		if !given["listen"] {
			return nil
		}
		return cli.CheckAddress("listen", o.listen)
	case given["listen"]:
		return cli.Usagef("-listen needs -provider")
	case given["url"]:
		if err := useless(given, "-url", "storm", "scale", "retry-after"); err != nil {
			return err
		}
		o.scale = 1
		return o.checkEndpoint()
	case given["model"]:
		return cli.Usagef("-model needs -url")
	}
	o.model = "sim-1"
	return nil
}

// useless returns an error for a flag that is given and changes nothing.
func useless(given map[string]bool, with string, names ...string) error {
	for _, name := range names {
		if given[name] {
			return cli.Usagef("-%s changes nothing with %s: leave it out", name, with)
		}
	}
	return nil
}

// checkEndpoint completes the base URL that OpenAI clients take to the one to call.
func (o *options) checkEndpoint() error {
	u, err := url.Parse(o.url)
	if err != nil || u.User != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
		return cli.Usagef("-url must be an http or https URL such as https://api.openai.com/v1, without a user or password")
	}
	if o.model == "" {
		return cli.Usagef("-url needs -model, the name of a model the endpoint has")
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
