package compat_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/holdoff-go/holdoff/fleet"
	"github.com/holdoff-go/holdoff/retry"
)

// hand is a clock that is set by hand.
type hand struct{ now time.Time }

func (h *hand) Now() time.Time                     { return h.now }
func (*hand) After(time.Duration) <-chan time.Time { return nil }

// fleetDriver does the same to guards and to the model, and compares.
type fleetDriver struct {
	t      *rapid.T
	ctx    context.Context
	clock  *hand
	ledger fleet.Ledger
	guards []*fleet.Guard
	model  *fleetModel
}

// TestFleetAgreesWithItsModel draws sequences of operations: two guards on one
// ledger, restarts, lost calls, listings, clocks that step, emergencies true and
// claimed. Every answer must be the model's, and no cap is ever exceeded.
func TestFleetAgreesWithItsModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := &fleetDriver{
			t: t, ctx: context.Background(), ledger: fleet.NewMemory(),
			clock: &hand{time.Date(2026, 3, 10, 18, 25, 0, 0, time.UTC)},
			model: &fleetModel{keys: map[string][]*unit{}},
		}
		d.guards = []*fleet.Guard{d.guard(), d.guard()}
		if d.model.observing = rapid.Bool().Draw(t, "listings are read"); d.model.observing {
			d.observe(t)
		}
		t.Repeat(map[string]func(*rapid.T){
			"":         d.compare,
			"time":     d.pass,
			"back":     d.back,
			"reserve":  d.reserve,
			"launch":   d.launch,
			"settle":   d.settle,
			"end":      d.end,
			"signal":   d.signal,
			"outage":   d.outage,
			"observe":  d.observe,
			"machine":  d.machine,
			"kill":     d.kill,
			"restart":  d.restart,
			"emptyKey": d.invalid,
		})
	})
}

func (d *fleetDriver) guard() *fleet.Guard {
	g, err := fleet.New(fleet.Config{
		Caps:         fleet.Caps{HourlyBudget: fleetBudget, Instances: fleetInstances},
		Window:       fleet.Window{Launches: fleetWindow, Per: fleetPer},
		BootDeadline: fleetBoot,
		Ledger:       d.ledger, Clock: d.clock,
	})
	require.NoError(d.t, err)
	return g
}

// any is one of the guards: it must not matter which.
func (d *fleetDriver) any(t *rapid.T) *fleet.Guard {
	return d.guards[rapid.IntRange(0, len(d.guards)-1).Draw(t, "guard")]
}

// compare checks the caps, and the sums against the list.
func (d *fleetDriver) compare(t *rapid.T) {
	d.setKill(d.guards[0], d.model.killed) // as it is: Status leaves nothing behind, so a write notices the time
	st, err := d.guards[0].Status(d.ctx)
	require.NoError(t, err)
	d.model.look(d.clock.now)
	n, spend, covering := d.model.held()
	require.LessOrEqual(t, st.Instances, fleetInstances)
	require.LessOrEqual(t, st.Spend, fleetBudget)
	require.Equal(t, n, st.Instances, "instances")
	require.Equal(t, spend, st.Spend)
	require.Equal(t, covering, st.Covering, "covering")
	require.Equal(t, d.model.windowed(), st.Launches, "launches in the window")
	require.Equal(t, d.model.emergency(), st.Emergency, "emergency: %s", st.Evidence)
	require.Equal(t, d.model.believed(), st.InventoryDoubt == "", st.InventoryDoubt)
}

func (d *fleetDriver) pass(t *rapid.T) {
	span := rapid.SampledFrom([]time.Duration{time.Second, 30 * time.Second, time.Minute, 5 * time.Minute, 15 * time.Minute, 3 * time.Hour}).Draw(t, "for")
	d.clock.now = d.clock.now.Add(span)
}

func (d *fleetDriver) back(t *rapid.T) {
	d.clock.now = d.clock.now.Add(-rapid.SampledFrom([]time.Duration{time.Second, 2 * time.Minute, time.Hour}).Draw(t, "by"))
}

func (d *fleetDriver) request(t *rapid.T) fleet.Request {
	return fleet.Request{
		Key:       fmt.Sprintf("k%d", rapid.IntRange(0, 40).Draw(t, "key")),
		Count:     rapid.IntRange(1, 9).Draw(t, "count"),
		MaxPrice:  fleet.Money(rapid.SampledFrom([]int{450_000, 510_000, 510_100, 3_000_000}).Draw(t, "price")),
		Emergency: rapid.IntRange(0, 5).Draw(t, "claim") == 0,
		Claimed:   rapid.Bool().Draw(t, "model's claim"),
	}
}

