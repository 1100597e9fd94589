package spawn

import (
	"cmp"
	"slices"
	"time"

	"github.com/holdoff-go/holdoff/limiter"
	"github.com/holdoff-go/holdoff/retry"
)

// keptEnded is how many workers that have ended the roster still shows.
const keptEnded = 100

// A WorkerStatus is a snapshot of one worker.
type WorkerStatus struct {
	ID       string           `json:"id"`
	State    State            `json:"state"`
	Priority limiter.Priority `json:"-"`
	Since    time.Time        `json:"since"`          // when it reached State
	Attempt  int              `json:"attempt"`        // the number of its last attempt; 0 before the first
	Until    time.Time        `json:"until,omitzero"` // when it may go on, for BackingOff and Parked, where known
	Verdict  retry.Verdict    `json:"-"`              // of its last failed attempt
	Err      error            `json:"-"`              // of it
}

// Roster returns the workers that are alive and the last 100 that have ended, in
// order of arrival.
func (s *Spawner) Roster() []WorkerStatus {
	s.mu.Lock()
	all := slices.Clone(s.ended)
	for _, r := range s.live {
		all = append(all, r.entry)
	}
	s.mu.Unlock()
	slices.SortFunc(all, func(a, b entry) int { return cmp.Compare(a.arrival, b.arrival) })
	roster := make([]WorkerStatus, len(all))
	for i, e := range all {
		roster[i] = e.status
	}
	return roster
}

// An entry is a worker's line in the roster.
type entry struct {
	arrival uint64
	status  WorkerStatus
	dormant *dormant // of an ended one; nil: it cannot be revived
}

func (s *Spawner) statusOf(r *run) WorkerStatus {
	s.mu.Lock()
	defer s.mu.Unlock()
	return r.entry.status
}

// end moves the worker from the living to those that have ended.
func (s *Spawner) end(r *run) {
	delete(s.live, r.worker.ID)
	if len(s.ended) == keptEnded {
		s.ended[0] = entry{} // its error is not ours to keep
		s.ended = s.ended[1:]
	}
	r.entry.dormant = r.dormant()
	s.ended = append(s.ended, r.entry)
	if len(s.live) == 0 && s.idle != nil {
		close(s.idle)
		s.idle = nil
	}
}
