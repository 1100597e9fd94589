package compat_test

import (
	"time"

	"github.com/holdoff-go/holdoff/fleet"
)

// The numbers of the fleet's base set-up, with boots that are late sooner.
const (
	fleetBudget    = 10 * fleet.Dollar
	fleetInstances = 20
	fleetWindow    = 3
	fleetPer       = 15 * time.Minute
	fleetBoot      = 12 * time.Minute
	fleetResolve   = 10 * time.Minute
	fleetFresh     = 6 * time.Minute
	fleetLag       = time.Minute
)

// unit is one granted instance.
type unit struct {
	id      fleet.ReservationID
	price   fleet.Money
	state   fleet.State
	at      time.Time
	due     time.Time
	changed time.Time
	overdue bool
	episode int  // that it went past pacing for
	lacked  bool // by the listing that is not believed yet
	exists  bool // at the vendor's
	boots   bool // and is up there
}

func (u *unit) pending() bool {
	return u.state == fleet.StateReserved || u.state == fleet.StateAttempting || u.state == fleet.StateUnknown
}

func (u *unit) up() bool { return u.state == fleet.StateLoading || u.state == fleet.StateRunning }

// fleetModel is the guard's rules told a second time, as simply as possible:
// everything that was ever granted is in one list, which is walked whenever a
// number is needed.
type fleetModel struct {
	now   time.Time
	units []*unit
	keys  map[string][]*unit

	observing         bool // the vendor's listings are read
	listed, suspect   time.Time
	holdFrom, holdEnd time.Time
	killed            bool

	demand      *fleet.Demand
	lastRunning time.Time
	runSince    time.Time // of the samples in a row that agree
	runLast     time.Time
	runSamples  int
	runDead     bool
	unknown     bool // the latest sample told nothing
	on          bool // an emergency
	episode     int
	launches    int // past pacing in it
	spent       time.Time
	ready       bool
}

func (m *fleetModel) move(u *unit, to fleet.State) {
	if m.on && u.episode == m.episode { // a refusal gives the allowance back
		if to == fleet.StateRefused && u.state != to {
			m.launches--
		}
		if u.state == fleet.StateRefused && u.state != to {
			m.launches++
		}
	}
	if u.state != to {
		u.state, u.changed = to, m.now
	}
	if to == fleet.StateRunning && m.on && u.episode == m.episode {
		m.ready = true
	}
}

// look is what every operation does first: it notices a clock that was set back,
// and what is overdue.
func (m *fleetModel) look(now time.Time) {
	if now.Before(m.now) {
		if m.holdFrom.After(now) {
			m.holdEnd = m.holdEnd.Add(now.Sub(m.holdFrom))
		}
		for _, t := range []*time.Time{&m.listed, &m.suspect, &m.holdFrom, &m.lastRunning, &m.runSince, &m.runLast, &m.spent} {
			if t.After(now) {
				*t = now
			}
		}
		if m.demand != nil && m.demand.At.After(now) {
			m.demand.At = now
		}
		for _, u := range m.units {
			if u.state == fleet.StateRefused || !u.at.After(now) {
				continue
			}
			u.due = u.due.Add(now.Sub(u.at))
			u.at = now
			if u.changed.After(now) {
				u.changed = now
			}
		}
	}
	m.now = now
	for _, u := range m.units {
		if u.due.After(now) || u.overdue || !u.pending() && u.state != fleet.StateLoading {
			continue
		}
		u.overdue = true
		if u.pending() && !m.observing {
			m.move(u, fleet.StateExpired)
		}
	}
}

func (m *fleetModel) believed() bool {
	return !m.observing || m.suspect.IsZero() && m.now.Sub(m.listed) <= fleetFresh
}

func (m *fleetModel) fresh() bool { return m.demand != nil && m.now.Sub(m.demand.At) <= fleetFresh }

func (m *fleetModel) signal(d fleet.Demand) {
	d.At = m.now
	if m.demand != nil && !d.At.After(m.demand.At) {
		return
	}
	m.demand = &d
	if d.Running > 0 {
		m.lastRunning = m.now
	}
	if m.unknown = !m.believed(); m.unknown {
		return
	}
	dead := d.Running == 0 && d.Pending > 0 && !m.lastRunning.IsZero() && m.now.Sub(m.lastRunning) <= 24*time.Hour
	if m.runSamples == 0 || dead != m.runDead || m.now.Sub(m.runLast) > fleetFresh {
		m.runSince, m.runSamples, m.runDead = m.now, 0, dead
	}
	m.runLast = m.now
	m.runSamples++
	held := m.now.Sub(m.runSince) >= time.Minute
	switch {
	case dead && held && m.runSamples >= 2 && !m.on:
		m.on, m.launches, m.ready = true, 0, false
		m.episode++
	case !dead && held:
		m.on = false
	}
}

