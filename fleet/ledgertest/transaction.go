package ledgertest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/holdoff-go/holdoff/fleet"
)

func testRollback(t *testing.T, s Store) {
	before := seed(t, s.Ledger)
	err := s.Ledger.Update(context.Background(), func(tx fleet.Tx) error {
		wreck(t, tx)
		return fmt.Errorf("wrapped: %w", errNo)
	})
	if !errors.Is(err, errNo) {
		t.Fatalf("Update returned %v, not the function's error", err)
	}
	update(t, s.Ledger, func(tx fleet.Tx) { same(t, "after the rollback", dump(t, tx), before) })
}

func testPanic(t *testing.T, s Store) {
	before := seed(t, s.Ledger)
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic was swallowed")
			}
		}()
		_ = s.Ledger.Update(context.Background(), func(tx fleet.Tx) error {
			wreck(t, tx)
			panic("no")
		})
	}()
	update(t, s.Ledger, func(tx fleet.Tx) { same(t, "after the panic", dump(t, tx), before) })
}

func seed(t *testing.T, l fleet.Ledger) (before string) {
	t.Helper()
	update(t, l, func(tx fleet.Tx) {
		must(t, tx.SetControl([]byte("before")))
		must(t, tx.Put(whole()))
		must(t, tx.Put(fleet.Reservation{ID: "gone", State: fleet.StateGone, At: day, Changed: day}))
		must(t, tx.Record(fleet.Decision{Key: "a", Code: fleet.Granted, At: day}))
		before = dump(t, tx)
	})
	return before
}

// wreck changes everything that can be changed.
func wreck(t *testing.T, tx fleet.Tx) {
	t.Helper()
	must(t, tx.SetControl([]byte("after")))
	r := whole()
	r.State, r.At = fleet.StateRefused, day.Add(time.Hour)
	must(t, tx.Put(r))
	must(t, tx.Put(fleet.Reservation{ID: "new", State: fleet.StateReserved, At: day, Changed: day, Due: day}))
	must(t, tx.Record(fleet.Decision{Key: "a", Code: fleet.Budget, At: day}))
	must(t, tx.Record(fleet.Decision{Key: "b", Code: fleet.Budget, At: day}))
	must(t, tx.Forget(day.Add(24*time.Hour), 100))
}

// dump is all that a transaction can see.
func dump(t *testing.T, tx fleet.Tx) string {
	t.Helper()
	control, err := tx.Control()
	must(t, err)
	attempts, err := tx.Attempts(day.Add(-time.Hour))
	must(t, err)
	due, err := tx.Due(day.Add(1000*time.Hour), 1000)
	must(t, err)
	decisions, err := tx.Decisions(1000)
	must(t, err)
	latest, _, err := tx.Decision("a")
	must(t, err)
	return fmt.Sprintf("control %s\nheld %s\nattempts %s\ndue %s\ndecisions %s\nlatest %s",
		control, text(t, held(t, tx)), text(t, attempts), text(t, due), text(t, decisions), latest.Code)
}

func testContext(t *testing.T, s Store) {
	before := seed(t, s.Ledger)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	err := s.Ledger.Update(ctx, func(tx fleet.Tx) error { wreck(t, tx); return nil })
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("Update returned %v", err)
	}
	ctx, cancel = context.WithCancel(context.Background())
	err = s.Ledger.Update(ctx, func(tx fleet.Tx) error {
		must(t, tx.Put(fleet.Reservation{ID: "new", State: fleet.StateReserved, At: day, Changed: day}))
		cancel()
		return nil
	})
	if err == nil {
		t.Fatal("a transaction whose context ended was committed")
	}
	update(t, s.Ledger, func(tx fleet.Tx) { same(t, "after it", dump(t, tx), before) })
}

func testSerial(t *testing.T, s Store) {
	const workers, rounds = 4, 10
	var done sync.WaitGroup
	errs := make([]error, workers)
	for w := range workers {
		done.Go(func() {
			for range rounds {
				errs[w] = errors.Join(errs[w], s.Ledger.Update(context.Background(), func(tx fleet.Tx) error {
					data, err := tx.Control()
					if err != nil {
						return err
					}
					return tx.SetControl(append(data[:len(data):len(data)], '+'))
				}))
			}
		})
	}
	done.Wait()
	must(t, errors.Join(errs...))
	update(t, s.Ledger, func(tx fleet.Tx) {
		data, err := tx.Control()
		must(t, err)
		if len(data) != workers*rounds {
			t.Fatalf("of %d transactions %d are left", workers*rounds, len(data))
		}
	})
}

func testReopen(t *testing.T, s Store) {
	if s.Reopen == nil {
		t.Skip("it forgets with its process")
	}
	before := seed(t, s.Ledger)
	again := s.Reopen()
	update(t, again, func(tx fleet.Tx) { same(t, "after reopening", dump(t, tx), before) })
}
