package swarm

import (
	"time"

	"github.com/holdoff-go/holdoff/spawn"
)

// Progress is a snapshot of how far a swarm is.
type Progress struct {
	// Total is how many inputs there are: Config.Total, until more have been seen
	// or the last one has been taken; 0 while it is not known.
	Total int
	// Done have a result; of them, Stored had one before they were started.
	Done, Stored int
	// Queued wait for their first slot, Running make an attempt, BackingOff wait
	// for their next one. These are alive.
	Queued, Running, BackingOff int
	// Parked, Dead and Canceled have ended without a result.
	Parked, Dead, Canceled int
	// Elapsed is the time spent in loops over the results.
	Elapsed time.Duration
	// ETA is how much longer it will take if it goes on as it has: the time that
	// an ended member has taken on average, for each that has not. Zero is not
	// known, or none.
	ETA time.Duration
}

// Ended is how many inputs need nothing more in this run.
func (p Progress) Ended() int { return p.Done + p.Parked + p.Dead + p.Canceled }

// Progress returns how far the swarm is. It is cheap, and may be called at any
// time from any goroutine.
func (s *Swarm[K, In, Out]) Progress() Progress {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.progress()
}

func (s *Swarm[K, In, Out]) progress() Progress {
	c := &s.counts
	p := Progress{
		Total:      max(s.cfg.Total, s.taken),
		Done:       s.stored + c[spawn.Succeeded],
		Stored:     s.stored,
		Queued:     c[spawn.Queued],
		Running:    c[spawn.Running],
		BackingOff: c[spawn.BackingOff],
		Parked:     c[spawn.Parked],
		Dead:       c[spawn.Dead],
		Canceled:   c[spawn.Canceled],
		Elapsed:    s.elapsed,
	}
	var now time.Time
	if s.ranging {
		now = s.cfg.Clock.Now()
		p.Elapsed += now.Sub(s.began)
	}
	switch {
	case s.exhausted:
		p.Total = s.taken
	case s.cfg.Total == 0:
		p.Total = 0
	}
	left := p.Total - p.Ended()
	if worked := p.Ended() - p.Stored; worked > 0 && left > 0 {
		// In floats: the product of a time and a million may overflow.
		eta := float64(p.Elapsed) / float64(worked) * float64(left)
		p.ETA = time.Duration(min(eta, float64(maxETA)))
	}
	if left > 0 && s.ranging && p.Running == 0 {
		p.ETA = max(p.ETA, s.soonest(now))
	}
	return p
}

// maxETA is more than anybody waits for.
const maxETA = 1000 * 24 * time.Hour

// soonest is when the first of those that back off goes on.
func (s *Swarm[K, In, Out]) soonest(now time.Time) time.Duration {
	var soonest time.Duration
	for _, m := range s.live {
		if m.state == spawn.BackingOff {
			if d := m.until.Sub(now); soonest == 0 || d < soonest {
				soonest = d
			}
		}
	}
	return soonest
}
