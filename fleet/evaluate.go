package fleet

import (
	"slices"
	"time"
)

// evaluation is one request before every constraint. It only reads.
type evaluation struct {
	guard   *Guard
	book    *book
	request Request
	log     []time.Time // the launches in the window
	d       Decision

	hard   int // what the tiers above pacing allow
	paced  int // what pacing allows
	leave  int // how many may go past pacing
	claim  bool
	signal bool // signals have established an emergency
}

func (g *Guard) evaluate(b *book, r Request) (*evaluation, error) {
	log, err := g.attempts(b)
	if err != nil {
		return nil, err
	}
	e := &evaluation{guard: g, book: b, request: r, log: log, d: g.decision(b.now, r)}
	e.findings()
	e.emergency()
	e.decide()
	return e, nil
}

func (g *Guard) decision(now time.Time, r Request) Decision {
	if len(r.Key) > maxKey {
		r.Key = clip(r.Key) // it is invalid; the record need not keep a stranger's megabyte
	}
	return Decision{
		Key: r.Key, At: now, Asked: max(1, r.count()), MaxPrice: r.MaxPrice, Offer: r.Offer, Reason: r.Reason,
		Claimed: r.Emergency || r.Claimed,
	}
}

// findings asks every constraint, the most binding tier first.
func (e *evaluation) findings() {
	g, b := e.guard, e.book
	view := g.view(b, len(e.log))
	e.add(gate(constraintRequest, Invalid, e.request.check(), "sound"))
	e.add(gate(constraintKill, Killed, b.ctl.Killed, "off"))
	e.add(Finding{Constraint: constraintLedger, Tier: TierIntegrity, Code: LedgerUnavailable, Allowed: unlimited, Detail: "writable"})
	e.add(Finding{Constraint: constraintKey, Tier: TierIntegrity, Code: Duplicate, Allowed: unlimited, Detail: "new"})
	e.add(gate(constraintInventory, StaleInventory, g.believed(b), inventorySays(b)))
	e.add(g.budgetFinding(b.ctl.Tally, e.request))
	e.add(g.countFinding(b.ctl.Tally))
	e.host(TierCap, view)
	e.add(g.needFinding(b))
	e.add(vendorFinding(b))
	e.add(g.windowFinding(e.log))
	e.host(TierPacing, view)
}

// gate is a finding that allows all or nothing.
func gate(name string, code Code, trouble, fine string) Finding {
	f := Finding{Constraint: name, Tier: TierIntegrity, Code: code, Allowed: unlimited, Detail: fine}
	if trouble != "" {
		f.Allowed, f.Detail = 0, trouble
	}
	return f
}

func (e *evaluation) host(tier Tier, view View) {
	for _, c := range e.guard.cfg.Constraints {
		if c.Tier == tier {
			e.add(c.find(view, e.request))
		}
	}
}

func (e *evaluation) add(f Finding) {
	f.Allowed = max(0, min(f.Allowed, e.d.Asked))
	e.d.Findings = append(e.d.Findings, f)
}

// emergency finds out what may go past pacing, and writes the finding of the
// allowance where signals have established the emergency.
func (e *evaluation) emergency() {
	g, b := e.guard, e.book
	e.signal, e.d.Evidence = g.established(b)
	if e.request.Emergency && g.registered(HostClaim{}.Name()) {
		e.claim = true
		if !e.signal {
			e.d.Evidence = "claimed by the host"
		}
	}
	e.d.Established = e.signal || e.claim
	e.leave = b.overridesLeft()
	if e.signal {
		left, refill := b.ctl.Episode.left(g.cfg.Allowance, b.now)
		if !refill.IsZero() {
			refill = refill.In(b.now.Location())
		}
		e.add(Finding{
			Constraint: constraintAllowance, Tier: TierPacing, Code: AllowanceSpent,
			Allowed: left, RetryAt: refill, Detail: allowanceSays(b.ctl.Episode, 0, left),
		})
		e.leave = min(unlimited, e.leave+left)
	}
	if e.claim {
		e.leave = unlimited
	}
}

// pacing reports whether f is a limit that can be bypassed; the allowance is
// what bounds the bypass, not one of them.
func pacing(f Finding) bool { return f.Tier == TierPacing && f.Constraint != constraintAllowance }

