package compat

import (
	"github.com/holdoff-go/holdoff/limiter"
)

// A model is the limiter's rules told a second time, as simply as possible: time
// goes by in whole seconds, one after the other; everything that counts time is a
// counter that each second moves; and everybody who has been let in is kept in
// one list, which is counted where a number is needed.
type model struct {
	modelConfig

	budget, ceiling int
	hold            bool
	tokens          int // of the pace

	// The pause: how many seconds are left of what was stated and assumed.
	paused                 bool
	statedLeft, assumeLeft int
	reason                 limiter.Reason
	pausedFor              int // since it opened
	emergencyPassed        bool

	// The storm.
	storm         bool
	assumedOnce   bool
	doubled       int
	gap           int
	nextProbeIn   int
	pauseOverFor  int // seconds since the last pause ended
	era           int
	lastResumeEra int

	window    int // 0: none
	fullFor   int // seconds since the window was filled
	quietFor  int // since the last refusal, or growth by quiet
	cutAgo    int
	successes int

	tickets []*ticket
	queues  map[limiter.Priority][]*asked
}

type modelConfig struct {
	pause, maxAssumed, maxPause int // pause 0: none is assumed
	firstGap, lastGap           int
	probes                      bool
	recover, grow               int // 0: never
	floor, maxWaiting           int
	burst                       int // 0: no pace; else one token a second
	cut                         func(budget, inFlight int) int
}

// running is the priority of a further call of running work.
const running limiter.Priority = 3

// A ticket is one admission: a slot, or a call.
type ticket struct {
	era      int
	inFlight bool
	probing  bool    // it was admitted through a window, and has not been answered
	slot     *ticket // of a call: the slot it was made under
}

// asked is somebody who waits.
type asked struct {
	priority limiter.Priority
	deadline int // half a second after this, counted down; -1: none
	ticket   *ticket
	gone     bool
	under    *ticket // the slot whose Wait was called
}

func newModel(cfg modelConfig, budget int) *model {
	return &model{
		modelConfig: cfg, budget: budget, ceiling: budget, tokens: cfg.burst, gap: cfg.firstGap, cutAgo: 1000,
		queues: map[limiter.Priority][]*asked{},
	}
}

// second lets one second pass.
func (m *model) second() {
	m.cutAgo++
	m.quietFor++
	m.pausedFor++
	m.statedLeft--
	m.assumeLeft--
	m.nextProbeIn--
	m.tokens = min(m.tokens+1, m.burst)
	switch {
	case m.paused && m.left() <= 0:
		m.paused = false
		m.pauseOverFor = 0
	case !m.paused:
		m.pauseOverFor++
	}
	if m.storm && !m.paused && m.pauseOverFor == 600 {
		m.endStorm()
	}
	if m.recover > 0 && m.budget < m.ceiling && m.quietFor >= m.recover {
		m.budget++
		m.quietFor = 0
	}
	if m.full() {
		if m.fullFor++; m.fullFor == 30 {
			m.widen()
		}
	}
}

func (m *model) left() int { return max(m.statedLeft, m.assumeLeft) }

func (m *model) inFlight() (n int) {
	for _, t := range m.tickets {
		if t.inFlight {
			n++
		}
	}
	return n
}

func (m *model) outProbing(t *ticket) bool { return t.probing && t.era == m.era && m.window > 0 }

func (m *model) full() bool {
	n := 0
	for _, t := range m.tickets {
		if t.inFlight && m.outProbing(t) {
			n++
		}
	}
	return m.window > 0 && n >= m.window
}

func (m *model) widen() {
	m.window++
	if !m.paused && m.window >= m.budget {
		m.window = 0
	}
}

func (m *model) endStorm() {
	m.storm, m.assumedOnce, m.doubled, m.gap, m.assumeLeft = false, false, 0, m.firstGap, 0
}

// blocks says why p may not pass, and the seconds it must wait at least.
func (m *model) blocks(p limiter.Priority) (limiter.Reason, int) {
	if m.hold {
		return limiter.ReasonHold, 0
	}
	if m.paused {
		wait := m.statedLeft
		switch p {
		case limiter.Normal:
			wait = m.left()
		case limiter.Resumed, limiter.Emergency:
			if p == limiter.Emergency && !m.emergencyPassed {
				break
			}
			if m.probes {
				wait = max(wait, min(m.nextProbeIn, m.left()))
			} else {
				wait = m.left()
			}
		}
		if wait > 0 {
			return m.reason, wait
		}
	}
	switch {
	case p != running && m.full():
		return limiter.ReasonProbing, 0
	case p != running && m.inFlight() >= m.budget:
		return limiter.ReasonBudget, 0
	case m.burst > 0 && m.tokens == 0:
		return limiter.ReasonPace, 1
	}
	return limiter.ReasonNone, 0
}

// shown is what Status and TryAcquire say.
func (m *model) shown() limiter.Reason {
	reason, _ := m.blocks(limiter.Normal)
	return reason
}

func (m *model) admit(p limiter.Priority) *ticket {
	m.tokens--
	t := &ticket{era: m.era, inFlight: p != running, probing: p != running && m.window > 0}
	m.tickets = append(m.tickets, t)
	if p == limiter.Emergency && m.paused {
		m.emergencyPassed = true
	}
	if t.probing && m.full() {
		m.fullFor = 0
	}
	return t
}

