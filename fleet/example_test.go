package fleet_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"time"

	"github.com/holdoff-go/holdoff/fleet"
	"github.com/holdoff-go/holdoff/retry"
)

// create stands for a vendor's create call.
func create(_ context.Context, r fleet.Reservation) (fleet.Instance, error) {
	return fleet.Instance{ID: "gpu-" + string(r.ID[len(r.ID)-1:]), Tag: r.ID, Price: r.Price}, nil
}

// exampleClock stands at 18:25 and goes on when an example says so.
func exampleClock() *manual { return &manual{now: at("18:25:00")} }

func mustNew(cfg fleet.Config) *fleet.Guard {
	g, err := fleet.New(cfg)
	if err != nil {
		log.Fatal(err)
	}
	return g
}

func ExampleGuard_Launch() {
	ctx := context.Background()
	guard, err := fleet.New(fleet.Config{
		Caps:   fleet.Caps{HourlyBudget: 10 * fleet.Dollar, Instances: 20},
		Window: fleet.Window{Launches: 3, Per: 15 * time.Minute},
		Clock:  exampleClock(), // leave it out for the real one
	})
	if err != nil {
		log.Fatal(err)
	}
	d, err := guard.Launch(ctx, fleet.Request{Key: "order-1", Count: 2, MaxPrice: 45 * fleet.Cent}, create)
	fmt.Println(d, err)
	d, err = guard.Launch(ctx, fleet.Request{Key: "order-2", Count: 2, MaxPrice: 45 * fleet.Cent}, create)
	fmt.Println(d, err)
	d, err = guard.Launch(ctx, fleet.Request{Key: "order-3", Count: 2, MaxPrice: 45 * fleet.Cent}, create)
	fmt.Println(d, err)
	d, err = guard.Launch(ctx, fleet.Request{Key: "order-1", Count: 2, MaxPrice: 45 * fleet.Cent}, create)
	fmt.Println(d, err)
	// Output:
	// granted 2 of 2 at up to $0.45/hr; left: $9.10/hr, 18 instances <nil>
	// granted 1 of 2 at up to $0.45/hr; the rest is stopped by rate_window: 3 of 3 launches in the last 15m; next at 18:40:00, in 15m; left: $8.65/hr, 17 instances <nil>
	// denied by rate_window: 3 of 3 launches in the last 15m; next at 18:40:00, in 15m; left: $8.65/hr, 17 instances <nil>
	// duplicate: key "order-1" was granted 2 instances at 18:25:00: gpu-0 loading, gpu-1 loading <nil>
}

// A vendor's refusal gives back what was reserved, and its Retry-After holds
// launches off.
func ExampleGuard_Launch_refused() {
	guard := mustNew(fleet.Config{
		Caps:  fleet.Caps{HourlyBudget: 10 * fleet.Dollar, Instances: 20},
		Clock: exampleClock(),
	})
	busy := func(context.Context, fleet.Reservation) (fleet.Instance, error) {
		return fleet.Instance{}, &retry.ResponseError{StatusCode: 429, Header: map[string][]string{"Retry-After": {"90"}}}
	}
	r := fleet.Request{Key: "order-1", MaxPrice: 45 * fleet.Cent}
	d, err := guard.Launch(context.Background(), r, busy)
	fmt.Println(d.Reservations[0].State, err != nil)
	r.Key = "order-2"
	d, err = guard.Launch(context.Background(), r, create)
	fmt.Println(d, err)
	// Output:
	// refused true
	// denied by vendor_pacing: the vendor refused a launch: rate_limited; next at 18:26:30, in 1m30s; left: $10.00/hr, 20 instances <nil>
}

// A host that calls the vendor elsewhere reserves first and settles when it
// knows.
func ExampleGuard_Reserve() {
	ctx := context.Background()
	guard := mustNew(fleet.Config{
		Caps:  fleet.Caps{HourlyBudget: 10 * fleet.Dollar, Instances: 20},
		Clock: exampleClock(),
	})
	d, err := guard.Reserve(ctx, fleet.Request{Key: "order-1", Count: 2, MaxPrice: 45 * fleet.Cent})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(d)
	first, second := d.Reservations[0].ID, d.Reservations[1].ID
	fmt.Println(guard.Settle(ctx, first, fleet.Accepted(fleet.Instance{ID: "gpu-1", Price: 40 * fleet.Cent})))
	fmt.Println(guard.Settle(ctx, second, fleet.Refused(retry.QuotaExhausted)))
	st, err := guard.Status(ctx)
	fmt.Println(st.Instances, st.Spend, err)
	// Output:
	// granted 2 of 2 at up to $0.45/hr; left: $9.10/hr, 18 instances
	// <nil>
	// <nil>
	// 1 $0.40 <nil>
}

