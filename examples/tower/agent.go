package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/holdoff-go/holdoff/limiter"
)

// An agent is an LLM-like worker: a conversation of several turns, each a call
// that builds on the ones before. It knows nothing of limits. What it has
// reached outlives a failed call: who runs it may go on where it stopped.
type agent struct {
	id     string
	turns  int
	client *client
	clock  limiter.Clock
	think  *rand.Rand

	mu   sync.Mutex
	talk []message
	made int // turns accepted
}

// newAgents makes the fleet of one run, the same for the same seed.
func newAgents(o options, c *client, clock limiter.Clock) []*agent {
	width := len(fmt.Sprint(o.workers))
	agents := make([]*agent, o.workers)
	for i := range agents {
		id := fmt.Sprintf("w%0*d", width, i+1)
		agents[i] = &agent{
			id: id, turns: o.turns, client: c, clock: clock,
			think: rand.New(rand.NewPCG(o.seed, uint64(i))),
			talk:  []message{{"system", "You are " + id + ", an agent that works in small steps. Answer in one short sentence."}},
		}
	}
	return agents
}

// turn makes the next turn's call, and on success the turn counts as made.
func (a *agent) turn(ctx context.Context) error {
	talk := append(a.history(), message{"user", fmt.Sprintf("Step %d of %d: what do you do?", a.reached()+1, a.turns)})
	reply, err := a.client.complete(ctx, a.id, talk)
	if err != nil {
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.talk = append(talk, message{"assistant", reply})
	a.made++
	return nil
}

// ponder is the agent's work between two calls: half a second to one and a half.
func (a *agent) ponder(ctx context.Context) error {
	return sleep(ctx, a.clock, 500*time.Millisecond+time.Duration(a.think.Int64N(int64(time.Second))))
}

func (a *agent) history() []message {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.talk[:len(a.talk):len(a.talk)]
}

func (a *agent) reached() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.made
}

func (a *agent) finished() bool { return a.reached() >= a.turns }

func sleep(ctx context.Context, clock limiter.Clock, d time.Duration) error {
	if d > 0 {
		select {
		case <-clock.After(d):
		case <-ctx.Done():
		}
	}
	return context.Cause(ctx)
}
