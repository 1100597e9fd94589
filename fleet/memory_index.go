package fleet

import (
	"container/heap"
	"slices"
	"strings"
	"time"
)

// entry is a place in an order by time.
type entry struct {
	at time.Time
	id ReservationID
}

func (e entry) compare(o entry) int {
	if c := e.at.Compare(o.at); c != 0 {
		return c
	}
	return strings.Compare(string(e.id), string(o.id))
}

// timeline is a sorted list of what mostly comes in order and mostly leaves
// near its ends, where a slice is the fastest.
type timeline []entry

func (t *timeline) insert(e entry) {
	i, _ := slices.BinarySearchFunc(*t, e, entry.compare)
	*t = slices.Insert(*t, i, e)
}

func (t *timeline) remove(e entry) {
	if i, ok := slices.BinarySearchFunc(*t, e, entry.compare); ok {
		*t = slices.Delete(*t, i, i+1)
	}
}

// after returns what is later than at.
func (t timeline) after(at time.Time) []entry {
	i, _ := slices.BinarySearchFunc(t, at, func(e entry, at time.Time) int {
		if e.at.After(at) {
			return 1
		}
		return -1
	})
	return t[i:]
}

// before returns what is earlier than at.
func (t timeline) before(at time.Time) []entry {
	i, _ := slices.BinarySearchFunc(t, at, func(e entry, at time.Time) int {
		if e.at.Before(at) {
			return -1
		}
		return 1
	})
	return t[:i]
}

// deadlines is a heap of what comes in any order, with the place of each ID so
// that one can be taken out.
type deadlines struct {
	heap  []entry
	place map[ReservationID]int
}

func (d *deadlines) set(e entry) {
	d.remove(e.id)
	heap.Push(d, e)
}

func (d *deadlines) remove(id ReservationID) {
	if i, ok := d.place[id]; ok {
		heap.Remove(d, i)
	}
}

// until returns at most limit entries that are not after at, the earliest first.
func (d *deadlines) until(at time.Time, limit int) []entry {
	var due []entry
	for len(due) < limit && len(d.heap) > 0 && !d.heap[0].at.After(at) {
		due = append(due, heap.Pop(d).(entry))
	}
	for _, e := range due {
		heap.Push(d, e)
	}
	return due
}

// The methods of heap.Interface; set, remove and until are the ones to call.

func (d *deadlines) Len() int           { return len(d.heap) }
func (d *deadlines) Less(i, j int) bool { return d.heap[i].compare(d.heap[j]) < 0 }

func (d *deadlines) Swap(i, j int) {
	d.heap[i], d.heap[j] = d.heap[j], d.heap[i]
	d.place[d.heap[i].id], d.place[d.heap[j].id] = i, j
}

func (d *deadlines) Push(x any) {
	e := x.(entry)
	d.place[e.id] = len(d.heap)
	d.heap = append(d.heap, e)
}

func (d *deadlines) Pop() any {
	last := len(d.heap) - 1
	e := d.heap[last]
	d.heap = d.heap[:last]
	delete(d.place, e.id)
	return e
}
