package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/holdoff-go/holdoff/fleet"
)

// vendor is a simulated cloud, idempotent on the reservation's ID. It charges
// what was quoted.
type vendor struct {
	now  func() time.Time
	boot time.Duration

	mu       sync.Mutex
	machines map[fleet.ReservationID]machine
}

type machine struct {
	instance fleet.Instance
	since    time.Time
}

func newVendor(now func() time.Time, boot time.Duration) *vendor {
	return &vendor{now: now, boot: boot, machines: map[fleet.ReservationID]machine{}}
}

// resume has the machines that the ledger knows of, after a restart: a real
// vendor would not have forgotten them.
func (v *vendor) resume(known []fleet.Reservation) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, r := range known {
		if r.Instance != "" {
			v.machines[r.ID] = machine{fleet.Instance{ID: r.Instance, Tag: r.ID, Price: r.Price}, r.At}
		}
	}
}

// create is the create call.
func (v *vendor) create(_ context.Context, r fleet.Reservation) (fleet.Instance, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	m, ok := v.machines[r.ID]
	if !ok {
		m = machine{fleet.Instance{ID: fmt.Sprintf("gpu-%s", r.ID[len("hf-"):]), Tag: r.ID, Price: r.Price}, v.now()}
		v.machines[r.ID] = m
	}
	return m.instance, nil
}

// list is the vendor's listing, with the number of those that are up.
func (v *vendor) list() (all []fleet.Instance, running int) {
	v.mu.Lock()
	defer v.mu.Unlock()
	now := v.now()
	for _, m := range v.machines {
		m.instance.State = fleet.StateLoading
		if now.Sub(m.since) >= v.boot {
			m.instance.State = fleet.StateRunning
			running++
		}
		all = append(all, m.instance)
	}
	return all, running
}
