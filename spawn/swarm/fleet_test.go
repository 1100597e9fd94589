package swarm_test

import (
	"context"
	"iter"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdoff-go/holdoff/limiter"
	"github.com/holdoff-go/holdoff/spawn"
	"github.com/holdoff-go/holdoff/spawn/swarm"
)

// refused is a refusal that states a time, or none.
type refused time.Duration

func (r refused) Error() string             { return "the window is full" }
func (r refused) StatusCode() int           { return 429 }
func (r refused) RetryAfter() time.Duration { return time.Duration(r) }

// A fleet is a limiter and a spawner in a bubble, and the record of the calls
// that its members make.
type fleet struct {
	t       *testing.T
	limiter *limiter.Limiter
	spawner *spawn.Spawner
	began   time.Time

	mu     sync.Mutex
	calls  []call
	inside int
	most   int // at work at once
}

type call struct {
	key string
	at  time.Duration
}

func newFleet(t *testing.T, lc limiter.Config, sc spawn.Config) *fleet {
	t.Helper()
	l, err := limiter.New(lc)
	require.NoError(t, err)
	sc.Limiter = l
	s, err := spawn.New(sc)
	require.NoError(t, err)
	return &fleet{t: t, limiter: l, spawner: s, began: time.Now()}
}

func (f *fleet) now() time.Duration { return time.Since(f.began) }

// calling returns a function that records its call, takes for as long as take,
// and then answers by answer.
func (f *fleet) calling(take time.Duration, answer func(key string, at time.Duration) error) func(context.Context, *spawn.Attempt, string) (string, error) {
	return func(ctx context.Context, a *spawn.Attempt, in string) (string, error) {
		f.mu.Lock()
		at := f.now()
		f.calls = append(f.calls, call{in, at})
		f.inside++
		f.most = max(f.most, f.inside)
		f.mu.Unlock()
		defer func() {
			f.mu.Lock()
			f.inside--
			f.mu.Unlock()
		}()
		if answer != nil {
			if err := answer(in, at); err != nil {
				return "", wait(ctx, 50*time.Millisecond, err)
			}
		}
		return "done " + in, wait(ctx, take, nil)
	}
}

func (f *fleet) made() []call {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.calls)
}

// madeBy are the times of the calls of one member.
func (f *fleet) madeBy(key string) []time.Duration {
	var at []time.Duration
	for _, c := range f.made() {
		if c.key == key {
			at = append(at, c.at)
		}
	}
	return at
}

func wait(ctx context.Context, d time.Duration, err error) error {
	select {
	case <-time.After(d):
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// letters are inputs that are their own keys.
func letters(keys ...string) iter.Seq2[string, string] {
	return swarm.Keyed(slices.Values(keys), func(s string) string { return s })
}

type outcome = swarm.Result[string]

// collect ranges over all results.
func collect(results iter.Seq2[string, outcome]) (keys []string, all []outcome) {
	for key, r := range results {
		keys = append(keys, key)
		all = append(all, r)
	}
	return keys, all
}

func newSwarm(t *testing.T, cfg swarm.Config[string, string], inputs iter.Seq2[string, string], f func(context.Context, *spawn.Attempt, string) (string, error)) *swarm.Swarm[string, string, string] {
	t.Helper()
	s, err := swarm.New(cfg, inputs, f)
	require.NoError(t, err)
	return s
}

func states(all []outcome) []spawn.State {
	var states []spawn.State
	for _, r := range all {
		states = append(states, r.Run.State)
	}
	return states
}

// always refuses every call.
func always(r refused) func(string, time.Duration) error {
	return func(string, time.Duration) error { return r }
}

// storm refuses every call from one time on and before another.
func storm(from, until time.Duration, r refused) func(string, time.Duration) error {
	return func(_ string, at time.Duration) error {
		if from <= at && at < until {
			return r
		}
		return nil
	}
}
