package fleet_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/holdoff-go/holdoff/fleet"
)

// constrained returns a guard with one constraint of the host's own.
func constrained(clock fleet.Clock, c fleet.Constraint) *fleet.Guard {
	return mustNew(fleet.Config{
		Caps:        fleet.Caps{HourlyBudget: 10 * fleet.Dollar, Instances: 20},
		Constraints: []fleet.Constraint{c},
		Clock:       clock,
	})
}

// A price ceiling is a cap: no emergency pays more.
func ExampleConstraint_priceCeiling() {
	const ceiling = 50 * fleet.Cent
	guard := constrained(exampleClock(), fleet.Constraint{
		Name: "price_ceiling", Tier: fleet.TierCap,
		Check: func(_ fleet.View, r fleet.Request) fleet.Limit {
			if r.MaxPrice > ceiling {
				return fleet.Limit{Detail: fmt.Sprintf("%s is above %s", r.MaxPrice, ceiling)}
			}
			return fleet.Limit{Allowed: fleet.Unlimited}
		},
	})
	d, err := guard.Launch(context.Background(), fleet.Request{Key: "order-1", MaxPrice: 60 * fleet.Cent, Emergency: true}, create)
	fmt.Println(d, err)
	// Output:
	// denied by price_ceiling: $0.60 is above $0.50; left: $10.00/hr, 20 instances <nil>
}

// A blocklist is a cap too: a bad offer does not get better in an emergency.
func ExampleConstraint_blocklist() {
	blocked := []string{"slow-host-17"}
	guard := constrained(exampleClock(), fleet.Constraint{
		Name: "blocklist", Tier: fleet.TierCap,
		Check: func(_ fleet.View, r fleet.Request) fleet.Limit {
			if slices.Contains(blocked, r.Offer) {
				return fleet.Limit{Detail: r.Offer + " is on the list"}
			}
			return fleet.Limit{Allowed: fleet.Unlimited}
		},
	})
	d, err := guard.Launch(context.Background(), fleet.Request{Key: "order-1", Offer: "slow-host-17", MaxPrice: 45 * fleet.Cent}, create)
	fmt.Println(d, err)
	// Output:
	// denied by blocklist: slow-host-17 is on the list; left: $10.00/hr, 20 instances <nil>
}

// A cooldown between launches is pacing: an emergency skips it.
func ExampleConstraint_cooldown() {
	const cooldown = 2 * time.Minute
	clock := exampleClock()
	guard := constrained(clock, fleet.Constraint{
		Name: "cooldown", Tier: fleet.TierPacing,
		Check: func(v fleet.View, _ fleet.Request) fleet.Limit {
			if v.LastLaunch.IsZero() || v.Now.Sub(v.LastLaunch) >= cooldown {
				return fleet.Limit{Allowed: fleet.Unlimited}
			}
			return fleet.Limit{RetryAt: v.LastLaunch.Add(cooldown), Detail: "the last launch was at " + v.LastLaunch.Format(time.TimeOnly)}
		},
	})
	ctx := context.Background()
	ask := func(r fleet.Request) {
		r.MaxPrice = 45 * fleet.Cent
		d, err := guard.Launch(ctx, r, create)
		fmt.Println(d, err)
	}
	ask(fleet.Request{Key: "order-1"})
	clock.Add(30 * time.Second)
	ask(fleet.Request{Key: "order-2"})
	ask(fleet.Request{Key: "order-3", Emergency: true})
	// Output:
	// granted 1 of 1 at up to $0.45/hr; left: $9.55/hr, 19 instances <nil>
	// denied by cooldown: the last launch was at 18:25:00; next at 18:27:00, in 1m30s; left: $9.55/hr, 19 instances <nil>
	// granted 1 of 1 at up to $0.45/hr, past cooldown for emergency e1 (claimed by the host); left: $9.10/hr, 18 instances <nil>
}

// A step limits how many of one batch start together.
func ExampleConstraint_step() {
	guard := constrained(exampleClock(), fleet.Constraint{
		Name: "step", Tier: fleet.TierPacing,
		Check: func(fleet.View, fleet.Request) fleet.Limit {
			return fleet.Limit{Allowed: 2, Detail: "two at a time"}
		},
	})
	d, err := guard.Launch(context.Background(), fleet.Request{Key: "order-1", Count: 5, MaxPrice: 45 * fleet.Cent}, create)
	fmt.Println(d, err)
	// Output:
	// granted 2 of 5 at up to $0.45/hr; the rest is stopped by step: two at a time; left: $9.10/hr, 18 instances <nil>
}

// offers backs off from an offer that failed, twice as long each time.
type offers struct {
	mu    sync.Mutex
	until map[string]time.Time
	gap   map[string]time.Duration
}

func (o *offers) failed(offer string, now time.Time) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.gap[offer] = min(max(time.Minute, 2*o.gap[offer]), time.Hour)
	o.until[offer] = now.Add(o.gap[offer])
}

func (o *offers) check(v fleet.View, r fleet.Request) fleet.Limit {
	o.mu.Lock()
	defer o.mu.Unlock()
	if until := o.until[r.Offer]; until.After(v.Now) {
		return fleet.Limit{RetryAt: until, Detail: "offer " + r.Offer + " failed"}
	}
	return fleet.Limit{Allowed: fleet.Unlimited}
}

// A back-off for one offer is fed by the start function, and leaves the other
// offers alone.
func ExampleConstraint_offerBackoff() {
	clock := exampleClock()
	o := &offers{until: map[string]time.Time{}, gap: map[string]time.Duration{}}
	guard := constrained(clock, fleet.Constraint{Name: "offer_backoff", Tier: fleet.TierCap, Check: o.check})
	start := func(ctx context.Context, r fleet.Reservation) (fleet.Instance, error) {
		if r.Offer == "eu/a100" {
			o.failed(r.Offer, clock.Now())
			return fleet.Instance{}, fmt.Errorf("offer %s is gone", r.Offer)
		}
		return create(ctx, r)
	}
	for i, offer := range []string{"eu/a100", "eu/a100", "us/a100"} {
		d, err := guard.Launch(context.Background(), fleet.Request{Key: fmt.Sprint(i), Offer: offer, MaxPrice: 45 * fleet.Cent}, start)
		fmt.Println(d.Code, d.StoppedBy, d.RetryAt.Format(time.TimeOnly), err != nil)
	}
	// Output:
	// granted  00:00:00 true
	// constraint offer_backoff 18:26:00 false
	// granted  00:00:00 false
}
