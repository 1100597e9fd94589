package sqlledger_test

import (
	"context"
	"database/sql"
	"math"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdoff-go/holdoff/fleet"
	"github.com/holdoff-go/holdoff/fleet/ledgertest"
	"github.com/holdoff-go/holdoff/fleet/sqlledger"
)

func open(tb testing.TB, path string) *sqlledger.Ledger {
	tb.Helper()
	l, err := sqlledger.Open(context.Background(), path)
	require.NoError(tb, err)
	tb.Cleanup(func() { require.NoError(tb, l.Close()) })
	return l
}

func TestConformance(t *testing.T) {
	ledgertest.Run(t, func(t *testing.T) ledgertest.Store {
		path := filepath.Join(t.TempDir(), "fleet.db")
		return ledgertest.Store{
			Ledger: open(t, path),
			Reopen: func() fleet.Ledger { return open(t, path) },
		}
	})
}

func TestOpenAtOnceMigratesOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "100% of ours?#1.db")
	var done sync.WaitGroup
	errs := make([]error, 4)
	for i := range errs {
		done.Go(func() {
			l, err := sqlledger.Open(context.Background(), path)
			if errs[i] = err; err == nil {
				errs[i] = l.Close()
			}
		})
	}
	done.Wait()
	for _, err := range errs {
		require.NoError(t, err)
	}
	require.FileExists(t, path)
}

func TestOpenErrors(t *testing.T) {
	ctx := t.Context()
	_, err := sqlledger.Open(ctx, "")
	require.ErrorContains(t, err, "a path is needed")
	_, err = sqlledger.Open(ctx, filepath.Join(t.TempDir(), "no", "such", "directory.db"))
	require.ErrorContains(t, err, "directory.db")

	newer := filepath.Join(t.TempDir(), "newer.db")
	require.NoError(t, open(t, newer).Update(ctx, func(fleet.Tx) error { return nil }))
	db, err := sql.Open("sqlite3", "file:"+newer)
	require.NoError(t, err)
	_, err = db.ExecContext(ctx, "PRAGMA user_version = 99")
	require.NoError(t, err)
	require.NoError(t, db.Close())
	_, err = sqlledger.Open(ctx, newer)
	require.ErrorContains(t, err, "its schema is version 99")
}

// TestTwoFilesHandles races two guards through two connections to one file, as
// two processes would.
func TestScenario12_TwoConnections(t *testing.T) {
	path := filepath.Join(t.TempDir(), "fleet.db")
	guards := make([]*fleet.Guard, 2)
	for i := range guards {
		g, err := fleet.New(fleet.Config{
			Caps:   fleet.Caps{HourlyBudget: 10 * fleet.Dollar, Instances: 20},
			Ledger: open(t, path),
		})
		require.NoError(t, err)
		guards[i] = g
	}
	for round := range 20 {
		key := func(who string) string { return who + string(rune('a'+round)) }
		there, err := guards[0].Reserve(t.Context(), fleet.Request{Key: key("there"), Count: 3, MaxPrice: 44 * fleet.Cent})
		require.NoError(t, err)
		require.Equal(t, 3, there.Granted)
		decisions := make([]fleet.Decision, 2)
		errs := make([]error, 2)
		var done sync.WaitGroup
		for i, g := range guards {
			done.Go(func() {
				decisions[i], errs[i] = g.Reserve(context.Background(), fleet.Request{Key: key([]string{"x", "y"}[i]), Count: 12, MaxPrice: 45 * fleet.Cent})
			})
		}
		done.Wait()
		require.NoError(t, errs[0])
		require.NoError(t, errs[1])
		require.Equal(t, 17, decisions[0].Granted+decisions[1].Granted, "%s\n%s", decisions[0], decisions[1])
		all, err := guards[1].Reservations(t.Context())
		require.NoError(t, err)
		for _, r := range all {
			require.NoError(t, guards[1].Settle(t.Context(), r.ID, fleet.Refused(nil)))
		}
	}
}

// TestDeadlinesThatNeverCome keeps a launch for as long as a duration goes: its
// end does not fit nanoseconds since 1970.
func TestDeadlinesThatNeverCome(t *testing.T) {
	guard, err := fleet.New(fleet.Config{
		Caps:         fleet.Caps{HourlyBudget: fleet.Dollar, Instances: 1},
		BootDeadline: math.MaxInt64, ResolveDeadline: math.MaxInt64,
		Ledger: open(t, filepath.Join(t.TempDir(), "fleet.db")),
	})
	require.NoError(t, err)
	d, err := guard.Reserve(t.Context(), fleet.Request{Key: "a", MaxPrice: fleet.Cent})
	require.NoError(t, err)
	for range 2 { // reserved, then booting
		st, err := guard.Status(t.Context())
		require.NoError(t, err)
		require.Equal(t, 1, st.Covering)
		require.Zero(t, st.Overdue)
		require.NoError(t, guard.Settle(t.Context(), d.Reservations[0].ID, fleet.Accepted(fleet.Instance{ID: "i"})))
	}
}
