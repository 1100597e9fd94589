package provider

import (
	"maps"
	"sync"
	"time"
)

// A Tally counts calls by what became of them. Calls is the sum of the others
// and of the calls still in flight.
type Tally struct {
	Calls    int // well-formed calls that arrived
	Accepted int // answered in full
	Refused  int // answered with an error
	Broken   int // cut halfway through the reply
	Canceled int // given up by the client, or ended by Close, before an answer
}

// Counts is what a provider has seen.
type Counts struct {
	Tally
	Invalid     int              // requests that were no chat completion: wrong path, method or body
	MaxInFlight int              // the most calls in flight at once
	Workers     map[string]Tally // by the request's "user"
	Keys        map[string]Tally // by bearer token
}

// An outcome picks the field of a Tally that a call ends in.
type outcome func(*Tally) *int

func accepted(t *Tally) *int { return &t.Accepted }
func refused(t *Tally) *int  { return &t.Refused }
func broken(t *Tally) *int   { return &t.Broken }
func canceled(t *Tally) *int { return &t.Canceled }

// tally is Counts as it grows.
type tally struct {
	mu       sync.Mutex
	counts   Counts
	inFlight int
	first    time.Time // arrival of the first call
}

// arrive counts a call in and completes what a Script is told of it.
func (t *tally) arrive(c *Call, now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.inFlight++
	t.counts.MaxInFlight = max(t.counts.MaxInFlight, t.inFlight)
	t.count(*c, func(y *Tally) *int { return &y.Calls })
	if t.counts.Calls == 1 {
		t.first = now
	}
	// Calls that cross may come in the wrong order of their times: one that read the
	// clock before the first did arrives with it.
	c.N, c.At, c.InFlight = t.counts.Calls, max(now.Sub(t.first), 0), t.inFlight
}

// end counts a call out.
func (t *tally) end(c Call, o outcome) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.inFlight--
	t.count(c, o)
}

func (t *tally) invalid() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.counts.Invalid++
}

// count adds one in all three places; mu is held.
func (t *tally) count(c Call, o outcome) {
	*o(&t.counts.Tally)++
	t.counts.Workers = add(t.counts.Workers, c.Worker, o)
	t.counts.Keys = add(t.counts.Keys, c.Key, o)
}

func add(m map[string]Tally, name string, o outcome) map[string]Tally {
	if m == nil {
		m = make(map[string]Tally)
	}
	y := m[name]
	*o(&y)++
	m[name] = y
	return m
}

func (t *tally) snapshot() Counts {
	t.mu.Lock()
	defer t.mu.Unlock()
	c := t.counts
	c.Workers, c.Keys = maps.Clone(c.Workers), maps.Clone(c.Keys)
	return c
}
