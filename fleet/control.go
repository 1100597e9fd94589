package fleet

import (
	"encoding/json"
	"fmt"
	"time"
)

// control is what the guard keeps besides reservations and decisions: running
// sums, so that a decision costs the same however many instances live, and what
// it was told. It is one JSON value in the ledger.
type control struct {
	// Now is the latest time any guard of this ledger has seen. A clock that
	// reads less was set back.
	Now        time.Time `json:"now"`
	Tally      tally     `json:"tally"`
	LastLaunch time.Time `json:"last_launch,omitzero"`

	Demand      *sample         `json:"demand,omitempty"`
	LastRunning time.Time       `json:"last_running,omitzero"` // when Demand.Running was last above zero
	Rules       map[string]*run `json:"rules,omitempty"`
	Episode     *episode        `json:"episode,omitempty"` // the open one
	Orphan      *episode        `json:"orphan,omitempty"`  // the latest that ended because its rule was not registered
	Past        []Episode       `json:"past,omitempty"`    // the latest that ended, the latest last
	Episodes    int             `json:"episodes,omitempty"`

	Inventory listing `json:"inventory,omitzero"`
	Vendor    hold    `json:"vendor,omitzero"`

	Killed    string     `json:"killed,omitempty"`
	Overrides []override `json:"overrides,omitempty"`
	Forgot    time.Time  `json:"forgot,omitzero"` // when old records were last deleted
}

// keptEpisodes is how many ended episodes Status shows.
const keptEpisodes = 16

// sample is the latest demand.
type sample struct {
	Demand
	Unread string `json:"unread,omitempty"` // why it could not be read
}

// listing is what is known of the latest inventory.
type listing struct {
	At      time.Time       `json:"at,omitzero"`      // of the latest that was believed
	Suspect time.Time       `json:"suspect,omitzero"` // of one that lost too many and waits for another that agrees
	Lacks   []ReservationID `json:"lacks,omitempty"`  // what the suspect one lost, while it waits
	Known   int             `json:"known,omitempty"`
}

// used reports whether Observe has ever been called.
func (l listing) used() bool { return !l.At.IsZero() || !l.Suspect.IsZero() }

// hold is a vendor's word to wait.
type hold struct {
	From  time.Time `json:"from"`
	Until time.Time `json:"until"`
	Why   string    `json:"why"`
}

// tally sums what the reservations count toward.
type tally struct {
	Spend    Money `json:"spend"`
	Held     int   `json:"held"`
	Covering int   `json:"covering"`
	Overdue  int   `json:"overdue,omitempty"`
	Foreign  int   `json:"foreign,omitempty"`
	// ForeignRunning is how many of StateRunning are foreign.
	ForeignRunning int           `json:"foreign_running,omitempty"`
	States         map[State]int `json:"states,omitempty"` // of those that hold a slot
}

// add counts r in, or out with sign -1.
func (t *tally) add(r Reservation, sign int) {
	if !r.Holds() {
		return
	}
	if t.States == nil {
		t.States = map[State]int{}
	}
	t.Spend += Money(sign) * r.Price
	t.Held += sign
	if t.States[r.State] += sign; t.States[r.State] == 0 {
		delete(t.States, r.State)
	}
	if r.Covers() {
		t.Covering += sign
	}
	if r.Overdue {
		t.Overdue += sign
	}
	if r.Foreign {
		t.Foreign += sign
		if r.State == StateRunning {
			t.ForeignRunning += sign
		}
	}
}

func readControl(tx Tx) (*control, error) {
	data, err := tx.Control()
	if err != nil {
		return nil, err
	}
	c := &control{}
	if len(data) == 0 {
		return c, nil
	}
	if err := json.Unmarshal(data, c); err != nil {
		return nil, fmt.Errorf("the guard's state in the ledger cannot be read: %w", err)
	}
	return c, nil
}

func (c *control) write(tx Tx) error {
	data, err := json.Marshal(c)
	if err != nil {
		return fmt.Errorf("the guard's state cannot be written: %w", err)
	}
	return tx.SetControl(data)
}

// clamp moves what lies after now to now, and the ends of what began then along
// with it: a clock that was set back must not stretch a wait. The end of an
// override is an operator's word about the time of day and stays.
func (c *control) clamp(now time.Time) {
	back := func(ts ...*time.Time) {
		for _, t := range ts {
			if t.After(now) {
				*t = now
			}
		}
	}
	if c.Vendor.From.After(now) {
		c.Vendor.Until = c.Vendor.Until.Add(now.Sub(c.Vendor.From))
	}
	back(&c.Now, &c.LastLaunch, &c.LastRunning, &c.Inventory.At, &c.Inventory.Suspect, &c.Vendor.From, &c.Forgot)
	if c.Demand != nil {
		back(&c.Demand.At)
	}
	for _, r := range c.Rules {
		back(&r.Since, &r.Last)
	}
	for _, e := range []*episode{c.Episode, c.Orphan} {
		if e != nil {
			back(&e.Start, &e.Spent)
		}
	}
	for i := range c.Past {
		back(&c.Past[i].Start, &c.Past[i].End)
	}
}
