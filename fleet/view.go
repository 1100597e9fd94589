package fleet

import (
	"time"
)

// A View is what a [Rule] and a [Constraint] may look at: a copy, safe to keep.
type View struct {
	Now time.Time
	// Demand is the latest sample; Fresh says that there is one, that it could be
	// read and that it is not older than Config.MaxSignalAge.
	Demand Demand
	Fresh  bool
	// LastRunning is when Demand.Running was last above zero. Zero is never.
	LastRunning time.Time
	// LastLaunch is when a launch was last granted. Zero is never.
	LastLaunch time.Time
	// Spend is what all that holds a slot costs an hour.
	Spend Money
	// Instances is how many hold a slot: reserved, loading, running, failed and
	// terminating ones, foreign ones among them.
	Instances int
	// InFlight is how many are on their way and within their deadline.
	InFlight int
	// Running is how many the ledger says are up, foreign ones among them.
	Running int
	// Covering is how many stand for one that is needed.
	Covering int
	// Launches is how many launches are in the rate window.
	Launches int
	// Episode is the open emergency, "" when there is none.
	Episode string
}

func (g *Guard) view(b *book, launches int) View {
	c := b.ctl
	v := View{
		Now:         b.now,
		Fresh:       g.fresh(b) == "",
		LastRunning: c.LastRunning,
		LastLaunch:  c.LastLaunch,
		Spend:       c.Tally.Spend,
		Instances:   c.Tally.Held,
		Running:     c.Tally.States[StateRunning],
		Covering:    c.Tally.Covering,
		InFlight:    inFlight(c.Tally),
		Launches:    launches,
	}
	if c.Demand != nil {
		v.Demand = c.Demand.Demand
	}
	if c.Episode != nil {
		v.Episode = c.Episode.ID
	}
	return v
}

// inFlight is how many of those that cover need are not up yet.
func inFlight(t tally) int {
	return max(0, t.Covering-(t.States[StateRunning]-t.ForeignRunning))
}

// fresh says why the latest demand tells nothing about now, or "".
func (g *Guard) fresh(b *book) string {
	d := b.ctl.Demand
	switch {
	case d == nil:
		return "no demand has been signalled"
	case d.Unread != "":
		return "the demand could not be read: " + d.Unread
	case b.now.Sub(d.At) > g.cfg.MaxSignalAge:
		return "the latest demand is " + age(b.now.Sub(d.At)) + " old"
	}
	return ""
}

// believed says why the inventory cannot be relied on now, or "".
func (g *Guard) believed(b *book) string {
	l := b.ctl.Inventory
	switch {
	case !l.used():
		return ""
	case !l.Suspect.IsZero():
		return suspicion(l)
	case b.now.Sub(l.At) > g.cfg.MaxSignalAge:
		return "the latest listing is " + age(b.now.Sub(l.At)) + " old"
	}
	return ""
}
