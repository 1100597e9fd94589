package fleet

import (
	"fmt"
	"time"
)

// Activity is what a [Rule] makes of a sample.
type Activity string

const (
	// Inactive means no emergency; so does the zero value.
	Inactive Activity = "inactive"
	// Active means an emergency, once it has held for the confirmation time.
	Active Activity = "active"
	// Unknown means that the signals do not tell. It starts no emergency and
	// ends none, and while it lasts nothing is bypassed.
	Unknown Activity = "unknown"
)

// An Assessment is a rule's word on one sample.
type Assessment struct {
	Activity Activity
	// Evidence is what it rests on, in a few words, for the record.
	Evidence string
}

// A Rule says whether what the signals show is an emergency. It is asked once
// for each fresh sample that [Guard.Signal] brings, inside the ledger's
// transaction: it must be a quick, pure function of the [View] and must not call
// the guard. The guard adds the [Confirm] times. A rule that panics is Unknown.
type Rule interface {
	// Name is stable and in the record.
	Name() string
	Assess(View) Assessment
}

// NewRule returns a rule that asks assess.
func NewRule(name string, assess func(View) Assessment) Rule {
	return ruleFunc{name, assess}
}

type ruleFunc struct {
	name   string
	assess func(View) Assessment
}

func (r ruleFunc) check() error {
	if r.assess == nil {
		return fmt.Errorf("%q has no function", r.name)
	}
	return nil
}

func (r ruleFunc) Name() string             { return r.name }
func (r ruleFunc) Assess(v View) Assessment { return r.assess(v) }

// HostClaim is the rule by which [Request.Emergency] establishes an emergency
// for that one request, bounded by the caps and by need alone. Leave it out of
// Config.Rules and the field does nothing but stand in the record.
type HostClaim struct{}

// Name returns "host_claim".
func (HostClaim) Name() string { return "host_claim" }

// Assess is Inactive: the claim comes with the request, not with a sample.
func (HostClaim) Assess(View) Assessment { return Assessment{Activity: Inactive} }

// WorkersDead is the rule of the fleet that stands still: work is pending, no
// healthy worker runs, and one was seen running before, so that a fleet which
// has never started is not taken for one that died.
type WorkersDead struct {
	// Pending is how many waiting items make it an emergency; zero is 1.
	Pending int
	// LookBack is how long ago a worker may have been seen running; zero is 24 h.
	LookBack time.Duration
}

// Name returns "workers_dead".
func (WorkersDead) Name() string { return "workers_dead" }

// Assess looks at the latest sample.
func (w WorkersDead) Assess(v View) Assessment {
	pending, lookBack := w.Pending, w.LookBack
	if pending == 0 {
		pending = 1
	}
	if lookBack == 0 {
		lookBack = 24 * time.Hour
	}
	switch {
	case v.Demand.Running > 0:
		return Assessment{Inactive, fmt.Sprintf("%d running", v.Demand.Running)}
	case v.Demand.Pending < pending:
		return Assessment{Inactive, fmt.Sprintf("%d pending", v.Demand.Pending)}
	case v.LastRunning.IsZero() || v.Now.Sub(v.LastRunning) > lookBack:
		return Assessment{Inactive, fmt.Sprintf("no worker was seen running in the last %s", lookBack)}
	}
	return Assessment{Active, fmt.Sprintf("%d pending, none running since after %s", v.Demand.Pending, clockTime(v.LastRunning, v.Now))}
}

func (w WorkersDead) check() error {
	switch {
	case w.Pending < 0:
		return fmt.Errorf("WorkersDead.Pending is %d", w.Pending)
	case w.LookBack < 0:
		return fmt.Errorf("WorkersDead.LookBack is %s", w.LookBack)
	}
	return nil
}

// Confirm is how long something must hold, and over how many fresh samples, to
// be believed. It keeps one bad sample from starting an emergency, and a worker
// that comes up and falls over again from ending one.
type Confirm struct {
	// For is the time from the first sample that shows an emergency to the one
	// that establishes it; zero is 60 s, negative is none.
	For time.Duration
	// Samples is how many must agree; zero is 2.
	Samples int
	// Hold is the time from the first sample that shows its end to the one that
	// ends it, and how long scaling down waits after that; zero is 60 s, negative
	// is none.
	Hold time.Duration
}

// run is a rule's samples that agree, in a row.
type run struct {
	Activity Activity  `json:"activity"` // of the run: Active or Inactive
	Since    time.Time `json:"since"`    // its first sample
	Last     time.Time `json:"last"`     // its latest
	Samples  int       `json:"samples"`
	Unknown  bool      `json:"unknown,omitempty"` // the latest sample told nothing
	On       bool      `json:"on,omitempty"`      // an emergency by this rule, from its confirmation to its end
	Evidence string    `json:"evidence,omitempty"`
}

// take adds one sample. A gap longer than maxGap starts the run anew: nobody
// knows what was in between.
func (r *run) take(a Assessment, at time.Time, maxGap time.Duration, c Confirm) {
	r.Evidence = a.Evidence
	r.Unknown = a.Activity == Unknown
	if r.Unknown {
		return
	}
	if r.Samples == 0 || r.Activity != a.Activity || at.Sub(r.Last) > maxGap {
		r.Activity, r.Since, r.Samples = a.Activity, at, 0
	}
	r.Last = at
	r.Samples++
	held := at.Sub(r.Since)
	switch {
	case a.Activity == Active && held >= c.For && r.Samples >= c.Samples:
		r.On = true
	case a.Activity == Inactive && held >= c.Hold:
		r.On = false
	}
}
