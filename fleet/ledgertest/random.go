package ledgertest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/holdoff-go/holdoff/fleet"
)

// testRandom runs seeded random operations and compares every answer with that
// of a plain list.
func testRandom(t *testing.T, s Store) {
	random := rand.New(rand.NewPCG(1, 2))
	var list []fleet.Reservation
	for round := range 60 {
		next := slices.Clone(list)
		err := s.Ledger.Update(context.Background(), func(tx fleet.Tx) error {
			for range 1 + random.IntN(8) {
				r := randomReservation(random)
				must(t, tx.Put(r))
				next = slices.DeleteFunc(next, func(o fleet.Reservation) bool { return o.ID == r.ID })
				next = append(next, r)
			}
			compare(t, tx, next, random)
			if round%3 == 0 {
				return errNo
			}
			return nil
		})
		if err == nil {
			list = next
		}
		update(t, s.Ledger, func(tx fleet.Tx) { compare(t, tx, list, random) })
	}
}

func randomReservation(random *rand.Rand) fleet.Reservation {
	at := func() time.Time {
		if random.IntN(8) == 0 {
			return time.Time{}
		}
		return day.Add(time.Duration(random.IntN(20)))
	}
	return fleet.Reservation{
		ID: fleet.ReservationID(fmt.Sprintf("r%d", random.IntN(40))), State: states[random.IntN(len(states))],
		Price: fleet.Money(random.IntN(1000)), At: at(), Changed: day, Due: at(), Overdue: random.IntN(4) == 0,
	}
}

func compare(t *testing.T, tx fleet.Tx, list []fleet.Reservation, random *rand.Rand) {
	t.Helper()
	at := day.Add(time.Duration(random.IntN(20)))
	byTime := func(of func(fleet.Reservation) time.Time) func(a, b fleet.Reservation) int {
		return func(a, b fleet.Reservation) int {
			if c := of(a).Compare(of(b)); c != 0 {
				return c
			}
			return strings.Compare(string(a.ID), string(b.ID))
		}
	}
	pick := func(keep func(fleet.Reservation) bool, order func(a, b fleet.Reservation) int) []fleet.Reservation {
		var kept []fleet.Reservation
		for _, r := range list {
			if keep(r) {
				kept = append(kept, r)
			}
		}
		slices.SortFunc(kept, order)
		return kept
	}
	byID := func(a, b fleet.Reservation) int { return strings.Compare(string(a.ID), string(b.ID)) }

	same(t, "held", held(t, tx), pick(fleet.Reservation.Holds, byID))

	attempts, err := tx.Attempts(at)
	must(t, err)
	same(t, "attempts", sorted(attempts, byTime(attemptAt)),
		pick(func(r fleet.Reservation) bool { return r.Attempt() && r.At.After(at) }, byTime(attemptAt)))
	if !slices.IsSortedFunc(attempts, func(a, b fleet.Reservation) int { return a.At.Compare(b.At) }) {
		t.Fatalf("attempts are out of order: %v", names(attempts))
	}

	due, err := tx.Due(at, 1000)
	must(t, err)
	same(t, "due", sorted(due, byTime(dueAt)),
		pick(func(r fleet.Reservation) bool { return r.Timed() && !r.Due.After(at) }, byTime(dueAt)))
	if !slices.IsSortedFunc(due, func(a, b fleet.Reservation) int { return a.Due.Compare(b.Due) }) {
		t.Fatalf("due ones are out of order: %v", names(due))
	}
}

func attemptAt(r fleet.Reservation) time.Time { return r.At }
func dueAt(r fleet.Reservation) time.Time     { return r.Due }

// sorted brings those of one instant into an order, which a ledger need not.
func sorted(rs []fleet.Reservation, order func(a, b fleet.Reservation) int) []fleet.Reservation {
	slices.SortFunc(rs, order)
	return rs
}

// testRace has two guards on one ledger ask for more than is left, at once.
func testRace(t *testing.T, s Store) {
	guards := make([]*fleet.Guard, 2)
	for i := range guards {
		g, err := fleet.New(fleet.Config{
			Caps:   fleet.Caps{HourlyBudget: 10 * fleet.Dollar, Instances: 20},
			Ledger: s.Ledger,
		})
		must(t, err)
		guards[i] = g
	}
	ctx := context.Background()
	for round := range 20 {
		_, err := guards[0].Reserve(ctx, fleet.Request{Key: fmt.Sprintf("there %d", round), Count: 3, MaxPrice: 44 * fleet.Cent})
		must(t, err)
		decisions := make([]fleet.Decision, 2)
		errs := make([]error, 2)
		var done sync.WaitGroup
		for i, g := range guards {
			done.Go(func() {
				decisions[i], errs[i] = g.Reserve(ctx, fleet.Request{Key: fmt.Sprintf("%d of %d", i, round), Count: 12, MaxPrice: 45 * fleet.Cent})
			})
		}
		done.Wait()
		for i := range guards {
			must(t, errs[i])
		}
		if n := decisions[0].Granted + decisions[1].Granted; n != 17 {
			t.Fatalf("round %d: %d and %d were granted, not 17 together", round, decisions[0].Granted, decisions[1].Granted)
		}
		all, err := guards[0].Reservations(ctx)
		must(t, err)
		for _, r := range all {
			must(t, guards[0].Settle(ctx, r.ID, fleet.Refused(nil)))
		}
	}
}
