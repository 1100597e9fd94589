package limiter

import "time"

// state is all that a limiter knows, as a plain value. What follows from it is in
// rules.go.
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
	guessed   bool          // it has had an assumed pause: the next one is twice as long
	jumped    bool          // an emergency has passed the open pause ahead of the timetable
	doublings int           // of the assumed pause
	gap       time.Duration // from a probe's refusal to the next probe
	probeAt   instant       // not before this

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

func newState(r *rules, budget int) state {
	return state{rules: r, generation: 1, budget: budget, ceiling: budget, lastCut: -cutEvery}
}
