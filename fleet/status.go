package fleet

import (
	"context"
	"maps"
	"slices"
	"time"
)

// Status is what the guard knows. Reading it changes nothing.
type Status struct {
	At    time.Time `json:"at"`
	Caps  Caps      `json:"caps"`
	Spend Money     `json:"spend"` // an hour, of all that holds a slot
	// Instances is how many hold a slot, States which they are, Overdue how many
	// of them have passed their deadline, and Foreign how many no request asked
	// for.
	Instances int           `json:"instances"`
	States    map[State]int `json:"states,omitempty"`
	Overdue   int           `json:"overdue,omitempty"`
	Foreign   int           `json:"foreign,omitempty"`
	// Covering is how many stand for one that is needed, InFlight how many of
	// them are still on their way.
	Covering int `json:"covering"`
	InFlight int `json:"in_flight"`
	// Launches is how many launches are in the rate window; an emergency can make
	// them more than the window allows. WindowOpens is when the next is allowed,
	// zero when it is now.
	Launches    int       `json:"launches"`
	WindowOpens time.Time `json:"window_opens,omitzero"`

	// Demand is the latest sample, and DemandDoubt why it tells nothing now.
	Demand      Demand `json:"demand,omitzero"`
	DemandDoubt string `json:"demand_doubt,omitempty"`
	// InventoryAt is when the latest listing that is believed was read, and
	// InventoryDoubt why nothing is launched on it now.
	InventoryAt    time.Time `json:"inventory_at,omitzero"`
	InventoryDoubt string    `json:"inventory_doubt,omitempty"`

	// Emergency says that signals have established one which holds now, and
	// Evidence why, or what is missing.
	Emergency bool         `json:"emergency"`
	Evidence  string       `json:"evidence,omitempty"`
	Rules     []RuleStatus `json:"rules,omitempty"`
	// Episodes has the open one and the latest that ended, the latest first.
	Episodes []Episode `json:"episodes,omitempty"`
	// AllowanceLeft is how many launches past pacing the open episode has left,
	// and AllowanceAt when it gets one more; zero is not by time.
	AllowanceLeft int       `json:"allowance_left,omitempty"`
	AllowanceAt   time.Time `json:"allowance_at,omitzero"`
	// HoldScaleDown says why scaling down should wait: an emergency, the hold
	// after it, or signals that are unknown. Empty means that it need not.
	HoldScaleDown string `json:"hold_scale_down,omitempty"`

	// VendorUntil is until when the vendor is left alone, zero when it is not.
	VendorUntil time.Time  `json:"vendor_until,omitzero"`
	Killed      string     `json:"killed,omitempty"` // the kill switch's reason
	Overrides   []Override `json:"overrides,omitempty"`
}

// RuleStatus is what a rule makes of the samples so far.
type RuleStatus struct {
	Name     string   `json:"name"`
	Activity Activity `json:"activity"`
	// Since is the first, and Samples the number, of the samples in a row that
	// agree.
	Since   time.Time `json:"since,omitzero"`
	Samples int       `json:"samples"`
	// Confirmed says that it has held long enough, and its end has not.
	Confirmed bool   `json:"confirmed"`
	Evidence  string `json:"evidence,omitempty"`
}

// Status returns what is known now.
func (g *Guard) Status(ctx context.Context) (Status, error) {
	var s Status
	err := g.look(ctx, func(b *book) error {
		log, err := g.attempts(b)
		if err != nil {
			return err
		}
		s = g.status(b, log)
		return nil
	})
	return s, err
}

func (g *Guard) status(b *book, log []time.Time) Status {
	c := b.ctl
	s := Status{
		At: b.now, Caps: g.cfg.Caps, Spend: c.Tally.Spend, Instances: c.Tally.Held, States: maps.Clone(c.Tally.States),
		Overdue: c.Tally.Overdue, Foreign: c.Tally.Foreign, Covering: c.Tally.Covering, InFlight: inFlight(c.Tally),
		Launches: len(log), DemandDoubt: g.fresh(b), InventoryAt: c.Inventory.At, InventoryDoubt: g.believed(b), Killed: c.Killed,
	}
	if next := g.cfg.Window.next(log, 0, 1, b.now); len(next) > 0 {
		s.WindowOpens = next[0]
	}
	if c.Demand != nil {
		s.Demand = c.Demand.Demand
	}
	s.Emergency, s.Evidence = g.established(b)
	for _, rule := range g.cfg.Rules {
		if r := c.Rules[rule.Name()]; r != nil {
			s.Rules = append(s.Rules, ruleStatus(rule.Name(), *r))
		}
	}
	if e := c.Episode; e != nil {
		s.Episodes = append(s.Episodes, e.Episode)
		left, next := e.left(g.cfg.Allowance, b.now)
		if s.AllowanceLeft = left; left == 0 {
			s.AllowanceAt = next
		}
	}
	for _, e := range slices.Backward(c.Past) {
		s.Episodes = append(s.Episodes, e)
	}
	s.HoldScaleDown = g.holdScaleDown(b)
	if c.Vendor.Until.After(b.now) {
		s.VendorUntil = c.Vendor.Until
	}
	for _, o := range c.Overrides {
		left := o.Override
		left.Count = o.Left
		s.Overrides = append(s.Overrides, left)
	}
	return s
}

func ruleStatus(name string, r run) RuleStatus {
	s := RuleStatus{Name: name, Activity: r.Activity, Since: r.Since, Samples: r.Samples, Confirmed: r.On, Evidence: r.Evidence}
	if r.Unknown || s.Activity == "" {
		s.Activity = Unknown
	}
	return s
}

func (g *Guard) holdScaleDown(b *book) string {
	if e := b.ctl.Episode; e != nil {
		return "emergency " + e.ID + " lasts"
	}
	if doubt := g.fresh(b); doubt != "" {
		return doubt
	}
	if doubt := g.believed(b); doubt != "" {
		return doubt
	}
	if n := len(b.ctl.Past); n > 0 {
		if e := b.ctl.Past[n-1]; b.now.Sub(e.End) < g.cfg.Confirm.Hold {
			return "emergency " + e.ID + " ended at " + clockTime(e.End, b.now)
		}
	}
	return ""
}

// Decisions returns the latest recorded decisions, the latest first, limit at
// most. They are kept for a week, the latest 10,000 of them.
func (g *Guard) Decisions(ctx context.Context, limit int) ([]Decision, error) {
	var ds []Decision
	err := g.look(ctx, func(b *book) error {
		var err error
		ds, err = b.tx.Decisions(limit)
		return err
	})
	return ds, err
}

// Reservations returns everything that holds a slot, in order of ID.
func (g *Guard) Reservations(ctx context.Context) ([]Reservation, error) {
	var rs []Reservation
	err := g.look(ctx, func(b *book) error {
		rs = nil
		for r, err := range b.tx.Held() {
			if err != nil {
				return err
			}
			rs = append(rs, r)
		}
		return nil
	})
	return rs, err
}
