package ledgertest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/holdoff-go/holdoff/fleet"
)

// A Store is an empty ledger to test.
type Store struct {
	Ledger fleet.Ledger
	// Reopen opens the same data another time, as a process that was started
	// anew does. nil is a ledger that forgets with its process.
	Reopen func() fleet.Ledger
}

// Run tests the ledgers that open returns, a new and empty one for each subtest.
func Run(t *testing.T, open func(t *testing.T) Store) {
	for _, test := range []struct {
		name string
		run  func(*testing.T, Store)
	}{
		{"control", testControl},
		{"reservation comes back whole", testReservation},
		{"held", testHeld},
		{"due", testDue},
		{"attempts", testAttempts},
		{"decisions", testDecisions},
		{"forget", testForget},
		{"an error takes everything back", testRollback},
		{"a panic takes everything back", testPanic},
		{"a context that has ended", testContext},
		{"transactions run one after the other", testSerial},
		{"random operations agree with a list", testRandom},
		{"two guards race for the last 17 slots", testRace},
		{"what was committed is there after reopening", testReopen},
	} {
		t.Run(test.name, func(t *testing.T) { test.run(t, open(t)) })
	}
}

// day is when everything happens, to the nanosecond.
var day = time.Date(2026, 3, 10, 18, 25, 10, 123456789, time.UTC)

