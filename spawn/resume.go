package spawn

import (
	"errors"
	"fmt"
	"time"
)

// Resume allows a run that would be Parked to go on by itself when its limit has
// passed. It waits inside of Run as BackingOff, without a slot, and comes back
// through the gate as resumed work with a ladder of its own. The zero value does
// not allow it.
type Resume struct {
	// Times is how often. 0 is never; negative is an error. A wait that ends
	// without an attempt, because the limit was found prolonged, does not count.
	Times int
	// Until is the time of day after which no attempt is resumed: a limit that
	// passes later parks the run at once. Zero is any time. The context's deadline
	// and Policy.MaxElapsed bound the wait besides.
	Until time.Time
}

func (p Resume) validate() error {
	switch {
	case p.Times < 0:
		return fmt.Errorf("spawn: Worker.Resume.Times is %d: it must be positive, or 0 for never", p.Times)
	case p.Times == 0 && !p.Until.IsZero():
		return errors.New("spawn: Worker.Resume.Until is set, and Times is 0: no resume is allowed")
	}
	return nil
}

// resumed turns the end of a run that is to be Parked into a wait, if it may
// resume by itself.
func (r *run) resumed(d decision) decision {
	allowed, until := r.worker.Resume, r.result.RetryAt
	if d.end != Parked || r.resumes >= allowed.Times || until.IsZero() {
		return d
	}
	now := r.spawner.clock.Now()
	wait := max(0, until.Sub(now))
	if allowed.late(now) || allowed.late(until) || r.tooLong(wait) != nil {
		return d
	}
	r.ladder.reset()
	r.since = none
	r.startAnew()
	return decision{class: d.class, wait: wait, priority: r.returnsAs(), resumes: true}
}

// late reports whether t is too late to resume.
func (p Resume) late(t time.Time) bool { return !p.Until.IsZero() && t.After(p.Until) }