func (m *fleetModel) held() (n int, spend fleet.Money, covering int) {
	for _, u := range m.units {
		if !u.pending() && !u.up() {
			continue
		}
		n++
		spend += u.price
		if !u.overdue {
			covering++
		}
	}
	return n, spend, covering
}

func (m *fleetModel) windowed() (n int) {
	for _, u := range m.units {
		if u.state != fleet.StateRefused && m.now.Sub(u.at) < fleetPer {
			n++
		}
	}
	return n
}

func (m *fleetModel) emergency() bool { return m.on && !m.unknown && m.fresh() && m.believed() }

func (m *fleetModel) allowance() int {
	switch {
	case m.launches < 4:
		return 4 - m.launches
	case !m.ready && m.now.Sub(m.spent) >= 15*time.Minute:
		return 1
	}
	return 0
}

// reserve is how many are granted, and how many of them past the window.
func (m *fleetModel) reserve(r fleet.Request) (granted, past int) {
	n, spend, covering := m.held()
	hard := min(r.Count, fleetInstances-n, int((fleetBudget-spend)/r.MaxPrice))
	if m.demand != nil && m.fresh() && m.demand.Target > 0 {
		hard = min(hard, m.demand.Target-covering)
	}
	if m.killed || !m.believed() || m.holdEnd.After(m.now) {
		hard = 0
	}
	paced, leave := max(0, fleetWindow-m.windowed()), 0
	switch {
	case r.Emergency:
		leave = r.Count
	case m.emergency():
		leave = m.allowance()
	}
	granted = max(0, min(hard, paced+leave))
	return granted, max(0, granted-paced)
}

// grant enters what was reserved.
func (m *fleetModel) grant(r fleet.Request, ids []fleet.ReservationID, state fleet.State, past int) {
	episode := 0
	if past > 0 {
		if !m.on { // the host's claim, which is an episode of its own
			m.episode++
		} else {
			m.launches += past
			m.spent = m.now
		}
		episode = m.episode
	}
	for i, id := range ids {
		u := &unit{id: id, price: r.MaxPrice, state: state, at: m.now, changed: m.now, due: m.now.Add(fleetResolve)}
		if i >= len(ids)-past {
			u.episode = episode
		}
		m.units = append(m.units, u)
		m.keys[r.Key] = append(m.keys[r.Key], u)
	}
}

func (m *fleetModel) accept(u *unit, price fleet.Money, to fleet.State) {
	if u.state == fleet.StateGone {
		return
	}
	u.price = price
	u.overdue = false
	if to == fleet.StateLoading {
		u.due = u.at.Add(fleetBoot)
		u.overdue = !u.due.After(m.now)
	}
	m.move(u, to)
}

// refuse gives back what is reserved; ok is false when it is known to be there.
func (m *fleetModel) refuse(u *unit, hold time.Duration) (ok bool) {
	if end := m.now.Add(hold); hold > 0 && end.After(m.holdEnd) {
		m.holdFrom, m.holdEnd = m.now, end
	}
	switch {
	case u.pending() || u.state == fleet.StateExpired:
		u.overdue = false
		m.move(u, fleet.StateRefused)
	case u.state != fleet.StateRefused:
		return false
	}
	return true
}

// observe enters the vendor's complete listing, read now.
func (m *fleetModel) observe() {
	if m.now.Before(m.listed) || !m.suspect.IsZero() && !m.now.After(m.suspect) {
		return
	}
	known, missing, again := 0, 0, 0
	for _, u := range m.units {
		switch old := !u.changed.After(m.now.Add(-fleetLag)); {
		case u.up() && u.exists:
			known++
		case u.up() && old:
			known++
			missing++
			if u.lacked {
				again++
			}
		}
	}
	doubtful := 2*missing > known
	if !m.suspect.IsZero() {
		doubtful = missing > again && 2*(missing-again) >= known-again
	}
	m.suspect = time.Time{}
	for _, u := range m.units {
		u.lacked = doubtful && u.up() && !u.exists && !u.changed.After(m.now.Add(-fleetLag))
	}
	if doubtful {
		m.suspect = m.now
	} else {
		m.listed = m.now
	}
	for _, u := range m.units {
		switch old := !u.changed.After(m.now.Add(-fleetLag)); {
		case u.exists && (u.pending() || u.up()):
			to := fleet.StateLoading
			if u.boots {
				to = fleet.StateRunning
			}
			m.accept(u, u.price, to)
		case !m.suspect.IsZero():
		case u.up() && old:
			m.move(u, fleet.StateGone)
		case u.pending() && !m.now.Before(u.due):
			u.overdue = false
			m.move(u, fleet.StateExpired)
		}
	}
}
