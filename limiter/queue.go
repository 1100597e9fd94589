package limiter

import "sync/atomic"

// A waiter is one blocked caller. Its fields are guarded by the limiter's lock.
type waiter struct {
	priority Priority
	ready    chan struct{} // buffered: a grant is never waited on
	origin   origin        // of what it was granted; published by granted
	// granted says that it has been let in and has not heard of it. It is set
	// under the lock. Whoever clears it has the grant: the caller, who does so
	// without the lock, or a refusal that takes it back.
	granted atomic.Bool

	prev, next *waiter // in the queue of its priority, or among the granted
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

func (l *waitlist) pushBack(w *waiter) {
	l.queues[w.priority].pushBack(w)
	l.len++
}

func (l *waitlist) pushFront(w *waiter) {
	l.queues[w.priority].pushFront(w)
	l.len++
}

func (l *waitlist) remove(w *waiter) {
	l.queues[w.priority].remove(w)
	l.len--
}

// A queue is a list of waiters in order of arrival. It is intrusive, so that a
// cancelled waiter leaves in constant time.
type queue struct {
	head, tail *waiter
	len        int
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
