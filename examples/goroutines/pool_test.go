package main

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/holdoff-go/holdoff/examples/internal/stage"
	"github.com/holdoff-go/holdoff/internal/provider"
	"github.com/holdoff-go/holdoff/retry"
)

// heard is what the callbacks were told.
type heard struct {
	mu   sync.Mutex
	done []string
	dead map[string]error
}

func (h *heard) callbacks() callbacks {
	return callbacks{
		onDone: func(j *job) {
			h.mu.Lock()
			defer h.mu.Unlock()
			h.done = append(h.done, j.id)
		},
		onDead: func(j *job, err error) {
			h.mu.Lock()
			defer h.mu.Unlock()
			if h.dead == nil {
				h.dead = make(map[string]error)
			}
			h.dead[j.id] = err
		},
	}
}

func run(t *testing.T, script provider.Script) (*heard, provider.Counts) {
	t.Helper()
	var said strings.Builder
	s, err := stage.InMemory(&said, script)
	require.NoError(t, err)
	defer s.Close()
	jobs := make([]*job, 12)
	for i := range jobs {
		jobs[i] = &job{id: fmt.Sprintf("job-%d", i+1)}
	}
	var h heard
	require.NoError(t, work(t.Context(), s, jobs, h.callbacks()))
	return &h, s.Counts()
}

// Given a storm over the pool, every job is done, no call is made again, and the
// provider is not hammered.
func TestNobodyDies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, c := run(t, nil)
		require.Empty(t, h.dead)
		require.Len(t, h.done, 12)
		require.Equal(t, 12*calls, c.Accepted, "no accepted call is made again")
		require.Positive(t, c.Refused, "there was a storm")
		require.LessOrEqual(t, c.Refused, 8+6, "the first burst, and a probe now and then")
		require.LessOrEqual(t, c.MaxInFlight, 8)
	})
}

// A job that no retry will mend is told as dead, once.
func TestTheDeadAreTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, c := run(t, func(c provider.Call) provider.Answer {
			if c.Worker == "job-5" {
				return provider.Answer{Status: 400, Type: "invalid_request_error", Code: "context_length_exceeded", Message: "too long"}
			}
			return provider.Answer{}
		})
		require.Len(t, h.dead, 1)
		require.ErrorIs(t, h.dead["job-5"], retry.Fatal)
		require.Len(t, h.done, 11)
		require.Zero(t, c.Workers["job-5"].Accepted)
	})
}
