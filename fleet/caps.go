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
	f := Finding{Constraint: constraintNeed, Tier: TierCap, Code: NothingNeeded, Allowed: unlimited}
	if doubt := g.fresh(b); doubt != "" {
		f.Detail = "unknown: " + doubt
		return f
	}
	target, t := b.ctl.Demand.Target, b.ctl.Tally
	if target == 0 {
		f.Detail = "no target is known"
		return f
	}
	coming := inFlight(t)
	if coming > 0 {
		f.Code = CoveredByInFlight
	}
	f.Allowed = max(0, target-t.Covering)
	f.Detail = fmt.Sprintf("%d needed, %d running, %d on their way", target, t.Covering-coming, coming)
	return f
}
