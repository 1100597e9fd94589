package limiter

import "time"

// Every rule of the limiter is in this file. The state has two pure functions: at
// says what is true at a time, may says whether a priority may pass then, and if
// not why and when to ask again. The other methods are the things that can happen
// to it; each expects a state that at has brought up to its time. Nothing here
// locks, waits or calls out.

const (
	// overloadPause is what an overload without a stated time assumes. Shortage
	// of capacity passes sooner than a full window.
	overloadPause = 10 * time.Second
	// silence is how long an admitted call may go unanswered before one more is
	// let in: refusals come back in well under a second, so a call that is still
	// out after this long has most likely been accepted.
	silence = 30 * time.Second
	// forgetAfter is how long after its last pause a storm is remembered.
	forgetAfter = 10 * time.Minute
	// cutEvery bounds cuts by refusals of unknown origin, which cannot be told
	// apart from others of the same burst.
	cutEvery = 2 * time.Second
)

// until is the end of the pause, past or to come; zero is none.
func (s *state) until() instant { return max(s.stated, s.assumed) }

// full reports whether nobody more may go before an answer, or silence.
func (s *state) full() bool { return s.window > 0 && s.unanswered >= s.window }

// steady reports whether time alone changes nothing: at is the identity, and no
// answer of may depends on when it is asked. Then the clock need not be read.
func (s *state) steady() bool {
	return s.window == 0 && s.budget == s.ceiling && s.until() == 0 && s.rules.pace == nil
}

// asNew reports whether nothing would be lost if s were forgotten, and begun anew
// when somebody asks. The ramp that follows a storm goes with the storm's memory.
func (s *state) asNew(t instant) bool {
	return s.inFlight == 0 && !s.held && !s.storm && s.until() == 0 &&
		s.budget == s.ceiling && s.ceiling == s.rules.budget &&
		(s.rules.pace == nil || s.rules.pace.full(t))
}

// renew makes s what asNew takes it for: the ramp, too, is forgotten.
func (s *state) renew() {
	s.window, s.unanswered, s.successes = 0, 0, 0
	s.lastCut = -cutEvery
}

// at returns the state as time alone has made it by t. Whether somebody looks
// often or seldom makes no difference: s.at(t).at(u) is s.at(u).
func (s state) at(t instant) state {
	// Once at most: after it the window is not full, until somebody is admitted.
	if w := after(s.fullSince, silence); s.full() && t >= w {
		s.pass(w)
		s.widen()
	}
	s.pass(t)
	return s
}

// pass lets time pass until t, for everything but the window.
func (s *state) pass(t instant) {
	if s.open && t >= s.until() {
		s.open = false
	}
	if !s.open && s.until() > 0 && (!s.storm || t-s.until() >= forgetAfter) {
		s.forget()
	}
	if r := s.rules.recover; r > 0 && s.budget < s.ceiling {
		// Every step that was missed is made up, so that an idle hour is not lost.
		if steps := min((t-s.quietFrom)/r, time.Duration(s.ceiling-s.budget)); steps > 0 {
			s.budget += int(steps)
			s.quietFrom += steps * r
		}
	}
}

// An answer says whether a priority may pass.
type answer struct {
	reason Reason  // empty: it may
	from   instant // it cannot pass before this, whatever happens but Resume or a success; zero: not known
	again  instant // when time alone may have changed the answer; never: it will not
}

// may reports whether p may pass at t, which is the time that at was given.
// A priority passes wherever a lower one does.
func (s *state) may(p Priority, t instant) answer {
	if s.held {
		return answer{ReasonHold, 0, never}
	}
	if s.open {
		if turn := s.turn(p); t < turn {
			return answer{s.cause, turn, turn}
		}
	}
	if p == call {
		return s.paced(t)
	}
	if s.full() {
		return answer{ReasonProbing, 0, after(s.fullSince, silence)}
	}
	if s.inFlight >= s.budget {
		again := never
		if s.budget < s.ceiling && s.rules.recover > 0 {
			again = after(s.quietFrom, s.rules.recover)
		}
		return answer{ReasonBudget, 0, again}
	}
	return s.paced(t)
}

