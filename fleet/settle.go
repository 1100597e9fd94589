package fleet

import (
	"context"
	"errors"
	"fmt"

	"github.com/holdoff-go/holdoff/retry"
)

// Settle writes down what came of a reservation. The same outcome twice is the
// same as once; one that contradicts what is known is an error that is
// [ErrSettled], and an ID the ledger does not know one that is
// [ErrNoReservation].
//
// An instance that exists is believed, after a refusal, a deadline or an unseen
// end too: it costs money again. The sum may then stand above a cap, and nothing
// more is granted until enough has ended.
func (g *Guard) Settle(ctx context.Context, id ReservationID, o Outcome) error {
	var r refusal
	switch o.kind {
	case outcomeNone:
		return fmt.Errorf("fleet: the outcome of %s is the zero value: use Accepted, Refused, Lost or Ended", id)
	case outcomeAccepted:
		if err := o.instance.check(); err != nil {
			return err
		}
	case outcomeRefused:
		if o.err != nil {
			r = g.classify(ctx, o.err)
		}
	}
	_, err := g.settle(ctx, id, o, r)
	return err
}

// settle returns the reservation as it now stands.
func (g *Guard) settle(ctx context.Context, id ReservationID, o Outcome, r refusal) (Reservation, error) {
	var settled Reservation
	var wrong error // with the caller's word on the reservation; that of the vendor to wait holds all the same
	err := g.update(ctx, func(b *book) (err error) {
		settled, err = g.conclusion(b, id, o, r)
		wrong = nil
		if r.pause == 0 {
			return err
		}
		b.holdOff(r.pause, fmt.Sprintf("the vendor refused a launch: %s", r.verdict.Class))
		if errors.Is(err, ErrNoReservation) || errors.Is(err, ErrSettled) {
			wrong = fmt.Errorf("fleet: %w", err)
			return nil
		}
		return err
	})
	if err == nil {
		err = wrong
	}
	return settled, err
}

// conclusion enters an outcome, of which nothing is written when it is wrong.
func (g *Guard) conclusion(b *book, id ReservationID, o Outcome, r refusal) (Reservation, error) {
	res, ok, err := b.tx.Reservation(id)
	switch {
	case err != nil:
		return Reservation{}, err
	case !ok:
		return Reservation{}, fmt.Errorf("%s: %w", id, ErrNoReservation)
	}
	switch o.kind {
	case outcomeAccepted:
		err = g.accept(b, res, o.instance)
	case outcomeRefused:
		if r.lost {
			err = b.lose(res)
		} else {
			err = b.refuse(res, r.verdict.Class)
		}
	case outcomeLost:
		err = b.lose(res)
	case outcomeEnded:
		if res.State != StateRefused { // it never was: that is no end
			res.Overdue = false
			err = b.move(res, StateGone)
		}
	}
	if err != nil {
		return Reservation{}, err
	}
	res, _, err = b.tx.Reservation(id)
	return res, err
}

// accept enters what the vendor says. It holds for a reservation that was given
// up as well: the truth counts, whatever the deadline said.
func (g *Guard) accept(b *book, r Reservation, i Instance) error {
	if r.Instance != "" && r.Instance != i.ID {
		return fmt.Errorf("%s is instance %s, not %s: %w", r.ID, r.Instance, i.ID, ErrSettled)
	}
	if r.State == StateGone && r.Instance != "" {
		return nil // a listing was faster
	}
	if !r.Foreign && r.Instance == "" {
		if err := b.absorb(i.ID); err != nil {
			return err
		}
	}
	r.Instance = i.ID
	if i.Price > 0 {
		r.Price = i.Price
	}
	to := i.State
	switch {
	case to != "":
	case r.up() || r.State == StateTerminating:
		to = r.State
	default:
		to = StateLoading
	}
	if to == StateLoading && !r.Foreign {
		r.Due = r.At.Add(g.cfg.BootDeadline)
		r.Overdue = !r.Due.After(b.now)
	} else {
		r.Overdue = false
	}
	return b.move(r, to)
}

// absorb ends the foreign record of an instance that turns out to be ours: a
// listing was faster than the create call's answer, or than the vendor's tag.
func (b *book) absorb(instance string) error {
	twin, ok, err := b.tx.Reservation(foreignID(instance))
	if err != nil || !ok || !twin.Holds() {
		return err
	}
	return b.move(twin, StateGone)
}

func (b *book) refuse(r Reservation, class retry.Class) error {
	switch {
	case r.Pending(), r.State == StateExpired:
		r.Overdue = false
		return b.move(r, StateRefused)
	case r.State == StateRefused:
		return nil
	}
	return fmt.Errorf("%s is %s, instance %s, not refused (%s): %w", r.ID, r.State, r.Instance, class, ErrSettled)
}

// lose keeps what is reserved. Whoever knows more has been here before.
func (b *book) lose(r Reservation) error {
	if r.State == StateReserved || r.State == StateAttempting {
		return b.move(r, StateUnknown)
	}
	return nil
}
