package fleet

import (
	"fmt"
	"slices"
	"time"
)

// An Episode is one emergency, from its confirmation to its end. It is in the
// ledger, so that a restart neither grants its allowance again nor forgets it.
type Episode struct {
	ID       string    `json:"id"`
	Rule     string    `json:"rule"`
	Evidence string    `json:"evidence"`
	Start    time.Time `json:"start"`
	// Launches is how many went past pacing for it, less what the vendor refused.
	Launches int `json:"launches"`
	// End is zero while it lasts.
	End       time.Time `json:"end,omitzero"`
	EndReason string    `json:"end_reason,omitempty"`
}

// Allowance bounds the launches that go past pacing in one episode that signals
// established. An operator's override and the host's own claim have bounds of
// their own: a count, and the need.
type Allowance struct {
	// Burst is how many an episode has to begin with; zero is 4, negative is no
	// bound but the caps and the need.
	Burst int
	// Refill is how long after the last of them one more is allowed, again and
	// again while no launch of the episode is up; zero is 15 min, negative is
	// never. What was not used does not add up.
	Refill time.Duration
}

// episode is an open one.
type episode struct {
	Episode
	Spent time.Time `json:"spent,omitzero"` // when the allowance was last drawn on
	Ready bool      `json:"ready,omitempty"`
}

// left is how much of the allowance there is, and when there is one more if that
// is used up now (zero: time does not tell).
func (e *episode) left(a Allowance, now time.Time) (n int, next time.Time) {
	if a.Burst < 0 {
		return unlimited, time.Time{}
	}
	refills := a.Refill > 0 && !e.Ready
	n = max(0, a.Burst-e.Launches)
	if n == 0 && refills {
		if next = e.Spent.Add(a.Refill); next.After(now) {
			return 0, next
		}
		n = 1
	}
	if refills {
		next = now.Add(a.Refill)
	}
	return n, next
}

// judge lets the rules look at the sample that has just come in, and opens or
// ends the episode accordingly.
func (g *Guard) judge(b *book) error {
	if b.ctl.Rules == nil {
		b.ctl.Rules = map[string]*run{}
	}
	doubt := g.fresh(b)
	if doubt == "" {
		doubt = g.believed(b)
	}
	launches, err := g.attempts(b)
	if err != nil {
		return err
	}
	view := g.view(b, len(launches))
	for _, rule := range g.cfg.Rules {
		if _, claim := rule.(HostClaim); claim {
			continue
		}
		r := b.ctl.Rules[rule.Name()]
		if r == nil {
			r = &run{}
			b.ctl.Rules[rule.Name()] = r
		}
		a := Assessment{Unknown, doubt}
		if doubt == "" {
			a = assess(rule, view)
		}
		r.take(a, b.ctl.Demand.At, g.cfg.MaxSignalAge, g.cfg.Confirm)
	}
	g.turn(b)
	return nil
}

// assess asks a rule, which is the host's code and may panic.
func assess(rule Rule, v View) (a Assessment) {
	defer func() {
		if p := recover(); p != nil {
			a = Assessment{Unknown, fmt.Sprintf("the rule panicked: %v", p)}
		}
	}()
	a = rule.Assess(v)
	switch a.Activity {
	case Active, Unknown, Inactive:
	case "":
		a.Activity = Inactive
	default:
		a = Assessment{Unknown, fmt.Sprintf("the rule answered %q", a.Activity)}
	}
	return a
}

// turn opens an episode when a rule is on and none is open, and ends it when
// none is on.
func (g *Guard) turn(b *book) {
	if o := b.ctl.Orphan; o != nil && (b.ctl.Rules[o.Rule] == nil || !b.ctl.Rules[o.Rule].On) {
		b.ctl.Orphan = nil // its emergency is over; the next is another
	}
	name, r := g.on(b)
	switch e := b.ctl.Episode; {
	case r != nil && e == nil:
		if b.reopen(name) {
			return
		}
		b.ctl.Episode = &episode{Episode: b.newEpisode(name, r.Evidence)}
		b.rose = true
	case r == nil && e != nil:
		reason := "rule " + e.Rule + " is no longer registered"
		if last := b.ctl.Rules[e.Rule]; last != nil && g.registered(e.Rule) {
			reason = last.Evidence
		} else {
			b.ctl.Orphan = e
		}
		b.end(e.Episode, reason)
		b.ctl.Episode = nil
	}
}

// reopen takes up the episode that ended because a guard of this ledger did not
// have its rule, and says whether there is one. The rule has been on all the
// while, so it is the same emergency, and its allowance is spent as it was: a
// change of the configuration and back grants nothing.
func (b *book) reopen(rule string) bool {
	e := b.ctl.Orphan
	if e == nil || e.Rule != rule {
		return false
	}
	b.ctl.Orphan = nil
	b.ctl.Past = slices.DeleteFunc(b.ctl.Past, func(p Episode) bool { return p.ID == e.ID })
	b.ctl.Episode = e
	return true
}

// on returns the first registered rule that is on, or nil.
func (g *Guard) on(b *book) (string, *run) {
	for _, rule := range g.cfg.Rules {
		if r := b.ctl.Rules[rule.Name()]; r != nil && r.On {
			return rule.Name(), r
		}
	}
	return "", nil
}

func (g *Guard) registered(name string) bool {
	return slices.ContainsFunc(g.cfg.Rules, func(r Rule) bool { return r.Name() == name })
}

func (b *book) newEpisode(rule, evidence string) Episode {
	b.ctl.Episodes++
	return Episode{ID: fmt.Sprintf("e%d", b.ctl.Episodes), Rule: rule, Evidence: evidence, Start: b.now}
}

func (b *book) end(e Episode, reason string) {
	e.End, e.EndReason = b.now, reason
	b.ctl.Past = append(b.ctl.Past, e)
	if n := len(b.ctl.Past) - keptEpisodes; n > 0 {
		b.ctl.Past = slices.Delete(b.ctl.Past, 0, n)
	}
}

// established says whether signals have established an emergency that holds
// now, and otherwise what is missing.
func (g *Guard) established(b *book) (bool, string) {
	name, r := g.on(b)
	if b.ctl.Episode == nil || r == nil {
		return false, "no emergency"
	}
	for _, doubt := range []string{g.fresh(b), g.believed(b)} {
		if doubt != "" {
			return false, "unknown: " + doubt
		}
	}
	if r.Unknown {
		return false, "unknown: " + name + ": " + r.Evidence
	}
	return true, name + ": " + r.Evidence
}
