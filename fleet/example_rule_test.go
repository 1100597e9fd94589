package fleet_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/holdoff-go/holdoff/fleet"
)

// try shows when a rule establishes an emergency, on samples a minute apart.
func try(rule fleet.Rule, samples ...fleet.Demand) {
	clock := exampleClock()
	guard := mustNew(fleet.Config{
		Caps:  fleet.Caps{HourlyBudget: 10 * fleet.Dollar, Instances: 20},
		Rules: []fleet.Rule{fleet.WorkersDead{}, rule, fleet.HostClaim{}},
		Clock: clock,
	})
	for _, d := range samples {
		if err := guard.Signal(context.Background(), d); err != nil {
			log.Fatal(err)
		}
		st, err := guard.Status(context.Background())
		fmt.Println(st.Emergency, st.Evidence, err)
		clock.Add(time.Minute)
	}
}

// Below a floor: fewer healthy workers than the service can do with.
func ExampleRule_floor() {
	const floor = 3
	rule := fleet.NewRule("below_floor", func(v fleet.View) fleet.Assessment {
		a := fleet.Assessment{Evidence: fmt.Sprintf("%d of at least %d running", v.Demand.Running, floor)}
		if v.Demand.Running < floor && v.Demand.Pending > 0 {
			a.Activity = fleet.Active
		}
		return a
	})
	try(rule, fleet.Demand{Pending: 9, Running: 4}, fleet.Demand{Pending: 9, Running: 2}, fleet.Demand{Pending: 9, Running: 2})
	// Output:
	// false no emergency <nil>
	// false no emergency <nil>
	// true below_floor: 2 of at least 3 running <nil>
}

// The oldest item has waited too long. Where its age is not known, the rule says
// so rather than guess.
func ExampleRule_oldestItem() {
	const limit = time.Hour
	rule := fleet.NewRule("oldest_item", func(v fleet.View) fleet.Assessment {
		switch {
		case v.Demand.Pending == 0:
			return fleet.Assessment{Evidence: "nothing waits"}
		case v.Demand.OldestAt.IsZero():
			return fleet.Assessment{Activity: fleet.Unknown, Evidence: "the age of the oldest item is not known"}
		}
		a := fleet.Assessment{Evidence: fmt.Sprintf("the oldest item waits since %s", v.Demand.OldestAt.Format(time.TimeOnly))}
		if v.Now.Sub(v.Demand.OldestAt) > limit {
			a.Activity = fleet.Active
		}
		return a
	})
	old := fleet.Demand{Pending: 9, Running: 4, OldestAt: at("17:20:00")}
	try(rule, old, fleet.Demand{Pending: 9, Running: 4}, old)
	// Output:
	// false no emergency <nil>
	// false no emergency <nil>
	// true oldest_item: the oldest item waits since 17:20:00 <nil>
}

// A cold start: work waits, nothing runs, and nothing is on its way.
// WorkersDead leaves it alone, as no worker was seen running before.
func ExampleRule_coldStart() {
	rule := fleet.NewRule("cold_start", func(v fleet.View) fleet.Assessment {
		a := fleet.Assessment{Evidence: fmt.Sprintf("%d pending, %d running, %d on their way", v.Demand.Pending, v.Demand.Running, v.InFlight)}
		if v.LastRunning.IsZero() && v.Demand.Pending > 0 && v.InFlight == 0 {
			a.Activity = fleet.Active
		}
		return a
	})
	try(rule, fleet.Demand{Pending: 59}, fleet.Demand{Pending: 59}, fleet.Demand{Pending: 59, Running: 1})
	// Output:
	// false no emergency <nil>
	// true cold_start: 59 pending, 0 running, 0 on their way <nil>
	// true cold_start: 59 pending, 1 running, 0 on their way <nil>
}
