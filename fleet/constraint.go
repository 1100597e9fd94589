package fleet

import (
	"fmt"
	"slices"
	"time"
)

// A Constraint is a limit of the host's own: a price ceiling, a blocklist, a
// cooldown, a back-off for one offer. See the package's examples.
type Constraint struct {
	// Name is stable and in the record.
	Name string
	// Tier is TierCap for what must never be exceeded, or TierPacing for what an
	// emergency and an override may skip.
	Tier Tier
	// Check says how many of the request's instances it allows. It is asked
	// inside the ledger's transaction: it must be quick, must not call the guard,
	// and must be safe for concurrent use. One that panics allows none.
	Check func(View, Request) Limit
}

// A Limit is what a [Constraint] allows. The zero value allows nothing.
type Limit struct {
	// Allowed is how many; [Unlimited] is no limit.
	Allowed int
	// RetryAt is when one more will be allowed, if time alone tells.
	RetryAt time.Time
	// Detail is why, in one clause.
	Detail string
}

// Unlimited as a [Limit]'s Allowed is no limit.
const Unlimited = unlimited

func (c Constraint) check(index int, seen []string) error {
	where := fmt.Sprintf("fleet: Config.Constraints[%d]", index)
	switch {
	case c.Name == "":
		return fmt.Errorf("%s: Name is empty", where)
	case slices.Contains(ownConstraints, c.Name):
		return fmt.Errorf("%s: Name is %q, which is one of the guard's own", where, c.Name)
	case slices.Contains(seen, c.Name):
		return fmt.Errorf("%s: Name is %q, as that of another one", where, c.Name)
	case c.Tier != TierCap && c.Tier != TierPacing:
		return fmt.Errorf("%s: Tier of %q is %s, not TierCap or TierPacing", where, c.Name, c.Tier)
	case c.Check == nil:
		return fmt.Errorf("%s: Check of %q is nil", where, c.Name)
	}
	return nil
}

func (c Constraint) find(v View, r Request) Finding {
	limit := c.ask(v, r)
	f := Finding{
		Constraint: c.Name, Tier: c.Tier, Code: ConstraintDenied,
		Allowed: limit.Allowed, RetryAt: limit.RetryAt, Detail: limit.Detail,
	}
	if !f.RetryAt.After(v.Now) { // a time that has passed tells nothing
		f.RetryAt = time.Time{}
	}
	return f
}

func (c Constraint) ask(v View, r Request) (limit Limit) {
	defer func() {
		if p := recover(); p != nil {
			limit = Limit{Detail: fmt.Sprintf("the constraint panicked: %v", p)}
		}
	}()
	return c.Check(v, r)
}
