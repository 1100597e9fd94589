// Package agents stands for a spawner that exists already: it starts agents and
// tells by callbacks what becomes of them. None of its functions blocks, it knows
// nothing of holdoff, and it is the same in every variant of this example.
package agents

import (
	"context"
	"errors"
	"net/http"
	"time"
)

// A Task is work for one agent. An agent spawned again with the same ID goes on
// where the last one stopped.
type Task struct {
	ID    string
	Turns int // calls, one after the other
}

// A Tower spawns agents. Its callbacks come from the agents' goroutines: for one
// agent in order, OnExit last.
type Tower interface {
	// Spawn starts an agent, which ctx stops.
	Spawn(ctx context.Context, t Task)
	// OnTurnEnd sets what is told of each turn. Set it before the first Spawn.
	OnTurnEnd(f func(id string, err error))
	// OnExit sets what is told of each agent's end: nil when its task is done.
	// Set it before the first Spawn.
	OnExit(f func(id string, err error))
}

// ErrEvicted is the exit of an agent whose machine was needed for another.
var ErrEvicted = errors.New("agents: evicted")

// A RefusedError is the exit of an agent whose call the model's provider refused
// with a 429.
type RefusedError struct {
	Wait time.Duration // what the refusal stated; zero: nothing
}

// Error says what happened.
func (e *RefusedError) Error() string { return "agents: the provider answered 429" }

// StatusCode returns the HTTP status.
func (e *RefusedError) StatusCode() int { return http.StatusTooManyRequests }

// RetryAfter returns the stated wait.
func (e *RefusedError) RetryAfter() time.Duration { return e.Wait }
