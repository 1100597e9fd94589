package main

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/holdoff-go/holdoff/internal/provider"
	"github.com/holdoff-go/holdoff/limiter"
)

const (
	// frame is how often the progress is looked at.
	frame = 100 * time.Millisecond
	// stormFrom is when the storm begins, after the first call: some tasks are done
	// by then, some at work, and some not started.
	stormFrom = 8 * time.Second
)

// A scene is what the swarm is put into: a clock and a provider.
type scene struct {
	options options
	clock   limiter.Clock
	start   time.Time
	client  *client
	sim     *provider.Server
}

func newScene(o options) (*scene, error) {
	s := &scene{options: o, clock: fastClock{time.Now(), o.scale}}
	begin := provider.Start
	if o.inMemory {
		begin = provider.New
	}
	var err error
	if s.sim, err = begin(provider.Config{Script: script(o), Clock: s.clock}); err != nil {
		return nil, err
	}
	s.start = s.clock.Now()
	s.client = &client{http: &http.Client{Transport: s.sim.Transport()}, url: "http://provider/v1"}
	if !o.inMemory {
		wires := http.DefaultTransport.(*http.Transport).Clone()
		wires.MaxIdleConnsPerHost = o.cap
		s.client = &client{http: &http.Client{Transport: wires}, url: s.sim.URL()}
	}
	return s, nil
}

func (s *scene) close() {
	s.client.http.CloseIdleConnections()
	s.sim.Close()
}

// at is the time since the start, on the scene's clock.
func (s *scene) at() time.Duration { return s.clock.Now().Sub(s.start) }

// script is a storm that states nothing, over calls that take 3 to 9 s.
func script(o options) provider.Script {
	storm := provider.Storm(stormFrom, stormFrom+o.storm, provider.RateLimited(0))
	return func(c provider.Call) provider.Answer {
		if a := storm(c); a.Status != 0 {
			return a
		}
		r := rand.New(rand.NewPCG(o.seed, uint64(c.N)))
		return provider.Answer{
			Delay: 3*time.Second + time.Duration(r.Int64N(int64(6*time.Second))),
			Text:  fmt.Sprintf("Here is what %s asked for.", c.Worker),
		}
	}
}

// preface says what will be seen.
func preface(o options) string {
	s := fmt.Sprintf("%d tasks of one call each, at most %d of them alive, against a simulated provider on loopback.", o.tasks, o.cap)
	if o.pace > 0 {
		s += fmt.Sprintf(" %d start at once, and then one each %v.", o.burst, o.pace)
	}
	if o.storm > 0 {
		s += fmt.Sprintf("\nFrom %s to %s it answers every call with a 429 that states no time.", minutes(stormFrom), minutes(stormFrom+o.storm))
	}
	if o.scale > 1 {
		s += fmt.Sprintf("\nThe clock runs %g times as fast as life; all times are on it.", o.scale)
	}
	return s + "\n"
}

// A fastClock runs scale times faster than life. holdoff, the provider and the
// tasks all live by it, so that no single setting is sped up.
type fastClock struct {
	start time.Time
	scale float64
}

func (c fastClock) Now() time.Time {
	return c.start.Add(time.Duration(float64(time.Since(c.start)) * c.scale))
}

func (c fastClock) After(d time.Duration) <-chan time.Time {
	return time.After(time.Duration(float64(d) / c.scale))
}

// minutes writes a time since the start as 1:05.
func minutes(d time.Duration) string {
	s := int(max(d, 0).Round(time.Second) / time.Second)
	return fmt.Sprintf("%d:%02d", s/60, s%60)
}