func ExampleGuard_Explain() {
	guard := mustNew(fleet.Config{
		Caps:   fleet.Caps{HourlyBudget: 1 * fleet.Dollar, Instances: 20},
		Window: fleet.Window{Launches: 3, Per: 15 * time.Minute},
		Clock:  exampleClock(),
	})
	d, err := guard.Explain(context.Background(), fleet.Request{Key: "order-1", Count: 5, MaxPrice: 45 * fleet.Cent})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(d)
	for _, f := range d.Findings {
		fmt.Printf("%-9s %-13s allows %d: %s\n", f.Tier, f.Constraint, f.Allowed, f.Detail)
	}
	// Output:
	// granted 2 of 5 at up to $0.45/hr; the rest is stopped by budget: $0.90 of $1.00/hr is committed, one more costs up to $0.45; left: $0.10/hr, 18 instances
	// integrity request       allows 5: sound
	// integrity kill_switch   allows 5: off
	// integrity ledger        allows 5: writable
	// integrity key           allows 5: new
	// integrity inventory     allows 5: the ledger is the inventory: nothing was listed yet
	// cap       budget        allows 2: $0.90 of $1.00/hr is committed, one more costs up to $0.45
	// cap       count         allows 5: 2 of 20 instances
	// cap       need          allows 5: unknown: no demand has been signalled
	// vendor    vendor_pacing allows 5: no refusal in force
	// pacing    rate_window   allows 3: 2 of 3 launches in the last 15m
}

// Signals establish the emergency; a flag that a caller sends does not.
func ExampleGuard_Signal() {
	ctx := context.Background()
	clock := exampleClock()
	guard := mustNew(fleet.Config{
		Caps:   fleet.Caps{HourlyBudget: 10 * fleet.Dollar, Instances: 20},
		Window: fleet.Window{Launches: 3, Per: 15 * time.Minute},
		Clock:  clock,
	})
	signal := func(d fleet.Demand) {
		if err := guard.Signal(ctx, d); err != nil {
			log.Fatal(err)
		}
	}
	ask := func(key string) {
		d, err := guard.Launch(ctx, fleet.Request{Key: key, Count: 3, MaxPrice: 45 * fleet.Cent}, create)
		fmt.Println(d, err)
	}
	signal(fleet.Demand{Pending: 3, Running: 8, Target: 10})
	ask("first")
	clock.Add(time.Minute)
	signal(fleet.Demand{Pending: 59, Running: 0, Target: 10})
	ask("second")
	clock.Add(time.Minute)
	signal(fleet.Demand{Pending: 59, Running: 0, Target: 10})
	ask("third")
	// Output:
	// granted 3 of 3 at up to $0.45/hr; left: $8.65/hr, 17 instances <nil>
	// denied by rate_window: 3 of 3 launches in the last 15m; next at 18:40:00, in 14m; left: $8.65/hr, 17 instances <nil>
	// granted 3 of 3 at up to $0.45/hr, past rate_window for emergency e1 (workers_dead: 59 pending, none running since after 18:25:00); left: $7.30/hr, 14 instances <nil>
}

// A listing adopts the machine whose create call timed out.
func ExampleGuard_Observe() {
	ctx := context.Background()
	clock := exampleClock()
	guard := mustNew(fleet.Config{Caps: fleet.Caps{HourlyBudget: 10 * fleet.Dollar, Instances: 20}, Clock: clock})
	d, err := guard.Launch(ctx, fleet.Request{Key: "order-1", MaxPrice: 45 * fleet.Cent},
		func(context.Context, fleet.Reservation) (fleet.Instance, error) {
			return fleet.Instance{}, context.DeadlineExceeded
		})
	fmt.Println(d.Reservations[0].State, err != nil)

	clock.Add(time.Minute)
	err = guard.Observe(ctx, fleet.Inventory{Instances: []fleet.Instance{
		{ID: "gpu-7", Tag: d.Reservations[0].ID, Price: 40 * fleet.Cent, State: fleet.StateRunning},
		{ID: "notebook", Price: 90 * fleet.Cent, State: fleet.StateRunning},
	}})
	if err != nil {
		log.Fatal(err)
	}
	held, err := guard.Reservations(ctx)
	for _, r := range held {
		fmt.Println(r.Instance, r.State, r.Price, r.Foreign)
	}
	fmt.Println(err)
	// Output:
	// unknown true
	// notebook running $0.90 true
	// gpu-7 running $0.40 false
	// <nil>
}

