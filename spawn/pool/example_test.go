package pool_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/holdoff-go/holdoff/limiter"
	"github.com/holdoff-go/holdoff/retry"
	"github.com/holdoff-go/holdoff/spawn"
	"github.com/holdoff-go/holdoff/spawn/pool"
)

// newPool has two subscriptions, which are strings here.
func newPool(clock pool.Clock) (*pool.Pool[string], *spawn.Spawner) {
	group, err := limiter.NewGroup(limiter.GroupConfig{Clock: clock})
	if err != nil {
		panic(err)
	}
	p, err := pool.New(pool.Config[string]{
		Group:       group,
		Credentials: []pool.Credential[string]{{ID: "work", Value: "token-1"}, {ID: "home", Value: "token-2"}},
		Clock:       clock,
	})
	if err != nil {
		panic(err)
	}
	s, err := spawn.New(spawn.Config{
		Limiter:       group.Of(limiter.Key{Scope: "provider", Name: "acme"}),
		Pool:          p,
		MaxInlineWait: -1, // to wait is the triggers' business
		Clock:         clock,
	})
	if err != nil {
		panic(err)
	}
	return p, s
}

func Example() {
	p, spawner := newPool(nil)
	result, err := spawner.Run(context.Background(), spawn.Worker{
		ID: "researcher",
		Run: func(ctx context.Context, a *spawn.Attempt) error {
			c, _ := p.From(ctx)
			if c.Value == "token-1" {
				a.Spend(20)
				return fmt.Errorf("usage limit reached: %w", retry.QuotaExhausted) // as a provider's SDK would
			}
			a.Spend(50)
			return nil
		},
	})
	fmt.Println(result.State, err)
	for _, a := range result.Attempts {
		fmt.Println(a.ID, "on", a.Credential, a.Verdict.Class, a.Units)
	}
	for _, s := range result.Ledger {
		fmt.Println(s.Credential, "is charged", s.Units)
	}
	// Output:
	// succeeded <nil>
	// researcher#1 on work quota_exhausted 20
	// researcher#2 on home unknown 50
	// work is charged 20
	// home is charged 50
}

func ExamplePool_Set() {
	p, spawner := newPool(nil)
	call := spawn.Worker{ID: "w", Run: func(ctx context.Context, _ *spawn.Attempt) error {
		if c, _ := p.From(ctx); c.Value != "token-3" {
			return retry.Auth
		}
		return nil
	}}
	result, err := spawner.Run(context.Background(), call)
	fmt.Println(result.State, errors.Is(err, retry.Auth))
	_ = p.Set("home", "token-3") // somebody has logged in again
	result, err = spawner.Run(context.Background(), call)
	fmt.Println(result.State, err)
	// Output:
	// dead true
	// succeeded <nil>
}

func ExamplePool_Status() {
	p, spawner := newPool(nil)
	_, _ = spawner.Run(context.Background(), spawn.Worker{Run: func(ctx context.Context, _ *spawn.Attempt) error {
		if c, _ := p.From(ctx); c.ID == "work" {
			return retry.QuotaExhausted
		}
		return nil
	}})
	for _, c := range p.Status() {
		fmt.Println(c.ID, "in use:", c.InUse, "parked:", c.Parked)
	}
	// Output:
	// work in use: false parked: true
	// home in use: true parked: false
}

func ExamplePool_Switch() {
	p, spawner := newPool(nil)
	if err := p.Switch(context.Background(), "home"); err != nil {
		fmt.Println(err)
	}
	_, _ = spawner.Run(context.Background(), spawn.Worker{Run: func(ctx context.Context, _ *spawn.Attempt) error {
		c, _ := p.From(ctx)
		fmt.Println("called with", c.ID)
		return nil
	}})
	// Output: called with home
}

// A wallClock is set by hand.
type wallClock struct{ now time.Time }