// decide grants the largest number that fits, and says what stopped the rest.
func (e *evaluation) decide() {
	d := &e.d
	e.hard, e.paced = d.Asked, d.Asked
	for _, f := range d.Findings {
		switch {
		case pacing(f):
			e.paced = min(e.paced, f.Allowed)
		case f.Tier < TierPacing:
			e.hard = min(e.hard, f.Allowed)
		}
	}
	d.Granted = e.hard
	if past := e.hard - e.paced; past > e.leave { // a sum would not fit a small int
		d.Granted = e.paced + e.leave
	}
	for i := range d.Findings {
		f := &d.Findings[i]
		if pacing(*f) && f.Allowed < d.Granted {
			f.Bypassed = true
			d.Bypassed = append(d.Bypassed, f.Constraint)
		}
		if f.Constraint == constraintWindow {
			f.Next = e.guard.cfg.Window.next(e.log, d.Granted, max(1, d.Asked-d.Granted), e.book.now)
			if len(f.Next) > 0 {
				f.RetryAt = f.Next[0]
			}
		}
	}
	e.recount()
	switch {
	case d.Granted == d.Asked:
		d.Code = Granted
	case d.Granted > 0:
		d.Code = Partial
	}
	if d.Granted < d.Asked {
		e.stopped()
	}
	e.headroom()
}

// recount lets the findings that count say where they stand with what is granted,
// which is what stops the rest of a batch.
func (e *evaluation) recount() {
	d, g, t := &e.d, e.guard, e.book.ctl.Tally
	if d.Granted == 0 {
		return
	}
	for i := range d.Findings {
		switch f := &d.Findings[i]; f.Constraint {
		case constraintBudget:
			f.Detail = g.budgetSays(t.Spend+e.request.MaxPrice*Money(d.Granted), e.request)
		case constraintCount:
			f.Detail = g.countSays(t.Held+d.Granted, t.Foreign)
		case constraintNeed:
			f.Code, f.Detail = CoveredByInFlight, g.needSays(e.book, d.Granted)
		case constraintWindow:
			f.Detail = g.cfg.Window.says(len(e.log) + d.Granted)
		case constraintAllowance:
			left, _ := e.book.ctl.Episode.left(g.cfg.Allowance, e.book.now)
			use := e.fromEpisode(max(0, d.Granted-e.paced))
			f.Detail = allowanceSays(e.book.ctl.Episode, use, max(0, left-use))
		}
	}
}

// stopped names what stopped the first one that was not granted, and when it
// could be.
func (e *evaluation) stopped() {
	d := &e.d
	blocks := func(f Finding) bool { return f.Allowed <= d.Granted }
	hard := func(f Finding) bool { return f.Tier < TierPacing && blocks(f) }
	paced := func(f Finding) bool { return pacing(f) && blocks(f) }
	allowance := func(f Finding) bool { return f.Constraint == constraintAllowance }

	by := slices.IndexFunc(d.Findings, hard)
	if by < 0 && e.signal {
		by = slices.IndexFunc(d.Findings, allowance)
	}
	if by < 0 {
		by = slices.IndexFunc(d.Findings, paced)
	}
	d.StoppedBy, d.Stopped = d.Findings[by].Constraint, d.Findings[by].Code
	if d.Granted == 0 {
		d.Code = d.Stopped
	}

	at, curable := latest(d.Findings, hard)
	if !curable {
		return
	}
	// Where nothing more may go past pacing, whichever comes first: pacing lets
	// it through, or the allowance does.
	if d.Granted-e.paced >= e.leave {
		open, cured := latest(d.Findings, paced)
		refill, refilled := latest(d.Findings, func(f Finding) bool { return allowance(f) && !f.RetryAt.IsZero() })
		if refilled && !refill.IsZero() && (!cured || refill.Before(open)) {
			open, cured = refill, true
		}
		if !cured {
			return
		}
		if open.After(at) {
			at = open
		}
	}
	d.RetryAt = at
}

// latest returns the latest RetryAt of those findings; ok is false when one of
// them has none.
func latest(findings []Finding, of func(Finding) bool) (at time.Time, ok bool) {
	for _, f := range findings {
		if !of(f) {
			continue
		}
		if f.RetryAt.IsZero() {
			return time.Time{}, false
		}
		if f.RetryAt.After(at) {
			at = f.RetryAt
		}
	}
	return at, true
}

func (e *evaluation) headroom() {
	d, t, cfg := &e.d, e.book.ctl.Tally, e.guard.cfg
	cost := Money(0)
	if d.Granted > 0 {
		cost = e.request.MaxPrice * Money(d.Granted)
	}
	d.Headroom = Headroom{
		Money:     max(0, cfg.Caps.HourlyBudget-t.Spend-cost),
		Instances: max(0, cfg.Caps.Instances-t.Held-d.Granted),
		Launches:  -1,
	}
	if cfg.Window.Launches > 0 {
		d.Headroom.Launches = max(0, cfg.Window.free(e.log)-d.Granted)
	}
}
