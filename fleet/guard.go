package fleet

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"
)

// A Guard says whether more capacity may be launched, and keeps the record. It
// decides by constraints in tiers, each of them asked for every decision:
//
//   - integrity and caps (budget, instance count, need, the host's own) and the
//     vendor's refusals hold always;
//   - pacing (the launch rate window, the host's own) is skipped while an
//     emergency is established, within its allowance.
//
// [Guard.Launch] is the one to use: it decides and reserves, calls the vendor,
// and settles what came of it. [Guard.Reserve] and [Guard.Settle] are its phases,
// for hosts whose vendor calls happen elsewhere. [Guard.Signal] and
// [Guard.Observe] tell it what there is to do and what is there.
//
// A Guard has no state but its ledger's and is safe for concurrent use; so are
// several that share a ledger. It starts no goroutine and needs no Close.
type Guard struct {
	cfg Config

	mu    sync.Mutex
	loops map[*Loop]struct{} // those that run
}

var (
	// ErrLedger is among the causes of an error by the ledger. What was asked for
	// has not happened.
	ErrLedger = errors.New("the ledger is unavailable")
	// ErrNoReservation means that the ledger knows no such reservation.
	ErrNoReservation = errors.New("no such reservation")
	// ErrSettled means that a reservation already has another outcome.
	ErrSettled = errors.New("the reservation is settled otherwise")

	// errRollback ends a transaction that only looked.
	errRollback = errors.New("nothing to keep")
)

// invalidError is a mistake of the caller's that only the transaction can see.
type invalidError struct{ text string }

func (e *invalidError) Error() string { return "fleet: " + e.text }

func invalid(format string, args ...any) error {
	return &invalidError{fmt.Sprintf(format, args...)}
}

// New returns a Guard, or an error that names the field of cfg that makes no
// sense.
func New(cfg Config) (*Guard, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	return &Guard{cfg: cfg, loops: map[*Loop]struct{}{}}, nil
}

// update runs fn in a transaction, with the guard's state up to date. An
// errRollback of fn leaves nothing behind and is no error.
func (g *Guard) update(ctx context.Context, fn func(*book) error) error {
	rose := ""
	err := g.transact(ctx, func(b *book) error {
		rose = ""
		if err := fn(b); err != nil {
			return err
		}
		if b.rose {
			rose = fmt.Sprintf("%s: %s: %s", b.ctl.Episode.ID, b.ctl.Episode.Rule, b.ctl.Episode.Evidence)
		}
		return b.close()
	})
	if errors.Is(err, errRollback) {
		return nil
	}
	if err == nil && rose != "" {
		g.cfg.Logger.WarnContext(ctx, "emergency established", slog.String("episode", rose))
		g.alarm()
	}
	return err
}

// look runs fn in a transaction that leaves nothing behind.
func (g *Guard) look(ctx context.Context, fn func(*book) error) error {
	return g.update(ctx, func(b *book) error {
		if err := fn(b); err != nil {
			return err
		}
		return errRollback
	})
}

func (g *Guard) transact(ctx context.Context, fn func(*book) error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	err := g.cfg.Ledger.Update(ctx, func(tx Tx) error {
		// The time is read inside: transactions of one process are then in order.
		b, err := open(tx, g.now())
		if err != nil {
			return err
		}
		g.turn(b) // a rule that is no longer registered ends its episode
		return fn(b)
	})
	switch bad := (*invalidError)(nil); {
	case err == nil || errors.Is(err, errRollback), errors.As(err, &bad):
		return err
	case errors.Is(err, ErrNoReservation), errors.Is(err, ErrSettled):
		return fmt.Errorf("fleet: %w", err)
	case ctx.Err() != nil:
		return context.Cause(ctx)
	}
	return fmt.Errorf("fleet: %w: %w", ErrLedger, err)
}

// now is the time of day without its monotonic reading: a ledger outlives the
// process, so nothing in it may hang on one.
func (g *Guard) now() time.Time { return g.cfg.Clock.Now().Round(0) }

// alarm makes every loop run at once.
func (g *Guard) alarm() {
	for _, l := range g.running() {
		l.raise()
	}
}

// wakeAt tells every loop when a denied request could pass.
func (g *Guard) wakeAt(at time.Time) {
	if at.IsZero() {
		return
	}
	for _, l := range g.running() {
		l.wakeAt(at)
	}
}

func (g *Guard) running() []*Loop {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Collect(maps.Keys(g.loops))
}
