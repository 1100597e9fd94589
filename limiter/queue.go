package limiter

// A waiter is one blocked caller. Its fields are guarded by the limiter's lock.
type waiter struct {
	priority Priority
	ready    chan struct{} // buffered: a grant is never waited on
	granted  bool          // it has been let in, and has not heard of it
	origin   origin        // of what it was granted

	in         *queue // the list that it is in
	prev, next *waiter
}

// A queue is a list of waiters in order of arrival. It is intrusive, so that a
// cancelled waiter leaves in constant time.
type queue struct {
	head, tail *waiter
	len        int
}

func (q *queue) pushBack(w *waiter) {
	w.in, w.prev, w.next = q, q.tail, nil
	if q.tail != nil {
		q.tail.next = w
	} else {
		q.head = w
	}
	q.tail = w
	q.len++
}

func (q *queue) pushFront(w *waiter) {
	w.in, w.prev, w.next = q, nil, q.head
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
	w.in, w.prev, w.next = nil, nil, nil
	q.len--
}
