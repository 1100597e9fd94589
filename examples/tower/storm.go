package main

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/holdoff-go/holdoff/internal/provider"
)

// stormFrom is when the storm begins, after the first call.
const stormFrom = 15 * time.Second

// spawning is the time over which a tower starts its workers, so that the storm
// meets some in the middle of their work and some before it.
const spawning = 24 * time.Second

// script is the provider's: a storm over calls that take 2 to 6 s.
func script(o options) provider.Script {
	storm := storms(o)
	return func(c provider.Call) provider.Answer {
		for _, s := range storm {
			if a := s(c); a.Status != 0 {
				return a
			}
		}
		r := rand.New(rand.NewPCG(o.seed, uint64(c.N)))
		return provider.Answer{Delay: 2*time.Second + time.Duration(r.Int64N(int64(4*time.Second)))}
	}
}

func storms(o options) []provider.Script {
	end := stormFrom + o.storm
	if !o.retryAfter.mixed {
		return []provider.Script{provider.Storm(stormFrom, end, provider.RateLimited(o.retryAfter.wait))}
	}
	half := stormFrom + o.storm/2
	return []provider.Script{
		provider.Storm(stormFrom, half, provider.RateLimited(0)),
		provider.Storm(half, end, provider.RateLimited(mixedRetryAfter)),
	}
}

// weather tells a reader what the script does.
func weather(o options) string {
	if o.storm == 0 {
		return "It accepts every call."
	}
	end := stormFrom + o.storm
	s := fmt.Sprintf("From %s to %s it answers every call with a 429", minutes(stormFrom), minutes(end))
	switch {
	case o.retryAfter.mixed:
		return fmt.Sprintf("%s: without a Retry-After at first, with \"Retry-After: %d\" from %s on.", s, mixedRetryAfter/time.Second, minutes(stormFrom+o.storm/2))
	case o.retryAfter.wait == 0:
		return s + " that states no time."
	}
	return fmt.Sprintf("%s that states a wait of %v.", s, o.retryAfter.wait)
}
