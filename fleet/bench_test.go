package fleet_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdoff-go/holdoff/fleet"
)

// BenchmarkLaunch is a whole Launch, decision and outcome, and the end of the
// machine, while the rate window is full but for one and so many others live.
func BenchmarkLaunch(b *testing.B) {
	for _, live := range []int{10, 100, 10_000} {
		b.Run(fmt.Sprintf("memory/live=%d", live), func(b *testing.B) {
			clock := &manual{now: at("12:00:00")}
			g, err := fleet.New(fleet.Config{
				Caps:            fleet.Caps{HourlyBudget: fleet.Money(live+10) * fleet.Dollar, Instances: live + 10},
				Window:          fleet.Window{Launches: 3, Per: 15 * time.Minute},
				ResolveDeadline: 1 << 60, BootDeadline: 1 << 60,
				Clock: clock,
			})
			require.NoError(b, err)
			ctx := context.Background()
			d, err := g.Reserve(ctx, fleet.Request{Key: "live", Count: live, MaxPrice: usd("0.45"), Emergency: true})
			require.NoError(b, err)
			require.Equal(b, live, d.Granted)
			clock.Add(time.Hour)
			start := func(_ context.Context, r fleet.Reservation) (fleet.Instance, error) {
				return fleet.Instance{ID: string(r.ID)}, nil
			}
			n := 0
			b.ReportAllocs()
			for b.Loop() {
				n++
				clock.Add(5 * time.Minute)
				d, err := g.Launch(ctx, fleet.Request{Key: fmt.Sprint(n), MaxPrice: usd("0.45")}, start)
				if err != nil || d.Granted != 1 {
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
	g, err := fleet.New(base(&manual{now: at("12:00:00")}))
	require.NoError(b, err)
	ctx := context.Background()
	_, err = g.Reserve(ctx, fleet.Request{Key: "full", Count: 3, MaxPrice: usd("0.45")})
	require.NoError(b, err)
	start := func(context.Context, fleet.Reservation) (fleet.Instance, error) { panic("not reached") }
	b.ReportAllocs()
	for b.Loop() {
		if d, err := g.Launch(ctx, fleet.Request{Key: "k", MaxPrice: usd("0.45")}, start); err != nil || d.Granted != 0 {
			b.Fatal(d, err)
		}
	}
}
