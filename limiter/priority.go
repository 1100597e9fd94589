package limiter

import "strconv"

// A Priority says who goes first when several wait. Within one priority it is
// first in, first out. The zero value is Normal.
type Priority int

const (
	// Normal is new work. It waits for the end of a pause.
	Normal Priority = iota
	// Resumed is work that has been started before and was refused, or failed.
	// It goes before new work, and while a pause is only assumed it probes, one
	// at a time.
	Resumed
	// Emergency goes before all. It passes an assumed pause once, as the next
	// probe; never a stated one, and never the budget.
	Emergency

	call // one further call of running work: it holds no slot
	priorities
)

// String returns the priority's name.
func (p Priority) String() string {
	switch p {
	case Normal:
		return "normal"
	case Resumed:
		return "resumed"
	case Emergency:
		return "emergency"
	case call:
		return "call"
	default:
		return "Priority(" + strconv.Itoa(int(p)) + ")"
	}
}
