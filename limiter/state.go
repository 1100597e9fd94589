package limiter

import (
	"math"
	"time"
)

// Every rule of the limiter is in this file. The state is a plain value with
// two pure functions: at says what is true at a time, may says whether a
// priority may pass then, and if not why and when to ask again. The other
// methods are the things that can happen to it; each expects a state that at
// has brought up to its time. Nothing here locks, waits or calls out.

// An instant is a time on the limiter's own line (clock.Line), which starts at
// zero and never goes back.
type instant = time.Duration

const never instant = math.MaxInt64

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

type state struct {
	rules *rules

	inFlight int

	// A hold is an operator's; it ends by Resume alone.
	held      bool
	hold      string
	heldSince instant

	// The pause. Its end is the later of two instants (zero: none): stated by
	// the provider, which nothing but Resume shortens, and assumed by us, which
	// a success clears. Both are kept after they have passed, until the storm is
	// forgotten, because escalation and forgetting count from them.
	open    bool
	cause   Reason
	since   instant
	stated  instant
	assumed instant

	// The origin of a report is the generation in which its call was admitted:
	// a number and not a time, because many things happen at one instant. It
	// goes up when a pause opens, when a probe is refused, and on Resume; what is
	// older than the present one began before the gate last shut or opened.
	generation uint64
	resumed    uint64 // the generation of the last Resume

	// The storm: from a refusal until a success, Resume, or forgetAfter of quiet.
	// It has one timetable for its probes, whatever pauses open within it.
	storm     bool
	guessed   bool          // it had an assumed pause; one that ended by time doubles the next
	doublings int           // of the assumed pause
	gap       time.Duration // from a probe's refusal to the next probe
	probeAt   instant       // not before this
	jumped    bool          // an emergency has passed the open pause ahead of the timetable

	// The window bounds the slots that have been admitted since the gate shut
	// and not been answered; zero is no window. Probe, half-open and ramp are
	// this one integer: it is 1 when the pause opens, and over when it reaches
	// the budget.
	window     int
	unanswered int
	fullSince  instant // when unanswered reached window

	budget    int
	ceiling   int
	successes int     // fresh ones towards the next slot
	quietFrom instant // the last refusal, or the last growth by quiet time
	lastCut   instant
}

// rules are the numbers of a Config that do not change.
type rules struct {
	floor           int
	pause           time.Duration // negative: none is assumed
	maxAssumedPause time.Duration
	maxPause        time.Duration
	probeAfter      time.Duration // negative: no probe before the end of the pause
	recover         time.Duration // negative: never
	grow            int           // negative: never
	pace            *pace
}

func newState(r *rules, budget int) state {
	return state{rules: r, budget: budget, ceiling: budget, lastCut: -cutEvery}
}

// until is the end of the pause, past or to come; zero is none.
func (s *state) until() instant { return max(s.stated, s.assumed) }

// steady reports whether time alone changes nothing: at is the identity, and no
// answer of may depends on when it is asked. Then the clock need not be read.
func (s *state) steady() bool {
	return s.window == 0 && s.budget == s.ceiling && s.stated == 0 && s.assumed == 0 && s.rules.pace == nil
}

// at returns the state as time alone has made it by t.
func (s state) at(t instant) state {
	if s.open && t >= s.until() {
		s.open = false
	}
	if s.storm && !s.open && t-s.until() >= forgetAfter {
		s.forget()
	}
	// One step only: the window is no longer full after it, and counts anew from
	// when it is.
	if s.window > 0 && s.unanswered >= s.window && t-s.fullSince >= silence {
		s.widen()
	}
	if r := s.rules.recover; r > 0 && s.budget < s.ceiling {
		// Every step that was missed is made up, so that an idle hour is not lost.
		if steps := (t - s.quietFrom) / r; steps > 0 {
			s.budget = int(min(int64(s.ceiling), int64(s.budget)+int64(steps)))
			s.quietFrom += steps * r
		}
	}
	return s
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
	if t < s.stated {
		from := s.stated
		if s.open && p != call {
			from = max(from, s.turn(p))
		}
		return answer{s.cause, from, from}
	}
	if p == call {
		// Running work is not new work: an assumed pause is about whom to start.
		return s.paced(t)
	}
	if s.open {
		if turn := s.turn(p); t < turn {
			return answer{s.cause, turn, turn}
		}
	}
	if s.window > 0 && s.unanswered >= s.window {
		return answer{ReasonProbing, 0, s.fullSince + silence}
	}
	if s.inFlight >= s.budget {
		again := never
		if s.budget < s.ceiling && s.rules.recover > 0 {
			again = s.quietFrom + s.rules.recover
		}
		return answer{ReasonBudget, 0, again}
	}
	return s.paced(t)
}

