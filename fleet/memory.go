package fleet

import (
	"context"
	"iter"
	"maps"
	"slices"
	"time"
)

// Memory is a [Ledger] that lives as long as its process. Guards that share one
// act as one. It is safe for concurrent use; make one with [NewMemory].
type Memory struct {
	// turn holds a token while a transaction runs. It is a channel and not a
	// mutex so that a ctx that ends stops the waiting.
	turn chan struct{}

	control      []byte
	reservations map[ReservationID]Reservation
	held         map[ReservationID]struct{}
	due          deadlines
	attempts     timeline
	finished     timeline // those that hold nothing, by Changed
	keys         map[string]map[ReservationID]struct{}
	decisions    []Decision
	latest       map[string]int // where a key's latest decision is, counted from the first ever
	dropped      int            // how many decisions were forgotten
}

// NewMemory returns an empty one.
func NewMemory() *Memory {
	return &Memory{
		turn:         make(chan struct{}, 1),
		reservations: map[ReservationID]Reservation{},
		held:         map[ReservationID]struct{}{},
		due:          deadlines{place: map[ReservationID]int{}},
		keys:         map[string]map[ReservationID]struct{}{},
		latest:       map[string]int{},
	}
}

// Update calls fn in a transaction, as [Ledger] tells.
func (m *Memory) Update(ctx context.Context, fn func(Tx) error) error {
	select {
	case m.turn <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	tx := &memoryTx{memory: m, undo: nil}
	committed := false
	defer func() {
		if !committed { // fn failed or panicked
			tx.rollback()
		}
		<-m.turn
	}()
	if err := fn(tx); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	committed = true
	return nil
}

// memoryTx changes the ledger in place and notes how to take each change back.
type memoryTx struct {
	memory *Memory
	undo   []func()
}

func (tx *memoryTx) rollback() {
	for _, undo := range slices.Backward(tx.undo) {
		undo()
	}
}

func (tx *memoryTx) Control() ([]byte, error) { return tx.memory.control, nil }

func (tx *memoryTx) SetControl(data []byte) error {
	m, old := tx.memory, tx.memory.control
	tx.undo = append(tx.undo, func() { m.control = old })
	m.control = slices.Clone(data)
	return nil
}

func (tx *memoryTx) Reservation(id ReservationID) (Reservation, bool, error) {
	r, ok := tx.memory.reservations[id]
	return r, ok, nil
}

func (tx *memoryTx) Put(r Reservation) error {
	m := tx.memory
	old, existed := m.reservations[r.ID]
	tx.undo = append(tx.undo, func() {
		m.drop(r)
		if existed {
			m.keep(old)
		}
	})
	if existed {
		m.drop(old)
	}
	r.Bypassed = slices.Clone(r.Bypassed)
	m.keep(r)
	return nil
}

// keep enters r in the table and in every index it belongs to.
func (m *Memory) keep(r Reservation) {
	m.reservations[r.ID] = r
	if r.Holds() {
		m.held[r.ID] = struct{}{}
	} else {
		m.finished.insert(entry{r.Changed, r.ID})
	}
	if r.Key != "" {
		if m.keys[r.Key] == nil {
			m.keys[r.Key] = map[ReservationID]struct{}{}
		}
		m.keys[r.Key][r.ID] = struct{}{}
	}
	if r.Timed() {
		m.due.set(entry{r.Due, r.ID})
	}
	if r.Attempt() {
		m.attempts.insert(entry{r.At, r.ID})
	}
}

// drop is keep undone.
func (m *Memory) drop(r Reservation) {
	delete(m.reservations, r.ID)
	delete(m.held, r.ID)
	m.finished.remove(entry{r.Changed, r.ID})
	if delete(m.keys[r.Key], r.ID); len(m.keys[r.Key]) == 0 {
		delete(m.keys, r.Key)
	}
	m.due.remove(r.ID)
	if r.Attempt() {
		m.attempts.remove(entry{r.At, r.ID})
	}
}

func (tx *memoryTx) Held() iter.Seq2[Reservation, error] {
	return func(yield func(Reservation, error) bool) {
		for _, id := range slices.Sorted(maps.Keys(tx.memory.held)) {
			if !yield(tx.memory.reservations[id], nil) {
				return
			}
		}
	}
}

func (tx *memoryTx) Due(at time.Time, limit int) ([]Reservation, error) {
	return tx.memory.resolve(tx.memory.due.until(at, limit)), nil
}

func (tx *memoryTx) Attempts(after time.Time) ([]Reservation, error) {
	return tx.memory.resolve(tx.memory.attempts.after(after)), nil
}

func (m *Memory) resolve(entries []entry) []Reservation {
	if len(entries) == 0 {
		return nil
	}
	rs := make([]Reservation, len(entries))
	for i, e := range entries {
		rs[i] = m.reservations[e.id]
	}
	return rs
}

func (tx *memoryTx) Record(d Decision) error {
	m := tx.memory
	before, had := m.latest[d.Key]
	tx.undo = append(tx.undo, func() {
		m.decisions = m.decisions[:len(m.decisions)-1]
		if had {
			m.latest[d.Key] = before
		} else {
			delete(m.latest, d.Key)
		}
	})
	m.latest[d.Key] = m.dropped + len(m.decisions)
	m.decisions = append(m.decisions, d)
	return nil
}

func (tx *memoryTx) Decision(key string) (Decision, bool, error) {
	m := tx.memory
	i, ok := m.latest[key]
	if !ok {
		return Decision{}, false, nil
	}
	return m.decisions[i-m.dropped], true, nil
}

func (tx *memoryTx) Decisions(limit int) ([]Decision, error) {
	all := tx.memory.decisions
	newest := slices.Clone(all[len(all)-max(0, min(limit, len(all))):])
	slices.Reverse(newest)
	return newest, nil
}

func (tx *memoryTx) Forget(before time.Time, keep int) error {
	m := tx.memory
	for _, e := range slices.Clone(m.finished.before(before)) {
		r := m.reservations[e.id]
		if m.alive(r.Key, before) {
			continue
		}
		tx.undo = append(tx.undo, func() { m.keep(r) })
		m.drop(r)
	}
	tx.forgetDecisions(before, keep)
	return nil
}

// alive reports whether a key has a reservation that is not to be forgotten.
func (m *Memory) alive(key string, before time.Time) bool {
	for id := range m.keys[key] {
		if r := m.reservations[id]; r.Holds() || !r.Changed.Before(before) {
			return true
		}
	}
	return false
}

func (tx *memoryTx) forgetDecisions(before time.Time, keep int) {
	m := tx.memory
	decisions, dropped := m.decisions, m.dropped
	tx.undo = append(tx.undo, func() { m.decisions, m.dropped = decisions, dropped })
	// The log is in order but for a clock that was set back: stopping at the
	// first young one forgets what is behind it an hour or so later.
	old := 0
	for ; old < len(decisions) && (len(decisions)-old > keep || decisions[old].At.Before(before)); old++ {
		key, place := decisions[old].Key, dropped+old
		if m.latest[key] == place {
			tx.undo = append(tx.undo, func() { m.latest[key] = place })
			delete(m.latest, key)
		}
	}
	m.decisions, m.dropped = decisions[old:], dropped+old
}