func update(t *testing.T, l fleet.Ledger, fn func(tx fleet.Tx)) {
	t.Helper()
	if err := l.Update(context.Background(), func(tx fleet.Tx) error { fn(tx); return nil }); err != nil {
		t.Fatalf("Update: %v", err)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// same compares as JSON, in which a time is its instant and location; both are
// brought to UTC before.
func same(t *testing.T, what string, got, want any) {
	t.Helper()
	g, w := text(t, got), text(t, want)
	if g != w {
		t.Fatalf("%s:\n got %s\nwant %s", what, g, w)
	}
}

func text(t *testing.T, v any) string {
	t.Helper()
	switch x := v.(type) {
	case fleet.Reservation:
		v = inUTC(x)
	case []fleet.Reservation:
		all := make([]fleet.Reservation, len(x))
		for i, r := range x {
			all[i] = inUTC(r)
		}
		v = all
	}
	data, err := json.Marshal(v)
	must(t, err)
	return string(data)
}

func inUTC(r fleet.Reservation) fleet.Reservation {
	r.At, r.Changed, r.Due = r.At.UTC(), r.Changed.UTC(), r.Due.UTC()
	if len(r.Bypassed) == 0 {
		r.Bypassed = nil
	}
	return r
}

func testControl(t *testing.T, s Store) {
	update(t, s.Ledger, func(tx fleet.Tx) {
		data, err := tx.Control()
		must(t, err)
		if len(data) != 0 {
			t.Fatalf("a new ledger's control is %q", data)
		}
		want := []byte("{\"a\":\"\x00ü\"}")
		must(t, tx.SetControl(want))
		want[0] = 'x' // the ledger must have a copy
		data, err = tx.Control()
		must(t, err)
		same(t, "within the transaction", string(data), "{\"a\":\"\x00ü\"}")
	})
	update(t, s.Ledger, func(tx fleet.Tx) {
		data, err := tx.Control()
		must(t, err)
		same(t, "in the next one", string(data), "{\"a\":\"\x00ü\"}")
	})
}

func whole() fleet.Reservation {
	return fleet.Reservation{
		ID: "hf-1-0", Key: "k\x00'\"; ü", Offer: "gpu/eu", State: fleet.StateLoading, Price: 510_100, Instance: "i-1",
		At: day, Changed: day.Add(1), Due: day.Add(150 * time.Minute), Overdue: true,
		Bypassed: []string{"rate_window", "cooldown"}, Episode: "e1",
	}
}

func testReservation(t *testing.T, s Store) {
	r := whole()
	update(t, s.Ledger, func(tx fleet.Tx) {
		_, ok, err := tx.Reservation(r.ID)
		must(t, err)
		if ok {
			t.Fatal("found in an empty ledger")
		}
		must(t, tx.Put(r))
	})
	foreign := fleet.Reservation{ID: "foreign-i-9", State: fleet.StateRunning, Instance: "i-9", Foreign: true, Changed: day}
	update(t, s.Ledger, func(tx fleet.Tx) {
		got, ok, err := tx.Reservation(r.ID)
		must(t, err)
		if !ok {
			t.Fatal("not found")
		}
		same(t, "reservation", got, r)
		must(t, tx.Put(foreign))
		got, _, err = tx.Reservation(foreign.ID)
		must(t, err)
		same(t, "foreign reservation", got, foreign)
		if !got.At.IsZero() || !got.Due.IsZero() {
			t.Fatalf("a zero time comes back as %v, %v", got.At, got.Due)
		}
		r.State, r.Price, r.Overdue, r.Bypassed = fleet.StateGone, 1, false, nil
		must(t, tx.Put(r))
	})
	update(t, s.Ledger, func(tx fleet.Tx) {
		got, _, err := tx.Reservation(r.ID)
		must(t, err)
		same(t, "replaced reservation", got, r)
	})
}

func held(t *testing.T, tx fleet.Tx) []fleet.Reservation {
	t.Helper()
	var all []fleet.Reservation
	for r, err := range tx.Held() {
		must(t, err)
		all = append(all, r)
	}
	return all
}

func names(rs []fleet.Reservation) string {
	s := ""
	for _, r := range rs {
		s += string(r.ID) + " "
	}
	return s
}

var states = []fleet.State{
	fleet.StateReserved, fleet.StateAttempting, fleet.StateUnknown, fleet.StateLoading, fleet.StateRunning,
	fleet.StateFailed, fleet.StateTerminating, fleet.StateGone, fleet.StateExpired, fleet.StateRefused,
}

func testHeld(t *testing.T, s Store) {
	update(t, s.Ledger, func(tx fleet.Tx) {
		for i := range states {
			must(t, tx.Put(fleet.Reservation{ID: fleet.ReservationID(fmt.Sprintf("r%d", 9-i)), State: states[9-i], At: day, Changed: day}))
		}
	})
	update(t, s.Ledger, func(tx fleet.Tx) {
		same(t, "held", names(held(t, tx)), "r0 r1 r2 r3 r4 r5 r6 ")
		for range tx.Held() {
			break // a caller that has seen enough
		}
		must(t, tx.Put(fleet.Reservation{ID: "r0", State: fleet.StateGone, Changed: day}))
		same(t, "held", names(held(t, tx)), "r1 r2 r3 r4 r5 r6 ")
	})
}

func testDue(t *testing.T, s Store) {
	put := func(tx fleet.Tx, id string, state fleet.State, due time.Duration, overdue bool) {
		must(t, tx.Put(fleet.Reservation{ID: fleet.ReservationID(id), State: state, At: day, Changed: day, Due: day.Add(due), Overdue: overdue}))
	}
	due := func(tx fleet.Tx, at time.Duration, limit int) string {
		rs, err := tx.Due(day.Add(at), limit)
		must(t, err)
		return names(rs)
	}
	update(t, s.Ledger, func(tx fleet.Tx) {
		put(tx, "late", fleet.StateLoading, 30, false)
		put(tx, "early", fleet.StateAttempting, 10, false)
		put(tx, "middle", fleet.StateUnknown, 20, false)
		put(tx, "overdue", fleet.StateLoading, 10, true)
		put(tx, "running", fleet.StateRunning, 10, false)
		must(t, tx.Put(fleet.Reservation{ID: "never", State: fleet.StateLoading, At: day, Changed: day}))
	})
	update(t, s.Ledger, func(tx fleet.Tx) {
		same(t, "due too early", due(tx, 9, 10), "")
		same(t, "due at the instant", due(tx, 10, 10), "early ")
		same(t, "due", due(tx, 100, 10), "early middle late ")
		same(t, "due, two at most", due(tx, 100, 2), "early middle ")
		put(tx, "early", fleet.StateAttempting, 25, false)
		put(tx, "middle", fleet.StateRunning, 20, false)
		same(t, "due after changes", due(tx, 100, 10), "early late ")
	})
}

func testAttempts(t *testing.T, s Store) {
	put := func(tx fleet.Tx, id string, state fleet.State, at time.Duration) {
		must(t, tx.Put(fleet.Reservation{ID: fleet.ReservationID(id), State: state, At: day.Add(at), Changed: day}))
	}
	attempts := func(tx fleet.Tx, after time.Duration) string {
		rs, err := tx.Attempts(day.Add(after))
		must(t, err)
		return names(rs)
	}
	update(t, s.Ledger, func(tx fleet.Tx) {
		put(tx, "c", fleet.StateLoading, 3)
		put(tx, "a", fleet.StateGone, 1)
		put(tx, "b", fleet.StateExpired, 2)
		put(tx, "refused", fleet.StateRefused, 3)
		must(t, tx.Put(fleet.Reservation{ID: "foreign", State: fleet.StateRunning, Foreign: true, Changed: day}))
		put(tx, "b2", fleet.StateRunning, 2)
	})
	update(t, s.Ledger, func(tx fleet.Tx) {
		same(t, "all", attempts(tx, -1), "a b b2 c ")
		same(t, "strictly after", attempts(tx, 1), "b b2 c ")
		same(t, "none", attempts(tx, 3), "")
		put(tx, "b", fleet.StateRefused, 2)
		put(tx, "a", fleet.StateGone, 5)
		same(t, "after changes", attempts(tx, 0), "b2 c a ")
	})
}

func testDecisions(t *testing.T, s Store) {
	record := func(tx fleet.Tx, key string, code fleet.Code) {
		must(t, tx.Record(fleet.Decision{
			Key: key, Code: code, At: day, Asked: 4, MaxPrice: 450_000, RetryAt: day.Add(599 * time.Second),
			Findings:     []fleet.Finding{{Constraint: "rate_window", Tier: fleet.TierPacing, Code: code, Next: []time.Time{day}}},
			Reservations: []fleet.Reservation{whole()},
		}))
	}
	update(t, s.Ledger, func(tx fleet.Tx) {
		if _, ok, err := tx.Decision("a"); ok || err != nil {
			t.Fatalf("found %v in an empty ledger, error %v", ok, err)
		}
		record(tx, "a", fleet.RateWindow)
		record(tx, "b", fleet.Budget)
		record(tx, "a", fleet.Granted)
	})
	update(t, s.Ledger, func(tx fleet.Tx) {
		d, ok, err := tx.Decision("a")
		must(t, err)
		if !ok || d.Code != fleet.Granted || !d.RetryAt.Equal(day.Add(599*time.Second)) || d.MaxPrice != 450_000 {
			t.Fatalf("the latest of a is %+v, %v", d, ok)
		}
		same(t, "its reservation", d.Reservations[0], whole())
		if f, _ := d.Finding("rate_window"); f.Tier != fleet.TierPacing || !f.Next[0].Equal(day) {
			t.Fatalf("its finding is %+v", f)
		}
		ds, err := tx.Decisions(2)
		must(t, err)
		if len(ds) != 2 || ds[0].Code != fleet.Granted || ds[1].Code != fleet.Budget {
			t.Fatalf("the latest two are %+v", ds)
		}
		if ds, err := tx.Decisions(100); err != nil || len(ds) != 3 {
			t.Fatalf("of three decisions %d come back, error %v", len(ds), err)
		}
		if ds, err := tx.Decisions(0); err != nil || len(ds) != 0 {
			t.Fatalf("asked for none, %d come back, error %v", len(ds), err)
		}
	})
}

func testForget(t *testing.T, s Store) {
	update(t, s.Ledger, func(tx fleet.Tx) {
		for _, r := range []fleet.Reservation{
			{ID: "old", Key: "1", State: fleet.StateGone, At: day, Changed: day},
			{ID: "old-held", Key: "2", State: fleet.StateRunning, At: day, Changed: day},
			{ID: "old-sibling", Key: "2", State: fleet.StateGone, At: day, Changed: day},
			{ID: "old-of-young", Key: "3", State: fleet.StateRefused, At: day, Changed: day},
			{ID: "young", Key: "3", State: fleet.StateExpired, At: day, Changed: day.Add(time.Hour)},
			{ID: "foreign-old", State: fleet.StateGone, Foreign: true, Changed: day},
			{ID: "foreign-held", State: fleet.StateRunning, Foreign: true, Changed: day},
		} {
			must(t, tx.Put(r))
		}
		must(t, tx.Record(fleet.Decision{Key: "1", At: day}))
		must(t, tx.Record(fleet.Decision{Key: "2", At: day.Add(time.Hour)}))
	})
	update(t, s.Ledger, func(tx fleet.Tx) { must(t, tx.Forget(day.Add(time.Hour), 100)) })
	update(t, s.Ledger, func(tx fleet.Tx) {
		left := ""
		for _, id := range []fleet.ReservationID{"old", "old-held", "old-sibling", "old-of-young", "young", "foreign-old", "foreign-held"} {
			_, ok, err := tx.Reservation(id)
			must(t, err)
			if ok {
				left += string(id) + " "
			}
		}
		same(t, "left", left, "old-held old-sibling old-of-young young foreign-held ")
		rs, err := tx.Attempts(day.Add(-1))
		must(t, err)
		same(t, "attempts left", names(rs), "old-held old-sibling young ")
		_, first, err := tx.Decision("1")
		must(t, err)
		_, second, err := tx.Decision("2")
		must(t, err)
		if first || !second {
			t.Fatalf("of an old and a young decision are left: %v, %v", first, second)
		}
		for _, key := range []string{"3", "4", "5"} {
			must(t, tx.Record(fleet.Decision{Key: key, At: day.Add(time.Hour)}))
		}
		must(t, tx.Forget(day, 2))
		ds, err := tx.Decisions(10)
		must(t, err)
		if len(ds) != 2 || ds[0].Key != "5" || ds[1].Key != "4" {
			t.Fatalf("asked to keep two, %d are left: %+v", len(ds), ds)
		}
		if _, ok, err := tx.Decision("3"); ok || err != nil {
			t.Fatalf("the third latest is still found, error %v", err)
		}
	})
}

var errNo = errors.New("no")