func (s *state) paced(t instant) answer {
	if s.rules.pace == nil {
		return answer{}
	}
	return s.rules.pace.may(t)
}

// turn is when p's next turn comes in an open pause. Nobody's comes before the
// end of a stated one. Of an assumed one, new work waits for the end; work that
// was refused probes on the timetable; an emergency is the next probe at once,
// but only one of them a pause; and a further call of running work goes ahead,
// because an assumed pause is about whom to start.
func (s *state) turn(p Priority) instant {
	switch {
	case p == call, p == Emergency && !s.jumped:
		return s.stated
	case p == Normal, !s.rules.probing:
		return s.until()
	default:
		return max(s.stated, min(s.probeAt, s.assumed))
	}
}

func (s *state) fresh(o origin) bool { return o.generation == s.generation }

// counts reports whether the slot of o is still in the present window's count.
func (s *state) counts(o origin) bool { return s.windowed(o) && !o.gone }

// windowed reports whether o was let in through the present window.
func (s *state) windowed(o origin) bool { return o.counted && s.window > 0 && s.fresh(o) }

// admit lets p through.
func (s *state) admit(p Priority, t instant) origin {
	o := origin{generation: s.generation}
	if s.rules.pace != nil {
		s.rules.pace.take(t)
	}
	if p == call {
		return o
	}
	s.inFlight++
	if s.window == 0 {
		return o
	}
	o.counted = true
	if s.open && p == Emergency && !s.jumped {
		s.jumped, o.jumped = true, true
	}
	if s.unanswered++; s.full() {
		s.fullSince = t
	}
	return o
}

// release gives a slot back. A probe that ends without an answer passes its
// turn on: the timetable stays where it was.
func (s *state) release(o origin) {
	s.inFlight--
	if s.counts(o) {
		s.unanswered--
	}
}

// revoke undoes an admission that its caller has not heard of. The token of the
// pace is not given back: the bucket refills while the caller waits again.
func (s *state) revoke(o origin) {
	s.release(o)
	if o.jumped {
		s.jumped = false
	}
}

// stale reports whether o began before the gate last shut or opened.
func (s *state) stale(o origin) bool { return o.known() && !s.fresh(o) }

// probes reports whether o is the storm's present probe, or one of them; also when
// it was released before it tells.
func (s *state) probes(o origin) bool { return s.storm && s.windowed(o) }

// pauses reports whether r is about a pause: without a stated or an assumed time
// there is nothing to wait for.
func (s *state) pauses(r refusal) bool { return r.stated > 0 || s.rules.pause > 0 }

// isNews reports whether r changes anything.
func (s *state) isNews(r refusal) bool {
	switch {
	case r.known() && r.generation < s.resumed:
		return false // an operator has looked at the gate since this call began
	case s.stale(r.origin):
		// Of the burst that shut the gate, or older. But a stated time is a fact
		// whenever it comes.
		return r.stated > 0
	default:
		return true
	}
}

// cuts reports whether r cuts the budget. The refusal that opens a pause does.
// The burst before a probe has been paid for, and so has that of a stale refusal.
// What is of unknown origin cannot be told from others of its burst. And with
// nothing in flight the refusal came from outside the fleet, and a smaller fleet
// would not have avoided it.
func (s *state) cuts(t instant, r refusal) bool {
	switch {
	case !s.isNews(r), s.inFlight == 0, s.probes(r.origin), s.stale(r.origin):
		return false
	case r.known():
		return !s.open
	default:
		return t-s.lastCut >= cutEvery
	}
}

// refuse takes a refusal in.
func (s *state) refuse(t instant, r refusal) {
	if !s.isNews(r) {
		return
	}
	cuts := s.cuts(t, r)
	s.quietFrom = t
	if s.pauses(r) {
		s.pause(t, r)
	} else if r.known() {
		// Only the budget learns. The generation goes up all the same, so that the
		// others of this burst cut nothing.
		s.generation++
		s.unanswered = 0
	}
	if cuts {
		s.budget = min(s.budget, max(r.cut, s.rules.floor))
		s.successes = 0
		s.lastCut = t
	}
}

