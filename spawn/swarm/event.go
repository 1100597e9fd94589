package swarm

import "github.com/holdoff-go/holdoff/spawn"

// An EventKind says what became of a member, in one stable word.
type EventKind string

// The kinds of events.
const (
	EventStarted   EventKind = "started"   // its first attempt runs
	EventSuspended EventKind = "suspended" // refused or failed: it backs off, and will be back
	EventResumed   EventKind = "resumed"   // its next attempt runs
	EventMoved     EventKind = "moved"     // its next attempt runs at once, with another credential
	EventFinished  EventKind = "finished"  // it has succeeded
	EventAbandoned EventKind = "abandoned" // it has ended without a result: dead, parked or canceled
)

// An Event is one change of a member that has been started. Fields may be added.
type Event[K comparable] struct {
	Kind EventKind
	Key  K
	// Event is what the spawner told: the worker's ID and state, the time, the
	// attempt, until when it backs off, the verdict and the error.
	spawn.Event
	// Progress is the swarm's, right after the change.
	Progress Progress
}

// kindOf returns the kind of a spawner's event that follows the state before; empty
// is none.
func kindOf(e spawn.Event, before spawn.State) EventKind {
	switch e.State {
	case spawn.Running:
		switch {
		case e.Attempt == 1:
			return EventStarted
		case before == spawn.Running:
			return EventMoved
		default:
			return EventResumed
		}
	case spawn.BackingOff:
		return EventSuspended
	case spawn.Succeeded:
		return EventFinished
	case spawn.Dead, spawn.Parked, spawn.Canceled:
		return EventAbandoned
	default:
		return ""
	}
}