func (c *wallClock) Now() time.Time                       { return c.now }
func (c *wallClock) After(time.Duration) <-chan time.Time { return nil } // nobody waits here
func (c *wallClock) at(clock string) {
	t, err := time.Parse("15:04", clock)
	if err != nil {
		panic(err)
	}
	c.now = time.Date(2026, 5, 8, t.Hour(), t.Minute(), 0, 0, time.UTC)
}

// An exhausted quota means another thing to each kind of trigger. Somebody who waits
// for an answer is told when to come back. A job that recurs does nothing: its next
// tick recovers. One that would not come again is retried once, with the other
// subscription, and lands as one record.
func Example_triggers() {
	clock := new(wallClock)
	resets := map[string]string{"work": "15:00", "home": "16:10"}
	p, spawner := newPool(clock)
	refused := map[string]bool{"work": true}
	ask := func(id string) (spawn.Result, error) {
		return spawner.Run(context.Background(), spawn.Worker{ID: id, Run: func(ctx context.Context, _ *spawn.Attempt) error {
			c, _ := p.From(ctx)
			if refused[c.ID] {
				return &retry.ResponseError{StatusCode: 429, Body: fmt.Appendf(nil,
					`{"error":{"message":"You've hit your usage limit; resets %s (UTC)"}}`, resets[c.ID])}
			}
			return nil
		}})
	}

	clock.at("14:20")
	result, _ := ask("one-shot")
	fmt.Printf("one-shot: one record, %s after %d attempts\n", result.State, result.Total)
	for _, a := range result.Attempts {
		fmt.Println("  ", a.ID, "on", a.Credential, a.Verdict.Class)
	}

	clock.at("14:30")
	refused["home"] = true
	result, err := ask("interactive")
	var parked *pool.ParkedError
	if errors.As(err, &parked) {
		fmt.Printf("interactive: %s; come back at %s\n", result.State, parked.Soonest.Format("15:04"))
	}

	for _, tick := range []string{"14:45", "15:15"} {
		clock.at(tick)
		refused["work"] = tick < "15:00"
		result, _ := ask("recurring")
		fmt.Printf("recurring, %s: %s after %d attempts\n", tick, result.State, result.Total)
	}
	// Output:
	// one-shot: one record, succeeded after 2 attempts
	//    one-shot#1 on work quota_exhausted
	//    one-shot#2 on home unknown
	// interactive: parked; come back at 15:00
	// recurring, 14:45: parked after 0 attempts
	// recurring, 15:15: succeeded after 1 attempts
}

// A host whose switch costs something does it in OnSwitch, once for all workers.
func ExampleConfig_onSwitch() {
	group, err := limiter.NewGroup(limiter.GroupConfig{})
	if err != nil {
		panic(err)
	}
	p, err := pool.New(pool.Config[string]{
		Group:       group,
		Credentials: []pool.Credential[string]{{ID: "work"}, {ID: "home"}, {ID: "spare"}},
		Headroom:    func(id string) float64 { return map[string]float64{"home": 0.1, "spare": 0.8}[id] },
		OnSwitch: func(_ context.Context, from, to string) error {
			fmt.Println("log out of", from, "and in to", to)
			return nil
		},
	})
	if err != nil {
		panic(err)
	}
	err = p.Switch(context.Background(), "spare")
	fmt.Println(err)
	// Output:
	// log out of work and in to spare
	// <nil>
}

// Rota is for hosts that run their workers by themselves.
func ExampleRota() {
	p, _ := newPool(nil)
	rota := p.Rota()
	ctx := context.Background()
	for {
		lease, err := rota.Take(ctx)
		if err != nil {
			fmt.Println("all are parked:", errors.Is(err, retry.QuotaExhausted))
			return
		}
		fmt.Println("call with", lease.ID)
		rota.Park(lease, pool.Parking{Class: retry.QuotaExhausted, Wait: time.Hour, Stated: true})
	}
	// Output:
	// call with work
	// call with home
	// all are parked: true
}
