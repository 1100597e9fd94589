package fleet

import (
	"context"
	"iter"
	"time"
)

// A Ledger keeps what a [Guard] knows. Guards that share one, in one process or
// several, act as one.
//
// The conformance suite in fleet/ledgertest says what is asked of one.
// [NewMemory] keeps it in memory; the module fleet/sqlledger keeps it on disk.
type Ledger interface {
	// Update calls fn in one serializable transaction and commits it, durably,
	// when fn returns nil; otherwise nothing of it happened, and fn's error comes
	// back. Transactions of one ledger run one after the other. fn may be called
	// again when a commit failed; the Tx is valid during the call alone. A ctx
	// that ends before the commit ends the transaction.
	Update(ctx context.Context, fn func(Tx) error) error
}

// A Tx is one transaction of a [Ledger]. Everything but Held costs the same
// however many instances live: at most a logarithm of their number, and for Due
// and Attempts something for each reservation they return.
//
// Times come back as the same instants, to the nanosecond; their location and
// monotonic reading may be lost.
type Tx interface {
	// Control returns what SetControl stored last, nil at first. It is the
	// guard's own small state, of some KiB, and opaque.
	Control() ([]byte, error)
	SetControl(data []byte) error

	// Reservation returns the one of that ID; ok is false when there is none.
	Reservation(id ReservationID) (r Reservation, ok bool, err error)
	// Put inserts r, or replaces the one of the same ID.
	Put(r Reservation) error
	// Held yields every reservation whose Holds is true, in order of ID. Nothing
	// is written while it yields.
	Held() iter.Seq2[Reservation, error]
	// Due returns at most limit reservations whose Timed is true and whose Due is
	// not after at, the earliest first.
	Due(at time.Time, limit int) ([]Reservation, error)
	// Attempts returns the reservations whose Attempt is true and whose At is
	// after the given instant, the earliest first.
	Attempts(after time.Time) ([]Reservation, error)

	// Record appends a decision.
	Record(d Decision) error
	// Decision returns the latest recorded one of that key.
	Decision(key string) (d Decision, ok bool, err error)
	// Decisions returns the latest limit recorded ones, the latest first.
	Decisions(limit int) ([]Decision, error)

	// Forget deletes the reservations of every key of which none holds anything
	// or has a Changed that is not before the given instant (one without a key
	// stands for itself), decisions whose At is before it, and all decisions but
	// the latest keep ones.
	Forget(before time.Time, keep int) error
}