func ExampleGuard_Override() {
	ctx := context.Background()
	clock := exampleClock()
	guard := mustNew(fleet.Config{
		Caps:   fleet.Caps{HourlyBudget: 10 * fleet.Dollar, Instances: 20},
		Window: fleet.Window{Launches: 1, Per: time.Hour},
		Clock:  clock,
	})
	err := guard.Override(ctx, fleet.Override{Actor: "ada", Reason: "launch day", Until: clock.Now().Add(time.Hour), Count: 2})
	if err != nil {
		log.Fatal(err)
	}
	d, err := guard.Launch(ctx, fleet.Request{Key: "order-1", Count: 5, MaxPrice: 45 * fleet.Cent}, create)
	fmt.Println(d, err)
	// Output:
	// granted 3 of 5 at up to $0.45/hr, past rate_window by leave of ada (launch day); the rest is stopped by rate_window: 3 of 1 launches in the last 1h; next at 19:25:00, in 1h; left: $8.65/hr, 17 instances <nil>
}

func ExampleGuard_Kill() {
	ctx := context.Background()
	guard := mustNew(fleet.Config{Caps: fleet.Caps{HourlyBudget: 10 * fleet.Dollar, Instances: 20}, Clock: exampleClock()})
	if err := guard.Kill(ctx, "the bill looks wrong"); err != nil {
		log.Fatal(err)
	}
	d, err := guard.Launch(ctx, fleet.Request{Key: "order-1", MaxPrice: 45 * fleet.Cent, Emergency: true}, create)
	fmt.Println(d, err)
	// Output:
	// denied by kill_switch: the bill looks wrong; left: $10.00/hr, 20 instances <nil>
}

func ExampleLoop() {
	ctx, cancel := context.WithCancel(context.Background())
	clock := exampleClock()
	guard := mustNew(fleet.Config{Caps: fleet.Caps{HourlyBudget: 10 * fleet.Dollar, Instances: 20}, Clock: clock})
	runs := 0
	loop := fleet.NewLoop(guard, func(context.Context) error {
		runs++
		fmt.Println(clock.Now().Format(time.TimeOnly), "look at the queue, ask the guard, launch")
		if runs == 3 {
			cancel()
		}
		clock.Add(5 * time.Minute) // here time passes by itself
		return nil
	}, 5*time.Minute)
	loop.Notify() // whenever something happened: a run follows within a second
	fmt.Println(loop.Run(ctx))
	// Output:
	// 18:25:00 look at the queue, ask the guard, launch
	// 18:30:00 look at the queue, ask the guard, launch
	// 18:35:00 look at the queue, ask the guard, launch
	// context canceled
}

func ExampleTool() {
	guard := mustNew(fleet.Config{
		Caps:   fleet.Caps{HourlyBudget: 10 * fleet.Dollar, Instances: 20},
		Window: fleet.Window{Launches: 3, Per: 15 * time.Minute},
		Clock:  exampleClock(),
	})
	tool := fleet.NewTool(guard, create)
	// Give the model tool.Name(), tool.Description() and tool.Schema(). It calls:
	result := tool.Call(context.Background(), "call_9f2", json.RawMessage(
		`{"count": 5, "max_price": "0.45", "reason": "59 items wait", "emergency": true}`))
	fmt.Println(result.Explanation)
	fmt.Println(len(result.Instances), result.RetryAt.Format(time.TimeOnly))
	// Output:
	// granted 3 of 5 at up to $0.45/hr; the rest is stopped by rate_window: 3 of 3 launches in the last 15m; next at 18:40:00, in 15m; an emergency was claimed but is not established (no emergency); left: $8.65/hr, 17 instances
	// 3 18:40:00
}

func ExampleParseMoney() {
	price, err := fleet.ParseMoney("0.40")
	fmt.Println(price, err, 20*price == 8*fleet.Dollar)
	_, err = fleet.ParseMoney("0.0000004")
	fmt.Println(err)
	// Output:
	// $0.40 <nil> true
	// "0.0000004" has more than 6 decimals
}
