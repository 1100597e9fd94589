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
	unserved []*Limiter // that the serve under way must hand out as well
	outbox   outbox
}

func newDomain(c Clock) *domain { return &domain{clock: c, line: clock.NewLine(c)} }

// unserve has the serve that is under way, or must follow, hand out l as well.
func (d *domain) unserve(l *Limiter) {
	if n := len(d.unserved); n == 0 || d.unserved[n-1] != l {
		d.unserved = append(d.unserved, l)
	}
}

// takeUnserved returns one that must be handed out; nil: all have been.
func (d *domain) takeUnserved() *Limiter {
	n := len(d.unserved) - 1
	if n < 0 {
		return nil
	}
	l := d.unserved[n]
	d.unserved = d.unserved[:n]
	return l
}
