package fleet

import (
	"slices"
	"time"
)

// retention is how long a finished reservation and a decision are remembered:
// longer than any vendor remembers an idempotency key (a day) and than a
// weekend without anybody to look.
const retention = 7 * 24 * time.Hour

// keptDecisions bounds the record, of some KiB each, against a caller that is
// denied all the time.
const keptDecisions = 10_000

// forgetEvery is how often old records are looked for.
const forgetEvery = time.Hour

// dueBatch bounds what one look at the deadlines reads at once.
const dueBatch = 64

// book is one transaction of the ledger with the guard's state in hand. Every
// change of a reservation goes through put, which keeps the sums.
type book struct {
	tx   Tx
	now  time.Time
	ctl  *control
	rose bool // an emergency was established in this transaction
}

// open reads the state and brings it up to now: a clock that was set back,
// deadlines that have passed, records that are old.
func open(tx Tx, now time.Time) (*book, error) {
	ctl, err := readControl(tx)
	if err != nil {
		return nil, err
	}
	b := &book{tx: tx, now: now, ctl: ctl}
	if now.Before(ctl.Now) {
		if err := b.clamp(); err != nil {
			return nil, err
		}
	}
	ctl.Now = now
	if err := b.expire(); err != nil {
		return nil, err
	}
	if now.Sub(ctl.Forgot) >= forgetEvery {
		ctl.Forgot = now
		if err := tx.Forget(now.Add(-retention), keptDecisions); err != nil {
			return nil, err
		}
	}
	ctl.Overrides = slices.DeleteFunc(ctl.Overrides, func(o override) bool { return !now.Before(o.Until) || o.Left <= 0 })
	return b, nil
}

func (b *book) close() error { return b.ctl.write(b.tx) }

// clamp stores every instant that lies in the future as now, once: that is when
// a clock which was set back is noticed.
func (b *book) clamp() error {
	b.ctl.clamp(b.now)
	ahead, err := b.tx.Attempts(b.now)
	if err != nil {
		return err
	}
	for _, r := range ahead {
		if !r.Due.IsZero() {
			r.Due = r.Due.Add(b.now.Sub(r.At))
		}
		r.At = b.now
		if r.Changed.After(b.now) {
			r.Changed = b.now
		}
		if err := b.put(r); err != nil {
			return err
		}
	}
	return nil
}

// expire marks what has passed its deadline.
func (b *book) expire() error {
	for {
		due, err := b.tx.Due(b.now, dueBatch)
		if err != nil || len(due) == 0 {
			return err
		}
		for _, r := range due {
			r.Overdue = true
			// Where the host reads listings, one taken after the deadline decides.
			if r.Pending() && !b.ctl.Inventory.used() {
				r.State, r.Changed = StateExpired, b.now
			}
			if err := b.put(r); err != nil {
				return err
			}
		}
	}
}

// put writes r and keeps the sums.
func (b *book) put(r Reservation) error {
	old, ok, err := b.tx.Reservation(r.ID)
	if err != nil {
		return err
	}
	if ok {
		b.ctl.Tally.add(old, -1)
	}
	b.ctl.Tally.add(r, 1)
	if e := b.ctl.Episode; e != nil && r.Episode == e.ID {
		e.Ready = e.Ready || r.State == StateRunning
		switch { // what the vendor refused was no launch of the episode's either
		case ok && old.Attempt() && !r.Attempt():
			e.Launches--
		case ok && !old.Attempt() && r.Attempt():
			e.Launches++
		}
	}
	return b.tx.Put(r)
}

// move is put of r in another state.
func (b *book) move(r Reservation, to State) error {
	if r.State != to {
		r.State, r.Changed = to, b.now
	}
	return b.put(r)
}
