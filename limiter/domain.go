package limiter

import (
	"sync"

	"github.com/holdoff-go/holdoff/internal/clock"
)

// A domain is what limiters have in common that let callers in together: one
// lock, so that nobody ever holds part of what he asked for; one time; and one
// order of arrival. A Limiter made by New has one of its own, and those of a Group
// share the group's.
type domain struct {
	clock Clock

	mu       sync.Mutex
	line     *clock.Line
	now      instant // of the last look at the clock
	arrivals uint64
	granted  queue      // let in; some have not heard of it
	unserved []*Limiter // whose queues the next serve, or the one under way, must look at
	outbox   outbox
}

func newDomain(c Clock) *domain { return &domain{clock: c, line: clock.NewLine(c)} }

// unserve has the serve that is under way, or must follow, look at l's queue.
func (d *domain) unserve(l *Limiter) {
	if !l.unserved {
		l.unserved = true
		d.unserved = append(d.unserved, l)
	}
}

// nextUnserved returns one of unserved, by its index, whose first waiter goes
// before those of all others. nil: nobody waits at any.
func (d *domain) nextUnserved() (at int, w *waiter) {
	for i, l := range d.unserved {
		if first := l.waiting.first(); first != nil && (w == nil || first.ahead(w)) {
			at, w = i, first
		}
	}
	return at, w
}

// served takes the one at i out of unserved.
func (d *domain) served(i int) {
	last := len(d.unserved) - 1
	d.unserved[i].unserved = false
	d.unserved[i] = d.unserved[last]
	d.unserved[last] = nil // or one that the group forgets would be kept
	d.unserved = d.unserved[:last]
}
