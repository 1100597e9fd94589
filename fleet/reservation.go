package fleet

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"
)

// A ReservationID names one instance that a decision granted. It is made from
// the request's key and so the same however often the request is repeated: hand
// it to the vendor as the create call's idempotency key, and tag the instance
// with it, so that [Guard.Observe] can tell what became of a call nobody heard
// the end of. It has at most 40 characters, letters, digits and hyphens.
type ReservationID string

func newReservationID(key string, index int) ReservationID {
	sum := sha256.Sum256([]byte(key))
	return ReservationID(fmt.Sprintf("hf-%s-%d", hex.EncodeToString(sum[:12]), index))
}

// State is where one reserved instance stands. What each one counts toward is
// told beside it.
type State string

const (
	// StateReserved is written down, its vendor call the host's own business
	// ([Guard.Reserve]). Counts toward caps, window and need.
	StateReserved State = "reserved"
	// StateAttempting has its vendor call under way, or lost with its process.
	// Counts like StateReserved.
	StateAttempting State = "attempting"
	// StateUnknown had its vendor call end without an answer. Counts like
	// StateReserved, until it is seen or its deadline has passed.
	StateUnknown State = "unknown"
	// StateLoading was accepted and is booting. Counts toward all, and toward
	// need only until its boot deadline.
	StateLoading State = "loading"
	// StateRunning is up. Counts toward all.
	StateRunning State = "running"
	// StateFailed is up at the vendor's with a dead worker: it holds its slot
	// and costs money, and covers no need.
	StateFailed State = "failed"
	// StateTerminating is being shut down. It holds its slot and costs money
	// until the vendor no longer lists it, and covers no need.
	StateTerminating State = "terminating"
	// StateGone is confirmed to be no more. Counts toward the window by its age.
	StateGone State = "gone"
	// StateExpired never turned up before its deadline. Counts like StateGone.
	StateExpired State = "expired"
	// StateRefused was refused by the vendor for certain, or never sent. Counts
	// toward nothing.
	StateRefused State = "refused"
)

// A Reservation is one granted instance, from the intent to its end.
type Reservation struct {
	ID  ReservationID `json:"id"`
	Key string        `json:"key,omitempty"` // the request's; empty for a foreign instance
	// Offer is the request's, for the host's start function.
	Offer string `json:"offer,omitempty"`
	State State  `json:"state"`
	// Price is an hour's: the quoted one, and the observed one once known.
	Price Money `json:"price"`
	// Instance is the vendor's name for it, once accepted or seen.
	Instance string `json:"instance,omitempty"`
	// At is when the launch was decided, which is what the rate window counts
	// by. Zero for a foreign instance.
	At time.Time `json:"at,omitzero"`
	// Changed is when State last changed.
	Changed time.Time `json:"changed,omitzero"`
	// Due is its deadline: to turn up, or to finish booting. Zero is none.
	Due time.Time `json:"due,omitzero"`
	// Overdue says that Due has passed: it no longer covers need.
	Overdue bool `json:"overdue,omitempty"`
	// Foreign says that the vendor lists it and no request asked for it. It
	// counts toward the caps, and covers no need: nobody knows what it does.
	Foreign bool `json:"foreign,omitempty"`
	// Bypassed names the pacing constraints it was launched past.
	Bypassed []string `json:"bypassed,omitempty"`
	// Episode is the emergency it was launched past them for.
	Episode string `json:"episode,omitempty"`
}

// Holds reports whether it holds a slot and costs money.
func (r Reservation) Holds() bool {
	switch r.State {
	case StateReserved, StateAttempting, StateUnknown, StateLoading, StateRunning, StateFailed, StateTerminating:
		return true
	}
	return false
}

// Covers reports whether it stands for one of the instances that are needed.
func (r Reservation) Covers() bool {
	switch r.State {
	case StateReserved, StateAttempting, StateUnknown, StateLoading:
		return !r.Overdue && !r.Foreign
	case StateRunning:
		return !r.Foreign
	}
	return false
}

// Attempt reports whether it counts toward the rate window while it is young
// enough.
func (r Reservation) Attempt() bool { return !r.At.IsZero() && r.State != StateRefused }

// Pending reports whether nobody knows yet if the instance exists.
func (r Reservation) Pending() bool {
	return r.State == StateReserved || r.State == StateAttempting || r.State == StateUnknown
}

// Timed reports whether its deadline is still to come, so that
// [Tx.Due] must find it.
func (r Reservation) Timed() bool {
	return !r.Due.IsZero() && !r.Overdue && (r.Pending() || r.State == StateLoading)
}

// up reports whether the vendor said it exists and nobody asked it to end: what
// a listing that lacks it contradicts.
func (r Reservation) up() bool {
	return r.State == StateLoading || r.State == StateRunning || r.State == StateFailed
}
