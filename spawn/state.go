package spawn

import "strconv"

// A State is where a worker is in its life. The last four are ends, and each
// worker reaches exactly one of them.
type State int

const (
	// Queued is a worker that waits for its first slot.
	Queued State = iota
	// Running is a worker with an attempt under way.
	Running
	// BackingOff is a worker between two attempts. It holds no slot.
	BackingOff
	// Succeeded is the end of a worker whose attempt returned no error.
	Succeeded
	// Dead is the end of a worker that failed, and that the classifier and the
	// policy have given up.
	Dead
	// Canceled is the end of a worker that was stopped, or never started: its
	// context ended, the spawner drained, or the queue was full. It did not fail.
	Canceled
	// Parked is the end of a run that met a limit which passes later than it may
	// wait for. To resume is Spawner.Revive, or a new Run with the same ID and the
	// checkpoint; Worker.Resume lets a run wait for it instead.
	Parked
)

var stateNames = [...]string{"queued", "running", "backing_off", "succeeded", "dead", "canceled", "parked"}

// String returns the state as one stable word.
func (s State) String() string {
	if s < 0 || int(s) >= len(stateNames) {
		return "State(" + strconv.Itoa(int(s)) + ")"
	}
	return stateNames[s]
}

// MarshalText writes the word that String returns.
func (s State) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Terminal reports whether s is an end.
func (s State) Terminal() bool { return s >= Succeeded }
