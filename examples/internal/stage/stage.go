// Package stage is what the examples with a framework play on: a provider that
// refuses every call for a while, a clock that runs faster than life, and words
// for what the workers do. It is no part of what to copy.
package stage

import (
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/holdoff-go/holdoff/internal/provider"
	"github.com/holdoff-go/holdoff/limiter"
	"github.com/holdoff-go/holdoff/spawn"
)

// The storm and the calls around it, on the stage's clock.
const (
	stormFrom  = 3 * time.Second
	stormUntil = 40 * time.Second
	latency    = 2 * time.Second
)

// A Stage is one provider and the time it lives in. Close it.
type Stage struct {
	// Clock is for everything on the stage.
	Clock limiter.Clock
	// URL is the provider's, as SDKs take it.
	URL string
	// Transport reaches the provider.
	Transport http.RoundTripper

	provider *provider.Server
	start    time.Time

	mu  sync.Mutex // guards out
	out io.Writer
}

// open returns a stage on loopback whose clock runs scale times faster than life.
// What happens is told to out.
func open(scale float64, out io.Writer, script provider.Script) (*Stage, error) {
	clock := fastClock{time.Now(), scale}
	p, err := provider.Start(config(script, clock))
	if err != nil {
		return nil, err
	}
	wires := http.DefaultTransport.(*http.Transport).Clone()
	return &Stage{Clock: clock, URL: p.URL(), Transport: wires, provider: p, start: clock.Now(), out: out}, nil
}

// InMemory returns a stage without a network, in the time of a testing/synctest
// bubble.
func InMemory(out io.Writer, script provider.Script) (*Stage, error) {
	clock := fastClock{time.Now(), 1}
	p, err := provider.New(config(script, clock))
	if err != nil {
		return nil, err
	}
	return &Stage{Clock: clock, URL: "http://provider/v1", Transport: p.Transport(), provider: p, start: clock.Now(), out: out}, nil
}

func config(script provider.Script, clock limiter.Clock) provider.Config {
	refuse := provider.Storm(stormFrom, stormUntil, provider.RateLimited(0))
	return provider.Config{Latency: latency, Clock: clock, Script: func(c provider.Call) provider.Answer {
		if a := refuse(c); a.Status != 0 || script == nil {
			return a
		}
		return script(c)
	}}
}

// Close ends the provider.
func (s *Stage) Close() {
	if wires, ok := s.Transport.(*http.Transport); ok {
		wires.CloseIdleConnections()
	}
	s.provider.Close()
}

// Counts is what the provider has seen.
func (s *Stage) Counts() provider.Counts { return s.provider.Counts() }

// Sayf writes one line, after the time.
func (s *Stage) Sayf(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := int(s.Clock.Now().Sub(s.start) / time.Second)
	fmt.Fprintf(s.out, "  %d:%02d  %s\n", at/60, at%60, fmt.Sprintf(format, args...))
}

// Tell tells what becomes of the workers. It is a spawn.Config.OnEvent.
func (s *Stage) Tell(e spawn.Event) {
	switch {
	case e.State == spawn.BackingOff:
		s.Sayf("%s backs off: %v", e.ID, e.Verdict.Class)
	case e.State.Terminal():
		s.Sayf("%s %v, on attempt %d", e.ID, e.State, e.Attempt)
	}
}

// Sum tells how it ended, with the provider's own figures.
func (s *Stage) Sum(results []spawn.Result) {
	succeeded := 0
	for _, r := range results {
		if r.State == spawn.Succeeded {
			succeeded++
		}
	}
	c := s.Counts()
	s.Sayf("%d of %d succeeded; the provider accepted %d calls and refused %d", succeeded, len(results), c.Accepted, c.Refused)
}

// A fastClock runs scale times faster than life.
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