// decided checks a decision, and reports whether it was a new one.
func (d *fleetDriver) decided(t *rapid.T, r fleet.Request, got fleet.Decision, state fleet.State) bool {
	d.model.look(d.clock.now)
	if before := d.model.keys[r.Key]; len(before) > 0 {
		require.Contains(t, []fleet.Code{fleet.Duplicate, fleet.Invalid}, got.Code, got)
		for i, res := range got.Reservations {
			require.Equal(t, before[i].id, res.ID)
		}
		return false
	}
	granted, past := d.model.reserve(r)
	require.Equal(t, granted, got.Granted, got)
	bypassed := 0
	var ids []fleet.ReservationID
	for _, res := range got.Reservations {
		ids = append(ids, res.ID)
		if len(res.Bypassed) > 0 {
			bypassed++
			require.Equal(t, []string{"rate_window"}, res.Bypassed)
		}
	}
	require.Len(t, ids, granted)
	require.Equal(t, past, bypassed)
	if got.Granted < got.Asked && !got.RetryAt.IsZero() {
		require.True(t, got.RetryAt.After(d.clock.now), got)
	}
	d.model.grant(r, ids, state, past)
	return true
}

func (d *fleetDriver) reserve(t *rapid.T) {
	r := d.request(t)
	got, err := d.any(t).Reserve(d.ctx, r)
	require.NoError(t, err)
	d.decided(t, r, got, fleet.StateReserved)
}

// launch is whole: what the vendor answers is drawn for each call.
func (d *fleetDriver) launch(t *rapid.T) {
	r := d.request(t)
	type call struct {
		id      fleet.ReservationID
		outcome string
	}
	var calls []call
	got, _ := d.any(t).Launch(d.ctx, r, func(_ context.Context, res fleet.Reservation) (fleet.Instance, error) {
		outcome := rapid.SampledFrom([]string{"accepted", "accepted", "refused", "rate limited", "lost", "lost and there"}).Draw(t, "outcome")
		calls = append(calls, call{res.ID, outcome})
		switch outcome {
		case "refused":
			return fleet.Instance{}, retry.Fatal
		case "rate limited":
			return fleet.Instance{}, retry.RateLimited
		case "lost", "lost and there":
			return fleet.Instance{}, context.DeadlineExceeded
		}
		return fleet.Instance{ID: "i-" + string(res.ID), Price: res.Price - 1000}, nil
	})
	reserved := got
	for i := range reserved.Reservations {
		reserved.Reservations[i].State = fleet.StateAttempting
	}
	if !d.decided(t, r, reserved, fleet.StateAttempting) {
		require.Empty(t, calls, "a key launches once")
		return
	}
	units := d.model.keys[r.Key]
	stopped := false
	for i, u := range units {
		if i >= len(calls) {
			require.True(t, stopped, "not sent: %s", u.id)
			d.model.refuse(u, 0)
			continue
		}
		require.Equal(t, u.id, calls[i].id)
		require.False(t, stopped)
		switch calls[i].outcome {
		case "accepted":
			u.exists = true
			d.model.accept(u, u.price-1000, fleet.StateLoading)
		case "refused":
			d.model.refuse(u, 0)
		case "rate limited":
			d.model.refuse(u, time.Minute)
			stopped = true
		default:
			u.exists = calls[i].outcome == "lost and there" && d.model.observing
			d.model.move(u, fleet.StateUnknown)
		}
	}
}

func (d *fleetDriver) pick(t *rapid.T, what string, of func(*unit) bool) *unit {
	var some []*unit
	for _, u := range d.model.units {
		if of(u) {
			some = append(some, u)
		}
	}
	if len(some) == 0 {
		t.Skip("no such unit")
	}
	return rapid.SampledFrom(some).Draw(t, what)
}

