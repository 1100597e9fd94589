// Package wrap_test puts holdoff before a spawner that exists already,
// agents.Tower, and checks that ten changed lines of its host do it.
package wrap_test

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/holdoff-go/holdoff/examples/wrap/agents"
	before "github.com/holdoff-go/holdoff/examples/wrap/before"
	hooks "github.com/holdoff-go/holdoff/examples/wrap/hooks"
	viaspawn "github.com/holdoff-go/holdoff/examples/wrap/viaspawn"
	"github.com/holdoff-go/holdoff/internal/provider"
	"github.com/holdoff-go/holdoff/limiter"
	"github.com/holdoff-go/holdoff/retry"
	"github.com/holdoff-go/holdoff/spawn"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A desk is any variant of the host.
type desk interface {
	Open()
	Add(agents.Task)
	Tick(context.Context)
}

// A booking is any variant's Booking.
type booking struct {
	ID              string
	Turns, Refusals int
	Err             error
}

// A variant makes a host before tower.
type variant func(t *testing.T, tower agents.Tower, book func(booking)) desk

func asBefore(_ *testing.T, tower agents.Tower, book func(booking)) desk {
	return &before.Desk{Tower: tower, OnBooked: func(b before.Booking) { book(booking(b)) }}
}

func withHooks(t *testing.T, tower agents.Tower, book func(booking)) desk {
	return &hooks.Desk{Tower: tower, Limiter: newLimiter(t), OnBooked: func(b hooks.Booking) { book(booking(b)) }}
}

func viaSpawn(t *testing.T, tower agents.Tower, book func(booking)) desk {
	s, err := spawn.New(spawn.Config{Limiter: newLimiter(t)})
	require.NoError(t, err)
	return &viaspawn.Desk{Tower: tower, Spawner: s, OnBooked: func(b viaspawn.Booking) { book(booking(b)) }}
}

func newLimiter(t *testing.T) *limiter.Limiter {
	t.Helper()
	l, err := limiter.New(limiter.Config{})
	require.NoError(t, err)
	return l
}

const (
	jobs  = 8
	turns = 5
	// A storm meets jobs 1 to 4 at work; the other four come during it.
	stormFrom, stormUntil = 7 * time.Second, 47 * time.Second
)

// A seen is a call as the provider saw it.
type seen struct {
	worker  string
	at      time.Duration
	refused bool
}

// host runs a variant until all jobs are booked, as its owner does: a job every
// two seconds, a tick every second.
func host(t *testing.T, v variant, refusal provider.Answer) (booked []booking, calls []seen) {
	t.Helper()
	var mu sync.Mutex
	storm := provider.Storm(stormFrom, stormUntil, refusal)
	sim, err := provider.New(provider.Config{Latency: 3 * time.Second, Script: func(c provider.Call) provider.Answer {
		a := storm(c)
		mu.Lock()
		defer mu.Unlock()
		calls = append(calls, seen{c.Worker, c.At, a.Status != 0})
		return a
	}})
	require.NoError(t, err)
	defer sim.Close()
	tower := agents.NewLocal(&http.Client{Transport: sim.Transport()}, "http://sim/v1")
	d := v(t, tower, func(b booking) {
		mu.Lock()
		defer mu.Unlock()
		booked = append(booked, b)
	})
	d.Open()
	ended := func() int {
		mu.Lock()
		defer mu.Unlock()
		return len(booked)
	}
	for second := 0; ended() < jobs; second++ {
		require.Less(t, second, 600, "booked: %v", ended())
		if n := second / 2; second%2 == 0 && n < jobs {
			d.Add(agents.Task{ID: string(rune('a' + n)), Turns: turns})
		}
		d.Tick(t.Context())
		time.Sleep(time.Second)
	}
	synctest.Wait()
	return booked, calls
}

func refusals(calls []seen) (refused []seen) {
	for _, c := range calls {
		if c.refused {
			refused = append(refused, c)
		}
	}
	return refused
}

