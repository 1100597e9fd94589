package limiter

import "sync/atomic"

// A waiter is one blocked caller. Its fields are guarded by the limiter's lock.
type waiter struct {
	priority Priority
	arrival  uint64
	ready    chan struct{} // buffered: a grant is never waited on
	pass     pass          // what it asks for and is granted; published by granted
	at       *Limiter      // in whose queue it stands, or stood before it was granted
	// granted says that it has been let in and has not heard of it. It is set
	// under the lock. Whoever clears it has the grant: the caller, who does so
	// without the lock, or a refusal that takes it back.
	granted atomic.Bool

	prev, next *waiter // in the queue of its priority, or among the granted
}

// ahead reports whether w goes before other.
func (w *waiter) ahead(other *waiter) bool {
	if w.priority != other.priority {
		return w.priority > other.priority
	}
	return w.arrival < other.arrival
}

// A waitlist is the queues of all priorities.
type waitlist struct {
	queues [priorities]queue
	len    int
}

// first returns who is first in line: a priority passes wherever a lower one
// does, so when the first may not, nobody may.
func (l *waitlist) first() *waiter {
	for p := priorities - 1; p >= Normal; p-- {
		if w := l.queues[p].head; w != nil {
			return w
		}
	}
	return nil
}

// ahead reports whether somebody would go before w.
func (l *waitlist) ahead(w *waiter) bool {
	first := l.first()
	return first != nil && first.ahead(w)
}

func (l *waitlist) insert(w *waiter) {
	l.queues[w.priority].insert(w)
	l.len++
}

func (l *waitlist) remove(w *waiter) {
	l.queues[w.priority].remove(w)
	l.len--
}

// queue has w wait at l.
func (l *Limiter) queue(w *waiter) {
	w.at = l
	l.waiting.insert(w)
}

// A queue is a list of waiters. It is intrusive, so that a canceled waiter leaves
// in constant time.
type queue struct {
	head, tail *waiter
	last       *waiter // the last that insert put between two others
	len        int
}

// insert puts w to its place by arrival, in a queue that is ordered by it. New
// waiters go to the tail, and what was granted and taken back goes to the head.
// Those who come over from another limiter's queue come in order: where the last
// one went is near.
func (q *queue) insert(w *waiter) {
	switch {
	case q.tail == nil || q.tail.arrival < w.arrival:
		q.pushBack(w)
		return
	case w.arrival < q.head.arrival:
		q.pushFront(w)
		return
	}
	before := q.last
	if before == nil {
		before = q.head
	}
	for before.arrival > w.arrival {
		before = before.prev
	}
	for before.next.arrival < w.arrival {
		before = before.next
	}
	w.prev, w.next = before, before.next
	before.next.prev, before.next = w, w
	q.last = w
	q.len++
}

func (q *queue) pushBack(w *waiter) {
	w.prev, w.next = q.tail, nil
	if q.tail != nil {
		q.tail.next = w
	} else {
		q.head = w
	}
	q.tail = w
	q.len++
}

func (q *queue) pushFront(w *waiter) {
	w.prev, w.next = nil, q.head
	if q.head != nil {
		q.head.prev = w
	} else {
		q.tail = w
	}
	q.head = w
	q.len++
}

func (q *queue) remove(w *waiter) {
	if q.last == w {
		q.last = w.prev
	}
	if w.prev != nil {
		w.prev.next = w.next
	} else {
		q.head = w.next
	}
	if w.next != nil {
		w.next.prev = w.prev
	} else {
		q.tail = w.prev
	}
	w.prev, w.next = nil, nil
	q.len--
}
