package main

import (
	"net/http"
	"sync/atomic"
	"time"

	"github.com/holdoff-go/holdoff/internal/provider"
)

// The tokens of the two subscriptions, and how many calls the first is good for.
const (
	workToken = "sk-demo-work"
	homeToken = "sk-demo-home"
	workCalls = 2
	resetIn   = 40 * time.Minute
)

// A stage is what the story plays on: a provider that sells subscriptions.
type stage struct {
	provider *provider.Server
	url      string
	wires    http.RoundTripper // nil: the network
}

// upstream refuses the first subscription after some calls, for as long as resetIn.
func upstream(latency time.Duration) provider.Config {
	var calls atomic.Int64
	return provider.Config{Latency: latency, Script: func(c provider.Call) provider.Answer {
		if c.Key != workToken || calls.Add(1) <= workCalls {
			return provider.Answer{}
		}
		usedUp := provider.QuotaExhausted()
		usedUp.RetryAfter = resetIn
		return usedUp
	}}
}