func TestBefore_losesEveryJob(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		booked, calls := host(t, asBefore, provider.RateLimited(0))
		require.Len(t, refusals(calls), jobs)
		for _, b := range booked {
			require.Error(t, b.Err, b.ID)
			require.Equal(t, 1, b.Refusals, b.ID)
		}
	})
}

func requireAllDone(t *testing.T, booked []booking, calls []seen) {
	t.Helper()
	require.Len(t, booked, jobs)
	for _, b := range booked {
		require.NoError(t, b.Err, b.ID)
		require.Equal(t, turns, b.Turns, b.ID)
	}
	require.Equal(t, jobs*turns, len(calls)-len(refusals(calls)), "no turn is made twice")
}

func TestHooks_nobodyIsSpawnedDuringThePause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		booked, calls := host(t, withHooks, provider.RateLimited(0))
		requireAllDone(t, booked, calls)

		refused := refusals(calls)
		require.Len(t, refused, 4, "each of the four at work, once")
		last := refused[3].at
		for _, c := range calls {
			if c.at > last {
				require.GreaterOrEqual(t, c.at, refused[0].at+time.Minute, "during the pause: %v", c)
			}
		}
	})
}

func TestViaSpawn_theRefusedProbeAndTheNewWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		booked, calls := host(t, viaSpawn, provider.RateLimited(0))
		requireAllDone(t, booked, calls)

		refused := refusals(calls)
		require.LessOrEqual(t, len(refused), 4+3, "the four at work, and probes after 3, 9 and 21 s")
		for _, c := range calls {
			if c.worker > "d" {
				require.Greater(t, c.at, stormUntil, "a new job during the storm: %v", c)
			}
		}
	})
}

func TestWrapped_honoursAStatedWait(t *testing.T) {
	for name, v := range map[string]variant{"hooks": withHooks, "viaspawn": viaSpawn} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				booked, calls := host(t, v, provider.RateLimited(20*time.Second))
				requireAllDone(t, booked, calls)

				refused := refusals(calls)
				last := refused[3] // of those at work
				for _, c := range calls {
					if c.at > last.at {
						require.GreaterOrEqual(t, c.at, last.at+20*time.Second, "%v", c)
					}
				}
			})
		})
	}
}

// A scripted tower ends each agent at once, with the next of its errors.
type scripted struct {
	exits  []error
	spawns int
	onExit func(string, error)
}

func (s *scripted) OnTurnEnd(func(string, error)) {}
func (s *scripted) OnExit(f func(string, error))  { s.onExit = f }
func (s *scripted) Spawn(_ context.Context, t agents.Task) {
	err := s.exits[s.spawns]
	s.spawns++
	go s.onExit(t.ID, err)
}

// What the host did of its own before, it still does.
func TestWrapped_otherExitsAreTheHostsAsBefore(t *testing.T) {
	bug := errors.New("a bug of the agent's own")
	for name, v := range map[string]variant{"before": asBefore, "hooks": withHooks, "viaspawn": viaSpawn} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tower := &scripted{exits: []error{agents.ErrEvicted, nil, bug}}
				var booked []booking
				d := v(t, tower, func(b booking) { booked = append(booked, b) })
				d.Open()
				tick := func() {
					d.Tick(t.Context())
					synctest.Wait()
				}
				d.Add(agents.Task{ID: "evicted"})
				tick()
				require.Empty(t, booked, "put back")
				tick()
				require.Len(t, booked, 1)
				require.NoError(t, booked[0].Err)
				d.Add(agents.Task{ID: "buggy"})
				tick()
				require.Len(t, booked, 2)
				require.ErrorIs(t, booked[1].Err, bug)
				require.NotErrorIs(t, booked[1].Err, retry.RateLimited)
				require.Equal(t, 3, tower.spawns)
			})
		})
	}
}
