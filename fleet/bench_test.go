package fleet_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdoff-go/holdoff/fleet"
)

// per is the span of the benchmarks' rate window.
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
// machine, while so many others live and the rate window is full but for one.
func BenchmarkLaunch(b *testing.B) {
	for _, size := range []struct{ live, window int }{{10, 3}, {100, 3}, {10_000, 3}, {10_000, 100}, {10_000, 1000}} {
		b.Run(fmt.Sprintf("memory/live=%d/window=%d", size.live, size.window), func(b *testing.B) {
			clock := &manual{now: at("12:00:00")}
			ledger := fleet.NewMemory()
			g, err := fleet.New(fleet.Config{
				Caps:            fleet.Caps{HourlyBudget: fleet.Money(size.live+10) * fleet.Dollar, Instances: size.live + 10},
				Window:          fleet.Window{Launches: size.window, Per: per},
				ResolveDeadline: 1 << 60, BootDeadline: 1 << 60,
				Ledger: ledger, Clock: clock,
			})
			require.NoError(b, err)
			ctx := context.Background()
			d, err := g.Reserve(ctx, fleet.Request{Key: "live", Count: size.live, MaxPrice: usd("0.45"), Emergency: true})
			require.NoError(b, err)
			require.Equal(b, size.live, d.Granted)
			clock.Add(time.Hour)
			fill(b, ledger, clock.Now(), size.window-1)
			start := func(_ context.Context, r fleet.Reservation) (fleet.Instance, error) {
				return fleet.Instance{ID: string(r.ID)}, nil
			}
			n := 0
			b.ReportAllocs()
			for b.Loop() {
				n++
				clock.Add(per / time.Duration(size.window)) // by now the earliest one has left the window
				d, err := g.Launch(ctx, fleet.Request{Key: fmt.Sprint(n), MaxPrice: usd("0.45")}, start)
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

// BenchmarkDenied is a Launch that the full window denies.
func BenchmarkDenied(b *testing.B) {
	for _, window := range []int{3, 1000} {
		b.Run(fmt.Sprintf("window=%d", window), func(b *testing.B) {
			cfg := base(&manual{now: at("12:00:00")})
			cfg.Window.Launches = window
			cfg.Ledger = fleet.NewMemory()
			g, err := fleet.New(cfg)
			require.NoError(b, err)
			fill(b, cfg.Ledger, at("12:00:00"), window)
			start := func(context.Context, fleet.Reservation) (fleet.Instance, error) { panic("not reached") }
			b.ReportAllocs()
			for b.Loop() {
				d, err := g.Launch(context.Background(), fleet.Request{Key: "k", MaxPrice: usd("0.45")}, start)
				if err != nil || d.Code != fleet.RateWindow {
					b.Fatal(d, err)
				}
			}
		})
	}
}
