package fleet

import (
	"context"
	"log/slog"
	"time"
)

// listingLag is how long after a change a vendor's listing may still lack it.
const listingLag = time.Minute

// Observe brings the vendor's complete listing. It decides what became of each
// reservation: one whose call nobody heard the end of is adopted by its tag, or
// given up when it is not listed after its deadline; what is no longer listed is
// gone; what no request asked for is foreign, and counts toward the caps.
//
// A listing that lacks more than half of the known instances, although nothing
// was terminating them, is not believed before a second one lacks the same; until
// then nothing is launched ([StaleInventory]). Once Observe has been called, that
// also holds when the latest listing is older than Config.MaxSignalAge. A listing
// from before the latest one is passed over. It costs time in proportion to the
// instances.
func (g *Guard) Observe(ctx context.Context, inv Inventory) error {
	for _, i := range inv.Instances {
		if err := i.check(); err != nil {
			return err
		}
	}
	var doubt, foreign string
	err := g.update(ctx, func(b *book) error {
		at := inv.At.Round(0)
		if at.IsZero() || at.After(b.now) { // nothing is read in the future
			at = b.now
		}
		o := &observation{guard: g, book: b, at: at, held: map[ReservationID]Reservation{}, byInstance: map[string]ReservationID{}}
		doubt, foreign = "", ""
		if l := b.ctl.Inventory; at.Before(l.At) || !l.Suspect.IsZero() && !at.After(l.Suspect) {
			return nil
		}
		if err := o.read(inv.Instances); err != nil {
			return err
		}
		if err := o.write(); err != nil {
			return err
		}
		foreign = o.foreign
		if !b.ctl.Inventory.Suspect.IsZero() {
			doubt = suspicion(b.ctl.Inventory)
		}
		return nil
	})
	if err == nil && doubt != "" {
		g.cfg.Logger.WarnContext(ctx, "inventory not believed", slog.String("why", doubt))
	}
	if err == nil && foreign != "" {
		g.cfg.Logger.WarnContext(ctx, "foreign instance", slog.String("instance", foreign))
	}
	return err
}

// observation is one listing against the ledger.
type observation struct {
	guard      *Guard
	book       *book
	at         time.Time
	held       map[ReservationID]Reservation
	byInstance map[string]ReservationID

	listed  []match
	missing []Reservation // up as far as is known, and not listed
	known   int           // how many the listing should have
	said    int           // how many of the missing the suspect listing lacked too
	foreign string        // a new one, for the log
}

// match is a listed instance and the reservation it belongs to, of which the ID
// is empty when there is none.
type match struct {
	instance Instance
	r        Reservation
}

// read matches the listing to the ledger.
func (o *observation) read(listed []Instance) error {
	o.book.ctl.Tally = tally{} // counted anew: what went wrong, if ever, heals here
	for r, err := range o.book.tx.Held() {
		if err != nil {
			return err
		}
		o.held[r.ID] = r
		o.book.ctl.Tally.add(r, 1)
		if r.Instance != "" {
			o.byInstance[r.Instance] = r.ID
		}
	}
	seen := map[string]bool{}
	taken := map[ReservationID]bool{}
	for _, i := range listed {
		if seen[i.ID] {
			continue
		}
		seen[i.ID] = true
		r, err := o.find(i, taken)
		if err != nil {
			return err
		}
		taken[r.ID] = true
		o.listed = append(o.listed, match{i, r})
	}
	suspected := map[ReservationID]bool{}
	for _, id := range o.book.ctl.Inventory.Lacks {
		suspected[id] = true
	}
	for _, r := range o.held {
		if r.Foreign && seen[r.Instance] && !taken[r.ID] {
			continue // the tag says now whose it is
		}
		if r.up() && !r.Changed.After(o.at.Add(-listingLag)) || r.up() && taken[r.ID] {
			o.known++
			if !taken[r.ID] {
				o.missing = append(o.missing, r)
				if suspected[r.ID] {
					o.said++
				}
			}
		}
	}
	return nil
}

// find returns the reservation of a listed instance: the one that holds its ID,
// else the one its tag names, be it given up already, else the record of a
// foreign one. A second instance of one tag belongs to none.
func (o *observation) find(i Instance, taken map[ReservationID]bool) (Reservation, error) {
	known := o.held[o.byInstance[i.ID]]
	if known.ID != "" && !known.Foreign || i.Tag == "" || taken[i.Tag] {
		return known, nil
	}
	r, ok, err := o.book.tx.Reservation(i.Tag)
	if err != nil || !ok || r.Instance != "" && r.Instance != i.ID {
		return known, err
	}
	return r, nil
}

// foreignID is the ID of the record of an instance that no request asked for.
func foreignID(instance string) ReservationID { return ReservationID("foreign-" + instance) }

// write enters what the listing says.
func (o *observation) write() error {
	l := &o.book.ctl.Inventory
	if o.implausible() {
		*l = listing{At: l.At, Suspect: o.at, Lacks: idsOf(o.missing), Known: o.known}
	} else {
		*l = listing{At: o.at}
	}
	for _, m := range o.listed {
		if err := o.enter(m); err != nil {
			return err
		}
		delete(o.held, m.r.ID)
	}
	if !l.Suspect.IsZero() {
		return nil // what it has is there; what it lacks is not believed gone
	}
	for _, r := range o.missing {
		if err := o.book.move(r, StateGone); err != nil {
			return err
		}
	}
	for _, r := range o.held { // neither listed nor to be missed
		switch {
		case r.State == StateTerminating:
			r.State = StateGone
		case r.Pending() && !o.at.Before(r.Due):
			r.State, r.Overdue = StateExpired, false
		default:
			continue
		}
		r.Changed = o.book.now
		if err := o.book.put(r); err != nil {
			return err
		}
	}
	return nil
}

// implausible reports whether the listing is not to be believed yet. What a
// suspect one lacked too has been said twice, and the rest must be plausible by
// itself: of two halves of one listing, each lacks the other.
func (o *observation) implausible() bool {
	if o.book.ctl.Inventory.Suspect.IsZero() {
		return 2*len(o.missing) > o.known
	}
	alone := len(o.missing) - o.said
	return alone > 0 && 2*alone >= o.known-o.said
}

func (o *observation) enter(m match) error {
	r := m.r
	if r.ID == "" {
		r = Reservation{ID: foreignID(m.instance.ID), Foreign: true, Price: m.instance.Price}
		o.foreign = m.instance.ID
	}
	if r.State == StateGone || r.State == StateExpired || r.State == StateRefused {
		r.State, r.Overdue = StateUnknown, false // given up too early: it is there
	}
	return o.guard.accept(o.book, r, m.instance)
}

func idsOf(rs []Reservation) []ReservationID {
	ids := make([]ReservationID, len(rs))
	for i, r := range rs {
		ids[i] = r.ID
	}
	return ids
}
