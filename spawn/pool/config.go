package pool

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"

	"github.com/holdoff-go/holdoff/internal/clock"
	"github.com/holdoff-go/holdoff/limiter"
	"github.com/holdoff-go/holdoff/retry"
)

// Clock tells the time. A nil Clock is the system's; the fakes of clockwork,
// benbjohnson/clock and k8s.io/utils/clock are Clocks as they are.
type Clock = clock.Clock

// WalkPool as Config.Hops lets a run try each credential once.
const WalkPool = -1

// ScopeCredential is the Key.Scope of a credential's own limiter in the group; its
// Key.Name is the credential's ID. ScopeAccount is that of an account's.
const (
	ScopeCredential = string(retry.ScopeKey)
	ScopeAccount    = string(retry.ScopeAccount)
)

// A Credential is something to call with: a key, a subscription, a client that is
// logged in.
type Credential[C any] struct {
	// ID names the credential in results, events, errors and logs, where it is
	// shown: a label, never the secret. Required, and unique in the pool.
	ID string
	// Account names who pays. Credentials of one account use the same quota up, so
	// they are parked for it together. Empty is an account of its own.
	Account string
	// Value is what the workers call with. The pool hands it out and looks at it
	// never.
	Value C
}

// A Config sets a Pool up. Group and Credentials are required; the zero value of
// every other field is its documented default.
type Config[C any] struct {
	// Group makes the limiters: for each credential one of the key
	// {ScopeCredential, ID}, for each account that is named one of {ScopeAccount,
	// Account}. It is that of the gate that the spawner has as its limiter, so that
	// a worker is let in by provider, account and credential at once. Required.
	Group *limiter.Group
	// Credentials are the members, at least one. The first is in use to begin with.
	Credentials []Credential[C]
	// Fingerprint tells a credential's secret from the one before: it is asked for
	// all of them at each attempt, outside of locks, and should be quick. What it
	// returns may be the secret itself, because only a hash of it is kept. When it
	// changes, what is known against the old secret is forgotten. nil: only Set
	// changes one.
	Fingerprint func(Credential[C]) string
	// Hops is how often one run may go on with another credential. 0 is 1; WalkPool
	// is as often as there are others; less is an error.
	Hops int
	// Headroom is how much is left of a credential, as far as the host knows: the
	// one with the most is switched to. It is called outside of locks. nil is the
	// free slots of its limiter. Either way one whose limiter is shut comes last,
	// and of equals the first in Credentials is taken.
	Headroom func(id string) float64
	// OnSwitch does what a switch takes in the host: it writes a token to a file,
	// say. It is called once for all who wait for the switch, while their slots stay
	// theirs; its context has the values of the first, and ends when none is left. An
	// error, or a panic, says that the switch has not taken place: to is left alone
	// for a minute and the next best is tried, until none is left. Then runs are
	// parked, with that error among their causes. nil is nothing to do.
	OnSwitch func(ctx context.Context, from, to string) error
	// OnEvent is told of each change, in order and one at a time, without a lock
	// held; a panic in it is contained and logged. nil is nobody.
	OnEvent func(Event)
	// Logger gets a warning for each parking, and a record for each switch and for
	// each return: IDs and classes, never a value or an error's text. nil is silent.
	Logger *slog.Logger
	// Clock is the source of time: that of the group. nil is the system's.
	Clock Clock
}

func (c Config[C]) validate() error {
	switch {
	case c.Group == nil:
		return errors.New("pool: Config.Group is nil: it is required")
	case len(c.Credentials) == 0:
		return errors.New("pool: Config.Credentials is empty: at least one is required")
	case c.Hops < WalkPool:
		return fmt.Errorf("pool: Config.Hops is %d: it must be positive, 0 for 1, or WalkPool", c.Hops)
	}
	for i, member := range c.Credentials {
		if member.ID == "" {
			return fmt.Errorf("pool: Config.Credentials[%d].ID is empty: it is required", i)
		}
		if slices.ContainsFunc(c.Credentials[:i], func(other Credential[C]) bool { return other.ID == member.ID }) {
			return fmt.Errorf("pool: Config.Credentials[%d].ID is %q, as that of another", i, member.ID)
		}
	}
	return nil
}
