package fleet

import "errors"

// ErrOutcomeUnknown is what a start function returns, wrapped, when it cannot
// tell whether the machine exists. Time-outs, cut connections and 500, 502 and
// 504 answers are taken for that without it; 503 says that nothing was done.
var ErrOutcomeUnknown = errors.New("nobody knows whether the machine exists")

// An Outcome is what came of a reservation. Make one with [Accepted],
// [Refused], [Lost] or [Ended]; the zero value is no outcome, and an error.
type Outcome struct {
	kind     outcomeKind
	instance Instance
	err      error
}

type outcomeKind int

const (
	outcomeNone outcomeKind = iota
	outcomeAccepted
	outcomeRefused
	outcomeLost
	outcomeEnded
)

// Accepted means that the vendor accepted the launch, or says something new of
// the instance: its price, or that it is running.
func Accepted(i Instance) Outcome { return Outcome{kind: outcomeAccepted, instance: i} }

// Refused means that the call failed with err. What err means is found out as
// [Guard.Launch] does: a refusal gives everything back, and a rate limit holds
// launches off; a time-out is the same as Lost. A nil err is a call that was
// never made.
func Refused(err error) Outcome { return Outcome{kind: outcomeRefused, err: err} }

// Lost means that nobody knows whether the machine exists.
func Lost() Outcome { return Outcome{kind: outcomeLost} }

// Ended means that the instance is confirmed to be no more, for hosts that have
// no listing to Observe.
func Ended() Outcome { return Outcome{kind: outcomeEnded} }
