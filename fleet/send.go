package fleet

import (
	"context"
	"errors"
	"fmt"
)

// sendAll makes the calls of a batch and enters in rs where each one stands.
func (g *Guard) sendAll(ctx context.Context, rs []Reservation, start Start) error {
	var failed []error
	unsent := rs
	defer func() { // there are none left unless start ended the goroutine
		_ = g.giveBack(ctx, unsent)
	}()
	for i := range rs {
		if i > 0 { // the first follows its decision at once
			if why, err := g.hold(ctx, rs[i:]); err != nil || why != "" {
				failed = append(failed, notSent(rs[i].ID, why, err))
				break
			}
		}
		unsent = rs[i+1:]
		settled, err := g.start(ctx, rs[i], start, false)
		if settled.ID != "" {
			rs[i] = settled
		}
		if err != nil {
			failed = append(failed, err)
		}
		if stops(err) {
			break
		}
	}
	failed = append(failed, g.giveBack(ctx, unsent))
	unsent = nil
	return errors.Join(failed...)
}

// resend repeats the calls whose outcome is unknown, where that is safe, until
// one must not be made.
func (g *Guard) resend(ctx context.Context, rs []Reservation, start Start) error {
	var failed []error
	for i := range rs {
		if !g.cfg.Resend || !rs[i].Pending() {
			continue
		}
		why, err := g.hold(ctx, rs[i:i+1])
		if err != nil {
			failed = append(failed, notSent(rs[i].ID, "", err))
		}
		if err != nil || why != "" { // it stays unknown, as the answer says
			break
		}
		settled, err := g.start(ctx, rs[i], start, true)
		if settled.ID != "" {
			rs[i] = settled
		}
		if err != nil {
			failed = append(failed, err)
		}
		if stops(err) {
			break
		}
	}
	return errors.Join(failed...)
}

func notSent(id ReservationID, why string, err error) error {
	if err != nil {
		return fmt.Errorf("fleet: launch %s: not sent: %w", id, err)
	}
	return fmt.Errorf("fleet: launch %s: not sent: %s", id, why)
}

// hold looks again before a call that does not follow its decision at once, and
// says why it must not be made, or "". rs[0] is what is called for and the others
// wait behind it: a batch takes as long as its calls, and none may be given up,
// and its slot go to somebody else, while it waits.
func (g *Guard) hold(ctx context.Context, rs []Reservation) (why string, err error) {
	err = g.update(ctx, func(b *book) error {
		first, ok, err := b.tx.Reservation(rs[0].ID)
		if err != nil {
			return err
		}
		if !ok {
			return fmt.Errorf("%s: %w", rs[0].ID, ErrNoReservation)
		}
		why = ""
		switch pause := b.ctl.Vendor; {
		case b.ctl.Killed != "":
			why = "the kill switch is on: " + b.ctl.Killed
		case pause.Until.After(b.now):
			why = fmt.Sprintf("%s; it is left alone until %s", pause.Why, clockTime(pause.Until, b.now))
		case !first.Pending():
			why = "it is " + string(first.State) + " already"
		case first.Due.Sub(b.now) <= g.cfg.ResolveDeadline/2:
			return g.extend(b, rs)
		}
		return errRollback // most calls are quick, and cost no write
	})
	return why, err
}

// extend gives those that wait for their call the whole deadline from now.
func (g *Guard) extend(b *book, rs []Reservation) error {
	for _, r := range rs {
		r, ok, err := b.tx.Reservation(r.ID)
		if err != nil {
			return err
		}
		if !ok || !r.Pending() {
			continue
		}
		r.Due, r.Overdue = b.now.Add(g.cfg.ResolveDeadline), false
		if err := b.put(r); err != nil {
			return err
		}
	}
	return nil
}