// pause opens the pause, or lengthens it.
func (s *state) pause(t instant, r refusal) {
	before := s.until()
	stated := min(max(r.stated, 0), s.rules.maxPause)
	opens, probe := !s.open, s.probes(r.origin)
	if opens && stated == 0 && s.guessed {
		s.doublings++
	}
	if opens || probe || !s.storm && !s.stale(r.origin) {
		if !s.storm {
			s.forget()
			s.storm = true
		}
		if probe {
			s.gap = min(twice(s.gap), s.rules.lastGap)
		}
		s.probeAt = after(t, s.gap)
		s.generation++
		s.window, s.unanswered = 1, 0 // the next probe
	}
	if opens {
		s.open, s.since, s.jumped = true, t, false
	}

	if stated == 0 {
		s.assumed = max(s.assumed, after(t, s.length(r.cause)))
		s.guessed = true
	} else {
		s.stated = max(s.stated, after(t, stated))
		if probe && stated < s.gap {
			// Else "Retry-After: 1" would send a probe a second and burn a fleet
			// in half a minute.
			s.assumed = max(s.assumed, after(t, s.gap))
		}
	}
	if s.until() > before {
		s.cause = r.cause
	}
}

// length is the assumed pause for cause; it doubles within a storm.
func (s *state) length(cause Reason) time.Duration {
	length := s.rules.pause
	if cause == ReasonOverloaded {
		length = min(length, overloadPause)
	}
	for i := 0; i < s.doublings && length < s.rules.maxAssumedPause; i++ {
		length = twice(length)
	}
	return min(length, s.rules.maxAssumedPause)
}

// succeed takes a success in. One that began before the gate shut says nothing
// about it.
func (s *state) succeed(t instant, o origin) {
	if s.stale(o) {
		return
	}
	s.open = t < s.stated
	s.forget()
	if !o.known() {
		// The tower's rule: a successful turn opens the gate wholly. It may be of a
		// call that began before the refusal, so it neither shortens a stated pause,
		// nor spares it the probe.
		if !s.open {
			s.window, s.unanswered = 0, 0
		}
		return
	}
	if s.counts(o) {
		s.unanswered--
	}
	if s.window > 0 {
		s.widen()
	}
	s.growBySuccess()
}

// forget ends the storm: nothing is assumed any more, and the next refusal
// starts from the first step.
func (s *state) forget() {
	s.storm, s.guessed, s.doublings = false, false, 0
	s.gap = s.rules.firstGap
	s.assumed = 0
	if !s.open {
		s.stated = 0
	}
}

// widen adds one to the window, and ends it when it reaches the budget.
func (s *state) widen() {
	s.window++
	if !s.open && s.window >= s.budget {
		s.window, s.unanswered = 0, 0
	}
}

// growBySuccess adds a slot for every grow × budget fresh successes.
func (s *state) growBySuccess() {
	if s.rules.grow < 0 || s.budget >= s.ceiling {
		return
	}
	s.successes++
	if s.successes/s.rules.grow >= s.budget {
		s.budget++
		s.successes = 0
	}
}

// resize sets budget and ceiling.
func (s *state) resize(n int) {
	s.budget, s.ceiling, s.successes = n, n, 0
}

// holdOff shuts the gate until lift.
func (s *state) holdOff(t instant, reason string) {
	if !s.held {
		s.heldSince = t
	}
	s.held, s.hold = true, reason
}

// lift ends hold, pause, window and storm. It reports whether there was any.
func (s *state) lift() bool {
	if !s.held && !s.open && !s.storm && s.window == 0 {
		return false
	}
	s.held, s.hold = false, ""
	s.open = false
	s.forget()
	s.generation++
	s.resumed = s.generation
	s.window, s.unanswered = 0, 0
	return true
}
