package fleet

import "fmt"

// Caps are never exceeded, in an emergency either. Both are required.
type Caps struct {
	// HourlyBudget is what all instances together may cost an hour.
	HourlyBudget Money `json:"hourly_budget"`
	// Instances is how many there may be.
	Instances int `json:"instances"`
}

func (c Caps) check() error {
	switch {
	case c.HourlyBudget <= 0:
		return fmt.Errorf("fleet: Config.Caps.HourlyBudget is %s: it must be set, above zero", c.HourlyBudget)
	case c.Instances <= 0:
		return fmt.Errorf("fleet: Config.Caps.Instances is %d: it must be set, above zero", c.Instances)
	}
	return nil
}

func (g *Guard) budgetFinding(t tally, r Request) Finding {
	return Finding{
		Constraint: constraintBudget, Tier: TierCap, Code: Budget,
		Allowed: (g.cfg.Caps.HourlyBudget - t.Spend).fit(r.MaxPrice),
		Detail:  g.budgetSays(t.Spend, r),
	}
}

func (g *Guard) budgetSays(spend Money, r Request) string {
	return fmt.Sprintf("%s of %s/hr is committed, one more costs up to %s", spend, g.cfg.Caps.HourlyBudget, r.MaxPrice)
}

func (g *Guard) countFinding(t tally) Finding {
	return Finding{
		Constraint: constraintCount, Tier: TierCap, Code: Count,
		Allowed: max(0, g.cfg.Caps.Instances-t.Held), Detail: g.countSays(t.Held, t.Foreign),
	}
}

func (g *Guard) countSays(held, foreign int) string {
	says := fmt.Sprintf("%d of %d instances", held, g.cfg.Caps.Instances)
	if foreign > 0 {
		says += fmt.Sprintf(", %d of them foreign", foreign)
	}
	return says
}

// needFinding keeps launches from going beyond the need while it is known: those
// on their way count, or an emergency runs to the cap while the first machines
// are still booting.
func (g *Guard) needFinding(b *book) Finding {
	f := Finding{Constraint: constraintNeed, Tier: TierCap, Code: NothingNeeded, Allowed: unlimited, Detail: g.needSays(b, 0)}
	if inFlight(b.ctl.Tally) > 0 {
		f.Code = CoveredByInFlight
	}
	if target := g.target(b); target > 0 {
		f.Allowed = max(0, target-b.ctl.Tally.Covering)
	}
	return f
}

// target is how many are needed, zero when that is not known now.
func (g *Guard) target(b *book) int {
	if g.fresh(b) != "" {
		return 0
	}
	return b.ctl.Demand.Target
}

// needSays tells of the need, with granted more on their way.
func (g *Guard) needSays(b *book, granted int) string {
	if doubt := g.fresh(b); doubt != "" {
		return "unknown: " + doubt
	}
	target, t := g.target(b), b.ctl.Tally
	if target == 0 {
		return "no target is known"
	}
	coming := inFlight(t)
	return fmt.Sprintf("%d needed, %d running, %d on their way", target, t.Covering-coming, coming+granted)
}
