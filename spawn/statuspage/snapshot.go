package statuspage

import (
	"cmp"
	"slices"
	"time"

	"github.com/holdoff-go/holdoff/limiter"
	"github.com/holdoff-go/holdoff/retry"
	"github.com/holdoff-go/holdoff/spawn"
)

const (
	maxLimiters = 100
	maxWorkers  = 500 // of one spawner
)

// A snapshot is what the JSON and the page are written from.
type snapshot struct {
	Time            time.Time       `json:"time"`
	Limiters        []limiterReport `json:"limiters"`
	OmittedLimiters int             `json:"omitted_limiters"`
	Spawners        []spawnerReport `json:"spawners"`
}

type limiterReport struct {
	Status  limiter.Status `json:"status"`
	History []sample       `json:"history"`
}

type spawnerReport struct {
	Name    string         `json:"name"`
	Counts  map[string]int `json:"counts"` // of all workers, by state
	Workers []worker       `json:"workers"`
	Omitted int            `json:"omitted"`
}

type worker struct {
	ID      string      `json:"id"`
	State   spawn.State `json:"state"`
	Since   time.Time   `json:"since"`
	Attempt int         `json:"attempt"`
	Until   time.Time   `json:"until,omitzero"`
	Class   string      `json:"class,omitempty"` // of the last failed attempt
	Cause   string      `json:"cause,omitempty"` // of it
}

// snapshot asks everybody, with no lock held while it does.
func (p *Page) snapshot() snapshot {
	p.mu.Lock()
	limiters, spawners := slices.Clone(p.limiters), slices.Clone(p.spawners)
	p.mu.Unlock()

	now := p.clock.Now()
	s := snapshot{Time: now.UTC(), Limiters: []limiterReport{}, Spawners: []spawnerReport{}}
	var statuses []limiter.Status
	for _, f := range limiters {
		statuses = append(statuses, f()...)
	}
	statuses, s.OmittedLimiters = keep(statuses, maxLimiters, urgency)
	for _, st := range statuses {
		s.Limiters = append(s.Limiters, limiterReport{Status: st})
	}
	p.addHistory(now, s.Limiters)
	for _, w := range spawners {
		s.Spawners = append(s.Spawners, p.report(w))
	}
	return s
}

// addHistory fills the histories in, each up to now: what time alone has changed
// is an event only when it is noticed.
func (p *Page) addHistory(now time.Time, reports []limiterReport) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := range reports {
		r := &reports[i]
		r.History = p.tracks.since(r.Status.Name, now.Add(-p.history))
		r.Status.Name, r.Status.Hold = clip(r.Status.Name), clip(r.Status.Hold)
		for j := range r.History {
			r.History[j].Time = r.History[j].Time.UTC()
		}
		last := sampleOf(now.UTC(), r.Status)
		if n := len(r.History); n > 0 && !r.History[n-1].Time.Before(last.Time) {
			r.History = r.History[:n-1]
		}
		r.History = append(r.History, last)
	}
}

// urgency orders limiters that are too many to show: the lowest first.
func urgency(s limiter.Status) int {
	switch s.Reason {
	case limiter.ReasonHold, limiter.ReasonConfig, limiter.ReasonRateLimited, limiter.ReasonOverloaded:
		return 0
	case limiter.ReasonNone:
		return 2
	default:
		return 1
	}
}

func (p *Page) report(w watched) spawnerReport {
	r := spawnerReport{Name: clip(w.name), Counts: make(map[string]int), Workers: []worker{}}
	roster := w.spawner.Roster()
	for _, st := range roster {
		r.Counts[st.State.String()]++
	}
	roster, r.Omitted = keep(roster, maxWorkers, trouble)
	// The living in order of arrival; then who has ended, what went wrong first and
	// of that the last.
	slices.SortStableFunc(roster, func(a, b spawn.WorkerStatus) int {
		switch {
		case a.State.Terminal() && b.State.Terminal():
			return cmp.Or(cmp.Compare(trouble(a), trouble(b)), b.Since.Compare(a.Since))
		case a.State.Terminal():
			return 1
		case b.State.Terminal():
			return -1
		}
		return 0
	})
	for _, st := range roster {
		r.Workers = append(r.Workers, p.line(st))
	}
	return r
}

func (p *Page) line(st spawn.WorkerStatus) worker {
	w := worker{ID: clip(st.ID), State: st.State, Since: st.Since.UTC(), Attempt: st.Attempt}
	if !st.Until.IsZero() {
		w.Until = st.Until.UTC()
	}
	if st.Err != nil || st.Verdict.Class != retry.Unknown {
		w.Class, w.Cause = st.Verdict.Class.String(), explain(p.cause, st.Err)
	}
	return w
}

// trouble orders workers that are too many to show: the lowest first.
func trouble(st spawn.WorkerStatus) int {
	switch st.State {
	case spawn.Dead, spawn.Parked:
		return 0
	case spawn.BackingOff:
		return 1
	case spawn.Queued, spawn.Running:
		return 2
	default:
		return 3
	}
}

// keep returns the n of all that rank lowest, in the order they had, and how many
// are left out.
func keep[T any](all []T, n int, rank func(T) int) ([]T, int) {
	if len(all) <= n {
		return all, 0
	}
	order := make([]int, len(all))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(rank(all[a]), rank(all[b])) })
	order = order[:n]
	slices.Sort(order)
	kept := make([]T, n)
	for i, j := range order {
		kept[i] = all[j]
	}
	return kept, len(all) - n
}