// enter returns a ticket, or who waits, or why not even that.
func (m *model) enter(p limiter.Priority, deadline int) (*ticket, *asked, limiter.Reason) {
	reason, wait := m.blocks(p)
	switch {
	case reason == limiter.ReasonNone:
		return m.admit(p), nil, limiter.ReasonNone
	case p == limiter.Normal && m.maxWaiting > 0 && len(m.queues[p]) >= m.maxWaiting:
		return nil, nil, limiter.ReasonQueueFull
	case deadline >= 0 && wait > deadline:
		return nil, nil, reason
	}
	a := &asked{priority: p, deadline: deadline}
	m.queues[p] = append(m.queues[p], a)
	return nil, a, reason
}

// handOut lets in who may pass: running work, emergencies, resumed, normal.
func (m *model) handOut() {
	for p := running; p >= limiter.Normal; p-- {
		for len(m.queues[p]) > 0 {
			if reason, _ := m.blocks(p); reason != limiter.ReasonNone {
				break
			}
			m.queues[p][0].ticket = m.admit(p)
			m.queues[p] = m.queues[p][1:]
		}
	}
}

func (m *model) leave(a *asked) {
	a.gone = true
	var rest []*asked
	for _, other := range m.queues[a.priority] {
		if other != a {
			rest = append(rest, other)
		}
	}
	m.queues[a.priority] = rest
}

func (m *model) waiting() (n int) {
	for _, q := range m.queues {
		n += len(q)
	}
	return n
}

func (m *model) release(t *ticket) { t.inFlight = false }

// about is the ticket that a report of t speaks for: a call made under a slot of
// the same era speaks for the slot.
func about(t *ticket) *ticket {
	if t != nil && t.slot != nil && t.slot.era == t.era {
		return t.slot
	}
	return t
}

// refused takes in a refusal of t; nil is of unknown origin.
func (m *model) refused(t *ticket, overloaded bool, stated int) {
	t = about(t)
	stated = min(max(stated, 0), m.maxPause)
	current := t == nil || t.era == m.era
	if t != nil && t.era < m.lastResumeEra || !current && stated == 0 {
		return
	}
	probe := t != nil && m.storm && m.outProbing(t)
	opens := !m.paused
	m.quietFor = 0

	// The cut: known, by what opens; unknown, once in two seconds.
	cut := m.inFlight() > 0 && current && !probe
	if t == nil {
		cut = cut && m.cutAgo >= 2
	} else {
		cut = cut && opens
	}
	if cut {
		m.budget = min(m.budget, max(m.cut(m.budget, m.inFlight()), m.floor))
		m.successes = 0
		m.cutAgo = 0
	}
	if stated == 0 && m.pause == 0 {
		if t != nil {
			m.era++
		}
		return
	}

	if !m.storm && current || opens {
		if m.storm && m.assumedOnce && stated == 0 {
			m.doubled++
		}
		if !m.storm {
			m.endStorm()
			m.storm = true
		}
		m.nextProbe(probe)
	} else if probe {
		m.nextProbe(true)
	}
	if opens {
		m.paused, m.pausedFor, m.emergencyPassed = true, 0, false
		m.statedLeft, m.assumeLeft = 0, 0
	}

	before := m.left()
	if stated > 0 {
		m.statedLeft = max(m.statedLeft, stated)
		if probe && stated < m.gap {
			m.assumeLeft = max(m.assumeLeft, m.gap)
		}
	} else {
		length := m.pause
		if overloaded {
			length = min(length, 10)
		}
		for range m.doubled {
			length = min(2*length, m.maxAssumed)
		}
		m.assumeLeft = max(m.assumeLeft, length)
		m.assumedOnce = true
	}
	if opens || m.left() > before {
		m.reason = limiter.ReasonRateLimited
		if overloaded {
			m.reason = limiter.ReasonOverloaded
		}
	}
}

// nextProbe starts an era with one probe, a gap from now.
func (m *model) nextProbe(refused bool) {
	if refused {
		m.gap = min(2*m.gap, m.lastGap)
	}
	m.nextProbeIn = m.gap
	m.era++
	m.window = 1
}

// succeeded takes in a success of t; nil is of unknown origin.
func (m *model) succeeded(t *ticket) {
	t = about(t)
	if t != nil && t.era != m.era {
		t.probing = false
		return
	}
	m.endStorm()
	if m.paused && m.statedLeft <= 0 {
		m.paused, m.pauseOverFor = false, 0
	}
	if t == nil {
		if !m.paused {
			m.window = 0
		}
		return
	}
	t.probing = false
	if m.window > 0 {
		m.widen()
	}
	if m.grow > 0 && m.budget < m.ceiling {
		if m.successes++; m.successes >= m.grow*m.budget {
			m.budget++
			m.successes = 0
		}
	}
}

func (m *model) resume() {
	if !m.hold && !m.paused && !m.storm && m.window == 0 {
		return
	}
	m.hold, m.paused, m.window = false, false, 0
	m.endStorm()
	m.era++
	m.lastResumeEra = m.era
}

func (m *model) setBudget(n int) { m.budget, m.ceiling, m.successes = n, n, 0 }