func (s *state) paced(t instant) answer {
	if d := s.rules.pace.delay(t); d > 0 {
		return answer{ReasonPace, t + d, t + d}
	}
	return answer{}
}

// turn is when p's next turn comes in an open pause. New work waits for its
// end. Work that was refused probes on the timetable; an emergency is the next
// probe at once, but only one of them a pause.
func (s *state) turn(p Priority) instant {
	switch {
	case p == Normal, s.rules.probeAfter < 0:
		return s.until()
	case p == Emergency && !s.jumped:
		return 0
	default:
		return min(s.probeAt, s.until())
	}
}

// admit takes a slot for p. It returns whether the slot counts in the window.
func (s *state) admit(p Priority, t instant) (counted bool) {
	s.inFlight++
	s.rules.pace.take(t)
	if s.open && p == Emergency {
		s.jumped = true
	}
	if s.window == 0 {
		return false
	}
	s.unanswered++
	if s.unanswered >= s.window {
		s.fullSince = t
	}
	return true
}

// An origin says when the call that a report is about was admitted. Its zero
// value is the unknown origin of the plain hooks.
type origin struct {
	generation uint64
	known      bool
	counted    bool // it belongs to a slot that counts in the window
}

func (s *state) fresh(o origin) bool { return o.known && o.generation == s.generation }

// counts reports whether the slot of o is still in the present window's count.
func (s *state) counts(o origin) bool { return o.counted && s.fresh(o) }

// release gives a slot back. A probe that ends without an answer passes its
// turn on: the timetable stays where it was.
func (s *state) release(o origin) {
	s.inFlight--
	if s.counts(o) {
		s.unanswered--
	}
}

// A refusal is one report that the upstream said no.
type refusal struct {
	origin
	cause  Reason
	stated time.Duration // zero, negative: nothing was stated
	cut    int           // what the budget is cut to if this cuts
}

// refuse takes a refusal in.
func (s *state) refuse(t instant, r refusal) {
	if r.known && r.generation < s.resumed {
		return // an operator has looked at the gate since this call began
	}
	s.quietFrom = t
	stated := min(max(r.stated, 0), s.rules.maxPause)
	if r.known && !s.fresh(r.origin) {
		// Of the burst that shut the gate, or older: no news, unless it names a
		// time, which is a fact whenever it comes.
		if stated > 0 {
			s.extend(&s.stated, after(t, stated))
			if !s.open {
				s.shut(t, r.cause)
			}
		}
		return
	}

	length := s.length(r.cause)
	if stated == 0 && length == 0 {
		s.burst(t, r) // nothing to wait for: only the budget learns
		return
	}
	probe := s.storm && s.counts(r.origin)
	opens := !s.open
	switch {
	case opens:
		if s.storm && s.guessed {
			s.doublings++
			length = s.length(r.cause)
		}
		s.shut(t, r.cause)
	case probe:
		s.reset()
	case !s.storm:
		s.forget()
		s.storm = true
	}
	if probe {
		s.gap = min(2*s.gap, s.gapLimit())
		s.probeAt = t + s.gap
	}

	before := s.until()
	if stated > 0 {
		s.extend(&s.stated, after(t, stated))
		if probe && stated < s.gap {
			// Else "Retry-After: 1" would send a probe a second and burn a fleet
			// in half a minute.
			s.extend(&s.assumed, after(t, s.gap))
		}
	} else {
		s.extend(&s.assumed, after(t, length))
		s.guessed = true
	}
	if s.until() > before {
		s.cause = r.cause
	}

	// A probe is one call; the burst before it has been paid for.
	if !probe && (r.known && opens || !r.known && t-s.lastCut >= cutEvery) {
		s.cut(t, r.cut)
	}
}