func (d *fleetDriver) settle(t *rapid.T) {
	d.model.look(d.clock.now)
	u := d.pick(t, "reserved", func(u *unit) bool { return u.state == fleet.StateReserved || u.up() })
	switch rapid.SampledFrom([]string{"loading", "running", "refused", "lost"}).Draw(t, "outcome") {
	case "loading":
		require.NoError(t, d.any(t).Settle(d.ctx, u.id, fleet.Accepted(fleet.Instance{ID: "i-" + string(u.id), State: fleet.StateLoading})))
		u.exists = true
		d.model.accept(u, u.price, fleet.StateLoading)
	case "running":
		require.NoError(t, d.any(t).Settle(d.ctx, u.id, fleet.Accepted(fleet.Instance{ID: "i-" + string(u.id), State: fleet.StateRunning})))
		u.exists, u.boots = true, true
		d.model.accept(u, u.price, fleet.StateRunning)
	case "refused":
		err := d.any(t).Settle(d.ctx, u.id, fleet.Refused(retry.Fatal))
		if d.model.refuse(u, 0) {
			require.NoError(t, err)
		} else {
			require.ErrorIs(t, err, fleet.ErrSettled)
		}
	case "lost":
		require.NoError(t, d.any(t).Settle(d.ctx, u.id, fleet.Lost()))
		if u.state == fleet.StateReserved {
			d.model.move(u, fleet.StateUnknown)
		}
	}
}

func (d *fleetDriver) end(t *rapid.T) {
	d.model.look(d.clock.now)
	u := d.pick(t, "up", (*unit).up)
	require.NoError(t, d.any(t).Settle(d.ctx, u.id, fleet.Ended()))
	u.exists, u.overdue = false, false
	d.model.move(u, fleet.StateGone)
}

func (d *fleetDriver) signal(t *rapid.T) {
	d.tell(t, fleet.Demand{
		Pending: rapid.SampledFrom([]int{0, 59, 59, 59}).Draw(t, "pending"),
		Running: rapid.SampledFrom([]int{0, 0, 0, 5}).Draw(t, "running"),
		Target:  rapid.SampledFrom([]int{0, 10, 20}).Draw(t, "target"),
	})
}

// outage is the road to an emergency, which single signals seldom find.
func (d *fleetDriver) outage(t *rapid.T) {
	for i := range 3 {
		if d.model.observing {
			d.observe(t)
		}
		demand := fleet.Demand{Running: 5, Target: 20}
		if i > 0 {
			demand = fleet.Demand{Pending: 59, Target: 20}
		}
		d.tell(t, demand)
		d.clock.now = d.clock.now.Add(time.Minute)
	}
}

func (d *fleetDriver) tell(t *rapid.T, demand fleet.Demand) {
	require.NoError(t, d.any(t).Signal(d.ctx, demand))
	d.model.look(d.clock.now)
	d.model.signal(demand)
}

// observe reads the vendor's listing, where listings are read.
func (d *fleetDriver) observe(t *rapid.T) {
	if !d.model.observing {
		t.Skip("no listings")
	}
	var listed []fleet.Instance
	for _, u := range d.model.units {
		if !u.exists {
			continue
		}
		i := fleet.Instance{ID: "i-" + string(u.id), Tag: u.id, State: fleet.StateLoading}
		if u.boots {
			i.State = fleet.StateRunning
		}
		listed = append(listed, i)
	}
	require.NoError(t, d.any(t).Observe(d.ctx, fleet.Inventory{Instances: listed}))
	d.model.look(d.clock.now)
	d.model.observe()
}

// machine has one at the vendor's come up or die.
func (d *fleetDriver) machine(t *rapid.T) {
	u := d.pick(t, "machine", func(u *unit) bool { return u.exists })
	if rapid.Bool().Draw(t, "comes up") {
		u.boots = true
		return
	}
	u.exists = false
}

func (d *fleetDriver) kill(t *rapid.T) {
	on := rapid.IntRange(0, 3).Draw(t, "kill switch") == 0
	d.setKill(d.any(t), on)
	d.model.look(d.clock.now)
	d.model.killed = on
}

func (d *fleetDriver) setKill(g *fleet.Guard, on bool) {
	reason := ""
	if on {
		reason = "drawn"
	}
	require.NoError(d.t, g.Kill(d.ctx, reason))
}

// restart forgets everything that is not in the ledger.
func (d *fleetDriver) restart(t *rapid.T) {
	d.guards[rapid.IntRange(0, len(d.guards)-1).Draw(t, "which")] = d.guard()
}

func (d *fleetDriver) invalid(t *rapid.T) {
	got, err := d.any(t).Reserve(d.ctx, fleet.Request{Count: 1, MaxPrice: fleet.Dollar})
	require.NoError(t, err)
	require.Equal(t, fleet.Invalid, got.Code)
	d.model.look(d.clock.now)
}
