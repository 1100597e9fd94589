package pool

import (
	"errors"
	"time"

	"github.com/holdoff-go/holdoff/retry"
)

var (
	// ErrMoved says that the credential of this attempt has been parked while it
	// ran, and that no further call may be made with it. A worker returns it, or
	// whatever its client makes of it, and is run again with another.
	ErrMoved = errors.New("pool: the attempt's credential is parked; return this error to go on with another")
	// ErrHops says that a run has been through as many credentials as Config.Hops
	// allows.
	ErrHops = errors.New("pool: the run may not try a further credential")
)

// errInside is for an OnSwitch that would wait for its own end.
var errInside = errors.New("pool: OnSwitch asked for a credential with its own context: it would wait for itself")

// A ParkedError says that no credential may be called with, and until when.
type ParkedError struct {
	// ID is the one that was asked for; empty: all are parked.
	ID string
	// Soonest is when the first of them returns; zero when that takes a new secret.
	Soonest time.Time
	// Stated says that the provider named Soonest. Else it is assumed.
	Stated bool
	cause  error // what a switch failed with
}

// Error says when to come back.
func (e *ParkedError) Error() string {
	s := "pool: every credential is parked"
	if e.ID != "" {
		s = "pool: credential " + e.ID + " is parked"
	}
	if e.Soonest.IsZero() {
		s += " until it has a new secret"
	} else {
		s += " until " + e.Soonest.Format(time.RFC3339)
	}
	if e.cause != nil {
		s += "; the switch failed: " + e.cause.Error()
	}
	return s
}

// Is reports whether target is the class of what holds the pool up:
// retry.QuotaExhausted, or retry.Auth when no time mends it.
func (e *ParkedError) Is(target error) bool {
	if e.Soonest.IsZero() {
		return target == retry.Auth
	}
	return target == retry.QuotaExhausted
}

// Unwrap returns what OnSwitch failed with, if that is why.
func (e *ParkedError) Unwrap() error { return e.cause }