// burst takes in a refusal that opens no pause. The generation goes up all the
// same, so that the others of its burst cut nothing.
func (s *state) burst(t instant, r refusal) {
	if r.known || t-s.lastCut >= cutEvery {
		s.cut(t, r.cut)
	}
	s.generation++
	s.unanswered = 0
}

// after is t+d, or never where that would overflow.
func after(t instant, d time.Duration) instant {
	if d > never-t {
		return never
	}
	return t + d
}

// extend moves an end later, never earlier.
func (s *state) extend(end *instant, to instant) { *end = max(*end, to) }

// shut opens a pause. A new storm begins unless one is remembered.
func (s *state) shut(t instant, cause Reason) {
	s.open, s.cause, s.since, s.jumped = true, cause, t, false
	if !s.storm {
		s.forget()
		s.storm = true
	}
	s.probeAt = t + s.gap
	s.reset()
}

// reset starts a generation with a window of one: the next probe.
func (s *state) reset() {
	s.generation++
	s.window, s.unanswered = 1, 0
}

// length is the assumed pause for cause; it doubles within a storm. Zero is none.
func (s *state) length(cause Reason) time.Duration {
	if s.rules.pause < 0 {
		return 0
	}
	length := s.rules.pause
	if cause == ReasonOverloaded {
		length = min(length, overloadPause)
	}
	for range s.doublings {
		if length >= s.rules.maxAssumedPause/2 {
			return s.rules.maxAssumedPause
		}
		length *= 2
	}
	return min(length, s.rules.maxAssumedPause)
}

// gapLimit is the longest gap between two probes: a pause, so that the end of
// the pause is never the earlier chance by much.
func (s *state) gapLimit() time.Duration {
	if s.rules.pause < 0 {
		return defaultPause // stated pauses still open
	}
	return s.rules.pause
}

// cut lowers the budget to n, within floor and what it was. With nothing in
// flight the refusal came from outside the fleet, and a smaller fleet would not
// have avoided it.
func (s *state) cut(t instant, n int) {
	if s.inFlight == 0 {
		return
	}
	s.budget = min(s.budget, max(n, s.rules.floor))
	s.successes = 0
	s.lastCut = t
}

// succeed takes a success in.
func (s *state) succeed(t instant, o origin) {
	switch {
	case !o.known:
		// The tower's rule: a successful turn opens the gate. But it may be of a
		// call that began before the refusal, so it has no say in a stated pause.
		s.assumed = 0
		if t >= s.stated {
			s.open = false
			s.forget()
			s.window, s.unanswered = 0, 0
		}
	case s.fresh(o):
		if s.counts(o) {
			s.unanswered--
		}
		s.open = t < s.stated
		s.forget()
		if s.window > 0 {
			s.widen()
		}
		s.growBySuccess()
	}
}

// forget ends the storm: nothing is assumed any more, and the next refusal
// starts from the first step.
func (s *state) forget() {
	s.storm, s.guessed, s.doublings = false, false, 0
	s.gap = max(s.rules.probeAfter, 0)
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

// lift ends hold, pause, window and storm. It reports whether there was any.
func (s *state) lift() bool {
	if !s.held && !s.open && !s.storm && s.window == 0 {
		return false
	}
	s.held, s.hold = false, ""
	s.open, s.stated = false, 0
	s.forget()
	s.generation++
	s.resumed = s.generation
	s.window, s.unanswered = 0, 0
	return true
}
