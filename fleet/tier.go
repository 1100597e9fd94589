package fleet

import "fmt"

// A Tier says how binding a constraint is. An emergency and an operator's
// override skip TierPacing and nothing else.
type Tier int

const (
	// TierIntegrity holds what must be true before anything can be decided: a
	// ledger that can be written, a sane request, a fresh and plausible
	// inventory, no kill switch. It fails closed.
	TierIntegrity Tier = iota
	// TierCap holds what must never be exceeded: budget, instance count, need,
	// and a host's own limits. Never relaxed.
	TierCap
	// TierVendor holds the vendor's own refusals. Never relaxed.
	TierVendor
	// TierPacing holds what is there for steadiness, the launch rate window
	// first of all. An emergency skips it, within its allowance.
	TierPacing
)

var tierNames = [...]string{"integrity", "cap", "vendor", "pacing"}

// String returns the tier's stable name.
func (t Tier) String() string {
	if t < 0 || int(t) >= len(tierNames) {
		return fmt.Sprintf("tier(%d)", int(t))
	}
	return tierNames[t]
}

// MarshalText returns the stable name.
func (t Tier) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// UnmarshalText reads a stable name.
func (t *Tier) UnmarshalText(text []byte) error {
	for i, name := range tierNames {
		if name == string(text) {
			*t = Tier(i)
			return nil
		}
	}
	return fmt.Errorf("fleet: no such tier: %q", text)
}
