package fleet

import (
	"fmt"
	"time"
)

// An Instance is what a vendor says about one machine.
type Instance struct {
	// ID is the vendor's name for it. Required.
	ID string `json:"id"`
	// Tag is the [ReservationID] it was launched with, if the vendor keeps tags.
	// It is how an instance whose create call timed out is recognised.
	Tag ReservationID `json:"tag,omitempty"`
	// Price is what it costs an hour; zero is not known, and the quoted price
	// stays.
	Price Money `json:"price,omitempty"`
	// State is StateLoading, StateRunning, StateFailed or StateTerminating.
	// Empty leaves what is known, which for a new one is StateLoading.
	State State `json:"state,omitempty"`
}

// maxPrice is a price that no machine has; it keeps sums within a Money.
const maxPrice = 1_000_000 * Dollar

func (i Instance) check() error {
	switch {
	case i.ID == "":
		return fmt.Errorf("fleet: an instance has no ID")
	case i.Price < 0:
		return fmt.Errorf("fleet: instance %s: Price is %s", i.ID, i.Price)
	case i.Price > maxPrice:
		return fmt.Errorf("fleet: instance %s: Price is %s/hr, more than %s", i.ID, i.Price, maxPrice)
	}
	switch i.State {
	case "", StateLoading, StateRunning, StateFailed, StateTerminating:
		return nil
	}
	return fmt.Errorf("fleet: instance %s: State is %q, not loading, running, failed or terminating", i.ID, i.State)
}

// An Inventory is a vendor's complete listing of the account.
type Inventory struct {
	Instances []Instance
	// At is when it was read; zero is now.
	At time.Time
}

// Demand is one sample of what there is to do.
type Demand struct {
	// Pending is how many items wait.
	Pending int `json:"pending"`
	// Running is how many healthy workers there are.
	Running int `json:"running"`
	// Target is how many instances are needed in all; zero is not known. While
	// it is known, no launch goes beyond it.
	Target int `json:"target,omitempty"`
	// OldestAt is when the oldest pending item came in; zero is not known.
	OldestAt time.Time `json:"oldest_at,omitzero"`
	// At is when it was read; zero is now.
	At time.Time `json:"at,omitzero"`
	// Err says that it could not be read: what is known is then unknown, which
	// starts no emergency and ends none.
	Err error `json:"-"`
}

func (d Demand) check() error {
	for _, f := range []struct {
		name  string
		value int
	}{{"Pending", d.Pending}, {"Running", d.Running}, {"Target", d.Target}} {
		if f.value < 0 {
			return fmt.Errorf("fleet: Demand.%s is %d", f.name, f.value)
		}
	}
	return nil
}
