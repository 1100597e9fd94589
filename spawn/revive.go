package spawn

import (
	"context"
	"fmt"
	"slices"

	"github.com/holdoff-go/holdoff/limiter"
)

// dormant is what is kept of a worker that may be revived.
type dormant struct {
	worker  Worker
	result  Result
	carried *carried
}

// Revive puts a worker that is Dead or Parked back in line, as resumed work under
// ctx and like Start: with its ID, its checkpoint, the records of its attempts,
// which are counted on, and all retries anew. It passes the same gate as a spawn,
// so one whose limit lasts is Parked again. Nothing is revived unless it is asked
// for here.
//
// That somebody asked is the decision about effects that were declared: they are
// repeated if the worker does so. One of Once that is in doubt needs Decide.
//
// Those can be revived that are among the last 100 ended of the Roster; else it
// is ErrNotRevivable, and a new Run with the ID and Worker.Checkpoint does it. A
// worker is alive until its Run has returned: ErrDuplicate. ErrDraining as ever.
func (s *Spawner) Revive(ctx context.Context, id string) (*Handle, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.draining {
		return nil, ErrDraining
	}
	if s.live[id] != nil {
		return nil, fmt.Errorf("%w: %q", ErrDuplicate, id)
	}
	last := len(s.ended) - 1
	for last >= 0 && s.ended[last].status.ID != id {
		last--
	}
	if last < 0 || s.ended[last].dormant == nil {
		return nil, fmt.Errorf("%w: %q", ErrNotRevivable, id)
	}
	before := s.ended[last]
	s.ended = slices.Delete(s.ended, last, last+1)

	w := before.dormant.worker
	w.Priority = max(w.Priority, limiter.Resumed)
	r := s.newRun(w)
	r.carried = before.dormant.carried
	r.carried.decide()
	r.result = before.dormant.result.revived()
	r.verdict = before.status.Verdict
	s.enlist(ctx, r, before.arrival)
	r.entry.status.Attempt = r.result.Total
	return r.start(), nil
}

// decide takes what was declared as decided on.
func (c *carried) decide() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.declared = nil
}

// revived returns what a run goes on with that ended as r. The slice is its own:
// the host has r.
func (r Result) revived() Result {
	return Result{ID: r.ID, Attempts: slices.Clone(r.Attempts), Total: r.Total}
}

// dormant returns what Revive needs; nil for a run that cannot be revived.
func (r *run) dormant() *dormant {
	switch r.entry.status.State {
	case Dead, Parked:
		return &dormant{worker: r.worker, result: r.result, carried: r.carried}
	default:
		return nil
	}
}
