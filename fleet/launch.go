package fleet

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
)

// Start calls the vendor to create one machine. It should send r.ID as the
// call's idempotency key and put it on the machine as a tag, pay at most
// r.Price, and return what the vendor answered, or the vendor's error as it
// came: the error says whether the launch was refused for certain.
type Start = func(ctx context.Context, r Reservation) (Instance, error)

// Launch asks for launches and carries out what is granted: it checks every
// constraint and reserves in one transaction of the ledger, calls start for each
// reservation, one after the other, and writes down what came of each.
//
// A denial is a Decision, with a nil error. The error tells of granted launches
// that came to no instance, as [*LaunchError] each, or of the ledger that could
// not keep an outcome ([ErrLedger]); the Decision's Reservations say where each
// one stands. A refusal for rate, capacity, quota or credential ends the batch,
// and what was not sent is given back. When ctx ends before anything was
// decided, the error is its cause.
//
// The kill switch and a vendor's refusal stop a batch under way too, before its
// next call.
//
// A key that was granted before is answered with Duplicate and the same
// reservations, and nothing is started, unless Config.Resend says that this is
// safe.
func (g *Guard) Launch(ctx context.Context, r Request, start Start) (Decision, error) {
	if start == nil {
		return Decision{}, errors.New("fleet: Launch needs a start function")
	}
	return g.launch(ctx, r, start, false)
}

// launch is Launch; replay has the key answered as it was, a denial as well.
func (g *Guard) launch(ctx context.Context, r Request, start Start, replay bool) (Decision, error) {
	d, err := g.reserve(ctx, r, StateAttempting, replay)
	if err != nil {
		return d, err
	}
	d.Reservations = slices.Clone(d.Reservations) // the record keeps its own
	if d.Code == Duplicate {
		return d, g.resend(ctx, d.Reservations, start)
	}
	return d, g.sendAll(ctx, d.Reservations, start)
}

// stopError marks a failure after which no further call is made.
type stopError struct{ error }

func (e *stopError) Unwrap() error { return e.error }

func stops(err error) bool {
	stop := (*stopError)(nil)
	return errors.As(err, &stop)
}

// start makes one vendor call and settles it. Of a call that is repeated nothing
// but an instance is believed: its refusal says nothing of the one before.
func (g *Guard) start(ctx context.Context, r Reservation, start Start, again bool) (Reservation, error) {
	if ctx.Err() != nil && again {
		return r, &stopError{fmt.Errorf("fleet: launch %s: not sent again: %w", r.ID, context.Cause(ctx))}
	}
	if ctx.Err() != nil { // nothing was sent
		settled, err := g.conclude(ctx, r.ID, Refused(nil), refusal{})
		return settled, &stopError{errors.Join(fmt.Errorf("fleet: launch %s: not sent: %w", r.ID, context.Cause(ctx)), err)}
	}
	instance, err := g.call(ctx, r, start)
	if err == nil {
		settled, err := g.conclude(ctx, r.ID, Accepted(instance), refusal{})
		if err != nil { // a ledger that cannot keep this one will not keep the next
			return settled, &stopError{fmt.Errorf("fleet: launch %s: instance %s is not written down: %w", r.ID, instance.ID, err)}
		}
		return settled, nil
	}
	why := g.classify(ctx, err)
	why.lost = why.lost || again
	settled, failed := g.conclude(ctx, r.ID, Refused(err), why)
	state := settled.State
	if failed != nil {
		state = r.State
	}
	launch := &LaunchError{Reservation: r.ID, State: state, Class: why.verdict.Class, Err: err}
	if why.pause > 0 {
		launch.RetryAt = g.now().Add(min(why.pause, maxVendorPause))
	}
	err = launch
	if failed != nil {
		err = errors.Join(launch, failed)
	}
	if why.stops() || failed != nil || ctx.Err() != nil {
		err = &stopError{err}
	}
	return settled, err
}

// call runs the host's code: it may panic, end its goroutine, or return
// nonsense. What the vendor did is then unknown.
func (g *Guard) call(ctx context.Context, r Reservation, start Start) (i Instance, err error) {
	returned := false
	defer func() {
		if returned {
			return
		}
		p := recover()
		if p == nil { // runtime.Goexit: nobody will see what is returned
			_, _ = g.conclude(ctx, r.ID, Lost(), refusal{})
			return
		}
		g.cfg.Logger.ErrorContext(ctx, "the start function panicked",
			slog.Any("panic", p), slog.String("stack", string(debug.Stack())))
		err = fmt.Errorf("the start function panicked: %v: %w", p, ErrOutcomeUnknown)
	}()
	i, err = start(ctx, r)
	returned = true
	if err == nil {
		if bad := i.check(); bad != nil {
			err = fmt.Errorf("the start function returned no sound instance: %w: %w", bad, ErrOutcomeUnknown)
		}
	}
	return i, err
}

// conclude settles what has happened, even when ctx has ended meanwhile: the
// machine does not go away with it.
func (g *Guard) conclude(ctx context.Context, id ReservationID, o Outcome, r refusal) (Reservation, error) {
	return g.settle(context.WithoutCancel(ctx), id, o, r)
}

// giveBack settles reservations whose call was never made.
func (g *Guard) giveBack(ctx context.Context, unsent []Reservation) error {
	var failed []error
	for i, r := range unsent {
		settled, err := g.conclude(ctx, r.ID, Refused(nil), refusal{})
		if err != nil {
			failed = append(failed, err)
			continue
		}
		unsent[i] = settled
	}
	return errors.Join(failed...)
}
