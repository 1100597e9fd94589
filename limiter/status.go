package limiter

import (
	"encoding/json"
	"time"
)

// A Status is a snapshot of a Limiter.
type Status struct {
	Name string
	// Reason is why TryAcquire would refuse now; it is empty exactly when it
	// would pass.
	Reason Reason
	// Since is when the pause, or else the hold, began; zero without either.
	Since time.Time
	// BlockedUntil is the end of the pause: set during the whole of it and zero
	// otherwise. A hold has no known end and does not set it.
	BlockedUntil time.Time
	// Storm reports that a refusal has opened a pause and no call has been
	// accepted since, nor has Resume or 10 min of quiet after it ended the storm.
	Storm bool
	// Hold is the word given to Hold while its hold lasts.
	Hold     string
	Budget   int // how many slots may be in flight now
	InFlight int // how many are
	Waiting  int // callers blocked in Acquire and Wait
}

// Status returns a snapshot. Reading it changes nothing.
func (l *Limiter) Status() Status {
	l.mu.Lock()
	defer l.mu.Unlock()
	t := l.now
	if !l.state.steady() {
		t = l.line.Now()
	}
	return l.statusAt(t)
}

func (l *Limiter) statusAt(t instant) Status {
	s := l.state.at(t)
	return l.status(&s, t)
}

func (l *Limiter) status(s *state, t instant) Status {
	st := Status{
		Name:     l.name,
		Reason:   l.blocked(s, t).reason,
		Storm:    s.storm,
		Hold:     s.hold,
		Budget:   s.budget,
		InFlight: s.inFlight,
		Waiting:  l.waiting.len,
	}
	switch {
	case s.open:
		st.Since, st.BlockedUntil = l.line.At(s.since), l.line.At(s.until())
	case s.held:
		st.Since = l.line.At(s.heldSince)
	}
	return st
}

// MarshalJSON writes the snapshot for tools and dashboards: instants are RFC
// 3339, and null where there is none; reason is a stable word, empty when the
// gate is open.
func (s Status) MarshalJSON() ([]byte, error) {
	return json.Marshal(statusJSON{
		Name:         s.Name,
		Reason:       s.Reason,
		Since:        orNull(s.Since),
		BlockedUntil: orNull(s.BlockedUntil),
		Storm:        s.Storm,
		Hold:         s.Hold,
		Budget:       s.Budget,
		InFlight:     s.InFlight,
		Waiting:      s.Waiting,
	})
}

// UnmarshalJSON reads what MarshalJSON writes.
func (s *Status) UnmarshalJSON(data []byte) error {
	var j statusJSON
	if err := json.Unmarshal(data, &j); err != nil {
		return err
	}
	*s = Status{
		Name: j.Name, Reason: j.Reason, Storm: j.Storm, Hold: j.Hold,
		Budget: j.Budget, InFlight: j.InFlight, Waiting: j.Waiting,
	}
	if j.Since != nil {
		s.Since = *j.Since
	}
	if j.BlockedUntil != nil {
		s.BlockedUntil = *j.BlockedUntil
	}
	return nil
}

type statusJSON struct {
	Name         string     `json:"name"`
	Reason       Reason     `json:"reason"`
	Since        *time.Time `json:"since"`
	BlockedUntil *time.Time `json:"blocked_until"`
	Storm        bool       `json:"storm"`
	Hold         string     `json:"hold"`
	Budget       int        `json:"budget"`
	InFlight     int        `json:"in_flight"`
	Waiting      int        `json:"waiting"`
}

func orNull(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}
