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
	var failed []error
	for i, res := range d.Reservations {
		if d.Code == Duplicate && (!g.cfg.Resend || !res.Pending()) {
			continue
		}
		settled, err := g.start(ctx, res, start)
		if settled.ID != "" {
			d.Reservations[i] = settled
		}
		if err == nil {
			continue
		}
		failed = append(failed, err)
		if stop := (*stopError)(nil); errors.As(err, &stop) && d.Code != Duplicate {
			failed = append(failed, g.giveBack(ctx, d.Reservations[i+1:]))
			break
		}
	}
	return d, errors.Join(failed...)
}

// stopError marks a failure after which no further call is made.
type stopError struct{ error }

func (e *stopError) Unwrap() error { return e.error }

// start makes one vendor call and settles it.
func (g *Guard) start(ctx context.Context, r Reservation, start Start) (Reservation, error) {
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
	if r.check() != "" {
		return nil, nil
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

// grant writes down what was decided, bypasses and all, before anything is
// launched.
func (e *evaluation) grant(to State) error {
	b, d := e.book, &e.d
	if d.Granted == 0 {
		return nil
	}
	b.ctl.LastLaunch = b.now
	if past := d.Granted - e.paced; past > 0 {
		e.charge(past)
	}
	for i := range d.Granted {
		r := Reservation{
			ID: newReservationID(d.Key, i), Key: d.Key, Offer: d.Offer, State: to, Price: d.MaxPrice,
			At: b.now, Changed: b.now, Due: b.now.Add(e.guard.cfg.ResolveDeadline),
		}
		for _, f := range d.Findings {
			if f.Bypassed && f.Allowed <= i {
				r.Bypassed = append(r.Bypassed, f.Constraint)
			}
		}
		if len(r.Bypassed) > 0 {
			r.Episode = d.Episode
		}
		if err := b.put(r); err != nil {
			return err
		}
		d.Reservations = append(d.Reservations, r)
	}
	return nil
}

// charge notes n launches past pacing with what allowed them: the host's claim,
// else the allowance of the episode, else the operators' overrides.
func (e *evaluation) charge(n int) {
	b, d := e.book, &e.d
	if e.claim && b.ctl.Episode == nil { // a claim is an emergency of its one request
		episode := b.newEpisode(HostClaim{}.Name(), d.Reason)
		episode.Launches = n
		b.end(episode, "a claim holds for its request alone")
		d.Episode = episode.ID
		return
	}
	if episode := b.ctl.Episode; episode != nil && d.Established {
		use := n
		if !e.claim {
			left, _ := episode.left(e.guard.cfg.Allowance, b.now)
			use = min(n, left)
		}
		if use > 0 {
			episode.Launches += use
			episode.Spent = b.now
			d.Episode = episode.ID
			n -= use
		}
	}
	if n > 0 {
		d.Overrides = b.draw(n)
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
