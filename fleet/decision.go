package fleet

import (
	"time"
)

// A Decision is the answer to a [Request], and the record of it. A denial is a
// decision, not an error. The zero value grants nothing.
type Decision struct {
	Code Code      `json:"code"`
	Key  string    `json:"key"`
	At   time.Time `json:"at,omitzero"`
	// Asked and Granted are numbers of instances.
	Asked   int `json:"asked"`
	Granted int `json:"granted"`
	// StoppedBy names the constraint that stopped what was not granted, and
	// Stopped is its code.
	StoppedBy string `json:"stopped_by,omitempty"`
	Stopped   Code   `json:"stopped,omitempty"`

	MaxPrice Money  `json:"max_price,omitempty"`
	Offer    string `json:"offer,omitempty"`
	Reason   string `json:"reason,omitempty"`
	// Claimed says that somebody called it an emergency, Established that it was
	// one: by the signals or by the host's own claim.
	Claimed     bool `json:"claimed,omitempty"`
	Established bool `json:"established,omitempty"`
	// Evidence is what Established rests on, or what is missing for it.
	Evidence string `json:"evidence,omitempty"`

	// Findings has one entry for every constraint, tier by tier.
	Findings []Finding `json:"findings,omitempty"`
	// Bypassed names the pacing constraints that were skipped for some of the
	// granted, and Episode the emergency or Overrides the operators they were
	// skipped for.
	Bypassed  []string `json:"bypassed,omitempty"`
	Episode   string   `json:"episode,omitempty"`
	Overrides []string `json:"overrides,omitempty"`

	// RetryAt is when one more could be granted, if time alone can tell; zero
	// when nothing was stopped, and when it is not for time to cure.
	RetryAt time.Time `json:"retry_at,omitzero"`
	// Headroom is what is left after this decision.
	Headroom Headroom `json:"headroom"`
	// Reservations has one entry for each granted instance.
	Reservations []Reservation `json:"reservations,omitempty"`
}

// Finding returns what the named constraint said; ok is false when there is no
// such finding.
func (d Decision) Finding(constraint string) (f Finding, ok bool) {
	for _, f := range d.Findings {
		if f.Constraint == constraint {
			return f, true
		}
	}
	return Finding{}, false
}
