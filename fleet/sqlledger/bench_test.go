package sqlledger_test

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdoff-go/holdoff/fleet"
)

// steps is a clock that goes on when its owner says so.
type steps struct{ now time.Time }

func (s *steps) Now() time.Time                     { return s.now }
func (*steps) After(time.Duration) <-chan time.Time { return nil }

// per is the span of the benchmark's rate window.
const per = 15 * time.Minute

// fill puts n launches, evenly spread, into the rate window that ends at now.
// Their machines are gone.
func fill(b *testing.B, ledger fleet.Ledger, now time.Time, n int) {
	b.Helper()
	require.NoError(b, ledger.Update(b.Context(), func(tx fleet.Tx) error {
		for i := range n {
			at := now.Add(-per / time.Duration(n+1) * time.Duration(i))
			err := tx.Put(fleet.Reservation{
				ID: fleet.ReservationID(fmt.Sprintf("old-%d", i)), Key: fmt.Sprintf("old %d", i),
				State: fleet.StateGone, Instance: fmt.Sprintf("i-old-%d", i), At: at, Changed: at,
			})
			if err != nil {
				return err
			}
		}
		return nil
	}))
}

// BenchmarkLaunch is a whole Launch, decision and outcome, and the end of the
// machine, while so many others live and the rate window is full but for one:
// three transactions, each flushed to disk.
func BenchmarkLaunch(b *testing.B) {
	for _, size := range []struct{ live, window int }{{10, 3}, {100, 3}, {10_000, 3}, {10_000, 100}, {10_000, 1000}} {
		b.Run(fmt.Sprintf("sqlite/live=%d/window=%d", size.live, size.window), func(b *testing.B) {
			clock := &steps{at("12:00:00")}
			ledger := open(b, filepath.Join(b.TempDir(), "fleet.db"))
			g, err := fleet.New(fleet.Config{
				Caps:            fleet.Caps{HourlyBudget: fleet.Money(size.live+10) * fleet.Dollar, Instances: size.live + 10},
				Window:          fleet.Window{Launches: size.window, Per: per},
				ResolveDeadline: 1 << 60, BootDeadline: 1 << 60,
				Ledger: ledger, Clock: clock,
			})
			require.NoError(b, err)
			ctx := context.Background()
			d, err := g.Reserve(ctx, fleet.Request{Key: "live", Count: size.live, MaxPrice: 45 * fleet.Cent, Emergency: true})
			require.NoError(b, err)
			require.Equal(b, size.live, d.Granted)
			clock.now = clock.now.Add(time.Hour)
			fill(b, ledger, clock.now, size.window-1)
			start := func(_ context.Context, r fleet.Reservation) (fleet.Instance, error) {
				return fleet.Instance{ID: string(r.ID)}, nil
			}
			n := 0
			for b.Loop() {
				n++
				clock.now = clock.now.Add(per / time.Duration(size.window)) // by now the earliest one has left the window
				d, err := g.Launch(ctx, fleet.Request{Key: fmt.Sprint(n), MaxPrice: 45 * fleet.Cent}, start)
				if err != nil || d.Granted != 1 || d.Headroom.Launches != 0 {
					b.Fatal(d, err)
				}
				if err := g.Settle(ctx, d.Reservations[0].ID, fleet.Ended()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
