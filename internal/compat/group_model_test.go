package compat

import (
	"slices"

	"github.com/holdoff-go/holdoff/limiter"
)

// A groupModel is a group's rules told a second time: a model for each key, and one
// list of all who wait, of which after each change the first who may pass everywhere
// goes, and then the next.
type groupModel struct {
	keys    []*model
	waiting []*joint // by arrival
}

// A joint is somebody who needs some keys at once: a slot or a call of a gate.
type joint struct {
	keys     []int // the narrowest first
	priority limiter.Priority
	deadline int       // half a second after this, counted down; -1: none
	tickets  []*ticket // of keys; nil: it waits
	under    *joint    // the slot that it is a call of; nil: none
	gone     bool
}

// blocks says who keeps p out: of several the one that is known to do so longest.
func (g *groupModel) blocks(keys []int, p limiter.Priority) (by int, reason limiter.Reason, wait int) {
	for _, k := range keys {
		r, w := g.keys[k].blocks(p)
		if r != limiter.ReasonNone && (reason == limiter.ReasonNone || w > wait) {
			by, reason, wait = k, r, w
		}
	}
	return by, reason, wait
}

func (g *groupModel) admit(j *joint) {
	for _, k := range j.keys {
		t := g.keys[k].admit(j.priority)
		if j.under != nil {
			if at := slices.Index(j.under.keys, k); at >= 0 {
				t.slot = j.under.tickets[at]
			}
		}
		j.tickets = append(j.tickets, t)
	}
}

// enter lets j in, has it wait, or says who is known to block it beyond its deadline.
func (g *groupModel) enter(j *joint) (by int, reason limiter.Reason) {
	by, reason, wait := g.blocks(j.keys, j.priority)
	switch {
	case reason == limiter.ReasonNone:
		g.admit(j)
	case j.deadline >= 0 && wait > j.deadline:
		j.gone = true
		return by, reason
	default:
		g.waiting = append(g.waiting, j)
	}
	return 0, limiter.ReasonNone
}

func (g *groupModel) handOut() {
	for p := running; p >= limiter.Normal; p-- {
		for _, j := range slices.Clone(g.waiting) {
			if j.priority != p {
				continue
			}
			if _, reason, _ := g.blocks(j.keys, p); reason == limiter.ReasonNone {
				g.leave(j)
				g.admit(j)
			}
		}
	}
}

func (g *groupModel) leave(j *joint) {
	if i := slices.Index(g.waiting, j); i >= 0 {
		g.waiting = slices.Delete(g.waiting, i, i+1)
	}
}

func (g *groupModel) release(j *joint) {
	for i, k := range j.keys {
		g.keys[k].release(j.tickets[i])
	}
}

// exchange gives j back for n, if n may pass then.
func (g *groupModel) exchange(j, n *joint) (by int, reason limiter.Reason) {
	g.release(j)
	if by, reason, _ = g.blocks(n.keys, n.priority); reason != limiter.ReasonNone {
		for _, t := range j.tickets {
			t.inFlight = true
		}
		return by, reason
	}
	g.admit(n)
	return 0, limiter.ReasonNone
}

// at is the key and the ticket of j in a scope; else those of the narrowest.
func (j *joint) at(key int) (int, *ticket) {
	i := max(0, slices.Index(j.keys, key))
	return j.keys[i], j.tickets[i]
}

// openness is for whom a limiter is open, and how far.
type openness struct {
	shut                   [running + 1]limiter.Reason
	window, budget, tokens int
}

func (m *model) openness() openness {
	o := openness{window: m.window, budget: m.budget, tokens: m.tokens * min(m.burst, 1)}
	for p := range o.shut {
		o.shut[p], _ = m.blocks(limiter.Priority(p))
	}
	return o
}

// forget is what a group does with a limiter that is as new; what it had of a ramp
// goes with it.
func (m *model) forget(budget int) {
	if m.inFlight() == 0 && !m.hold && !m.paused && !m.storm && m.budget == m.ceiling && m.ceiling == budget && (m.burst == 0 || m.tokens == m.burst) {
		m.window, m.successes, m.cutAgo = 0, 0, 1000
	}
}
