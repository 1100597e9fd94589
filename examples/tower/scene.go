package main

import (
	"context"
	"net/http"
	"os"
	"time"

	"github.com/holdoff-go/holdoff/internal/provider"
	"github.com/holdoff-go/holdoff/limiter"
)

// frame is how often the roster is looked at.
const frame = 50 * time.Millisecond

// A tower runs a fleet of agents in one way.
type tower interface {
	run(ctx context.Context, agents []*agent) // returns when every agent has ended
	roster() roster
}

// An act is a tower to be shown.
type act struct {
	name  string // in JSON
	title string // in the table
	story string // what it does
	build func(*scene) (tower, error)
}

// A scene is what a tower is put into: agents and an upstream, new for each act.
type scene struct {
	clock  limiter.Clock
	start  time.Time
	over   time.Duration // how long spawning takes
	client *client
	agents []*agent
	sim    *provider.Server // nil with -url
}

func newScene(o options) (*scene, error) {
	s := &scene{clock: newClock(o.scale)}
	wires := http.DefaultTransport.(*http.Transport).Clone()
	wires.MaxIdleConnsPerHost = o.workers
	s.client = &client{http: &http.Client{Transport: wires}, model: o.model, url: o.url}
	if o.url != "" {
		s.client.key = os.Getenv("OPENAI_API_KEY")
		s.client.http.Timeout = 10 * time.Minute // as SDKs have it
	} else if err := s.simulate(o); err != nil {
		return nil, err
	}
	s.agents = newAgents(o, s.client, s.clock)
	s.start = s.clock.Now()
	return s, nil
}

func (s *scene) simulate(o options) error {
	begin := provider.Start
	if o.inMemory {
		begin = provider.New
	}
	sim, err := begin(provider.Config{Script: script(o), Clock: s.clock})
	if err != nil {
		return err
	}
	s.over = spawning
	s.sim, s.client.url = sim, sim.URL()+"/chat/completions"
	if o.inMemory {
		s.client.http.Transport, s.client.url = sim.Transport(), "http://sim/v1/chat/completions"
	}
	return nil
}

func (s *scene) close() {
	s.client.http.CloseIdleConnections()
	if s.sim != nil {
		s.sim.Close()
	}
}

// calls are counted by the provider where it is ours, else by the client.
func (s *scene) calls() tally {
	if s.sim == nil {
		return s.client.counted()
	}
	c := s.sim.Counts()
	return tally{calls: c.Calls, accepted: c.Accepted, refused: c.Refused, failed: c.Broken + c.Canceled}
}

// roster is the tower's, with the turns the agents have made.
func (s *scene) roster(t tower) roster {
	r := t.roster()
	for i, a := range s.agents {
		r.rows[i].made = a.reached()
	}
	return r
}

// play runs an act to its end, shows it meanwhile, and counts.
func play(ctx context.Context, o options, a act, d display) (figures, error) {
	s, err := newScene(o)
	if err != nil {
		return figures{}, err
	}
	defer s.close()
	t, err := a.build(s)
	if err != nil {
		return figures{}, err
	}
	began := time.Now()
	done := make(chan struct{})
	go func() {
		defer close(done)
		t.run(ctx, s.agents)
	}()
	tick := time.NewTicker(frame)
	defer tick.Stop()
	for running := true; running; {
		select {
		case <-done:
			running = false
		case <-tick.C:
		}
		d.show(s.clock.Now().Sub(s.start), s.roster(t))
	}
	d.end()
	f := tell(s.roster(t).rows, s.calls())
	f.Tower, f.title = a.name, a.title
	f.Seconds = seconds(s.clock.Now().Sub(s.start))
	f.WallSeconds = seconds(time.Since(began))
	return f, nil
}
