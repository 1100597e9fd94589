package fleet

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
)

// Reserve is the first phase of Launch: it decides, and reserves what is
// granted. Settle each of the Decision's Reservations; one that is not is given
// up at Config.ResolveDeadline.
func (g *Guard) Reserve(ctx context.Context, r Request) (Decision, error) {
	return g.reserve(ctx, r, StateReserved, false)
}

// Explain returns the decision that Reserve would make now, without any effect.
func (g *Guard) Explain(ctx context.Context, r Request) (Decision, error) {
	var d Decision
	err := g.look(ctx, func(b *book) error {
		known, err := g.known(b, r, false)
		if err != nil {
			return err
		}
		if known != nil {
			d = *known
			return nil
		}
		e, err := g.evaluate(b, r)
		if err != nil {
			return err
		}
		d = e.d
		return nil
	})
	return g.unavailable(d, r, err)
}

func (g *Guard) reserve(ctx context.Context, r Request, to State, replay bool) (Decision, error) {
	var d Decision
	repeated := false
	err := g.update(ctx, func(b *book) error {
		known, err := g.known(b, r, replay)
		if repeated = known != nil; err != nil {
			return err
		}
		if repeated {
			d = *known
			return errRollback // an answer that is known costs no write
		}
		e, err := g.evaluate(b, r)
		if err != nil {
			return err
		}
		if err := e.grant(to); err != nil {
			return err
		}
		d = e.d
		return b.tx.Record(d)
	})
	d, err = g.unavailable(d, r, err)
	if err == nil && !repeated {
		g.wakeAt(d.RetryAt)
		g.report(ctx, d)
	}
	return d, err
}

// unavailable turns the ledger's failure into the denial it is.
func (g *Guard) unavailable(d Decision, r Request, err error) (Decision, error) {
	switch {
	case err == nil:
		return d, nil
	case !errors.Is(err, ErrLedger):
		return Decision{}, err
	}
	d = g.decision(g.now(), r)
	d.Code, d.Stopped, d.StoppedBy = LedgerUnavailable, LedgerUnavailable, constraintLedger
	d.Findings = []Finding{{Constraint: constraintLedger, Tier: TierIntegrity, Code: LedgerUnavailable, Detail: err.Error()}}
	return d, nil
}

// known returns the answer to a key that has one.
func (g *Guard) known(b *book, r Request, replay bool) (*Decision, error) {
	if r.Key == "" || len(r.Key) > maxKey {
		return nil, nil // it never had one
	}
	granted, err := b.reservations(r.Key)
	if err != nil {
		return nil, err
	}
	d, recorded, err := b.tx.Decision(r.Key)
	switch {
	case err != nil:
		return nil, err
	case len(granted) == 0 && !(replay && recorded):
		return nil, nil
	case !recorded: // forgotten, while its instances live
		d = g.decision(b.now, r)
		d.Granted = len(granted)
	case d.Asked != r.count() || d.MaxPrice != r.MaxPrice || d.Offer != r.Offer:
		bad := g.decision(b.now, r)
		bad.Code, bad.Stopped, bad.StoppedBy = Invalid, Invalid, constraintKey
		bad.Findings = []Finding{{
			Constraint: constraintKey, Tier: TierIntegrity, Code: Invalid,
			Detail: fmt.Sprintf("the key was used before, for %d at up to %s", d.Asked, d.MaxPrice),
		}}
		return &bad, nil
	}
	d.Reservations = granted
	if len(granted) > 0 {
		d.Code = Duplicate
	}
	return &d, nil
}

// reservations returns those of a key, as they stand.
func (b *book) reservations(key string) ([]Reservation, error) {
	var rs []Reservation
	for {
		r, ok, err := b.tx.Reservation(newReservationID(key, len(rs)))
		if err != nil || !ok {
			return rs, err
		}
		rs = append(rs, r)
	}
}

// report tells the host and its log.
func (g *Guard) report(ctx context.Context, d Decision) {
	level := slog.LevelInfo
	if len(d.Bypassed) > 0 {
		level = slog.LevelWarn
	}
	g.cfg.Logger.Log(ctx, level, d.String(), slog.String("key", d.Key), slog.String("code", string(d.Code)),
		slog.Int("asked", d.Asked), slog.Int("granted", d.Granted))
	if g.cfg.OnDecision == nil {
		return
	}
	defer func() {
		if p := recover(); p != nil {
			g.cfg.Logger.ErrorContext(ctx, "OnDecision panicked", slog.Any("panic", p))
		}
	}()
	g.cfg.OnDecision(d)
}
