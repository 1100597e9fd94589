package fleet

import "time"

// A Code is what a decision came to. The set is closed, and the words are
// stable. The zero value, "", is no decision and grants nothing.
type Code string

const (
	// Granted means all that was asked for.
	Granted Code = "granted"
	// Partial means some of it; Decision.StoppedBy says what stopped the rest.
	Partial Code = "partial"
	// Duplicate means that the key was granted before: the answer repeats what
	// it got, and nothing was launched for it again.
	Duplicate Code = "duplicate"
	// NothingNeeded means that as many run as are needed.
	NothingNeeded Code = "nothing_needed"

	// RateWindow means that the launch rate window is full. Time cures it.
	RateWindow Code = "rate_window"
	// Budget means that the hourly budget does not allow it.
	Budget Code = "budget"
	// Count means that the instance cap is reached.
	Count Code = "count"
	// VendorPacing means that the vendor said to wait. Time cures it.
	VendorPacing Code = "vendor_pacing"
	// ConstraintDenied means a constraint of the host's own, which StoppedBy names.
	ConstraintDenied Code = "constraint"
	// CoveredByInFlight means that those on their way will be enough.
	CoveredByInFlight Code = "covered_by_in_flight"
	// AllowanceSpent means an emergency that has used up its allowance, before a
	// full window. Time cures it.
	AllowanceSpent Code = "emergency_allowance_spent"
	// StaleInventory means that nobody knows what is there: the latest listing is
	// too old, or not to be believed.
	StaleInventory Code = "stale_inventory"
	// LedgerUnavailable means that nothing could be written down.
	LedgerUnavailable Code = "ledger_unavailable"
	// Killed means that the kill switch is on.
	Killed Code = "killed"
	// Invalid means that the request makes no sense.
	Invalid Code = "invalid"
)

// Names of the guard's own constraints, as Finding.Constraint and
// Decision.Bypassed have them. A host's own may not be called so.
const (
	constraintLedger    = "ledger"
	constraintRequest   = "request"
	constraintKey       = "key"
	constraintKill      = "kill_switch"
	constraintInventory = "inventory"
	constraintBudget    = "budget"
	constraintCount     = "count"
	constraintNeed      = "need"
	constraintVendor    = "vendor_pacing"
	constraintWindow    = "rate_window"
	constraintAllowance = "emergency_allowance"
)

var ownConstraints = []string{
	constraintLedger, constraintRequest, constraintKey, constraintKill, constraintInventory, constraintBudget,
	constraintCount, constraintNeed, constraintVendor, constraintWindow, constraintAllowance,
}

// unlimited is more than any request gets.
const unlimited = 1 << 30

// A Finding is what one constraint says of one request.
type Finding struct {
	Constraint string `json:"constraint"`
	Tier       Tier   `json:"tier"`
	// Code is what a denial by it is called.
	Code Code `json:"code"`
	// Allowed is how many of those asked for it allows.
	Allowed int `json:"allowed"`
	// RetryAt is when it will allow one more, if time alone tells.
	RetryAt time.Time `json:"retry_at,omitzero"`
	// Next is when it will allow the further ones, in order, as far as it is
	// known. Its first is RetryAt.
	Next []time.Time `json:"next,omitempty"`
	// Bypassed says that launches were granted past it.
	Bypassed bool `json:"bypassed,omitempty"`
	// Detail is what it rests on, in one clause.
	Detail string `json:"detail,omitempty"`
}

// Headroom is what is left after a decision.
type Headroom struct {
	Money     Money `json:"money"`     // an hour
	Instances int   `json:"instances"` // up to the count cap
	Launches  int   `json:"launches"`  // in the rate window now; -1 without a window
}
