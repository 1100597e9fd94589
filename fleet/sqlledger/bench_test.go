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

// steps is a clock that goes on when the benchmark says so.
type steps struct{ now time.Time }

func (s *steps) Now() time.Time                     { return s.now }
func (*steps) After(time.Duration) <-chan time.Time { return nil }

// BenchmarkLaunch is a whole Launch, decision and outcome, and the end of the
// machine, while the rate window is full but for one and so many others live:
// three transactions, each flushed to disk.
func BenchmarkLaunch(b *testing.B) {
	for _, live := range []int{10, 100, 10_000} {
		b.Run(fmt.Sprintf("sqlite/live=%d", live), func(b *testing.B) {
			clock := &steps{at("12:00:00")}
			g, err := fleet.New(fleet.Config{
				Caps:            fleet.Caps{HourlyBudget: fleet.Money(live+10) * fleet.Dollar, Instances: live + 10},
				Window:          fleet.Window{Launches: 3, Per: 15 * time.Minute},
				ResolveDeadline: 1 << 60, BootDeadline: 1 << 60,
				Ledger: open(b, filepath.Join(b.TempDir(), "fleet.db")), Clock: clock,
			})
			require.NoError(b, err)
			ctx := context.Background()
			d, err := g.Reserve(ctx, fleet.Request{Key: "live", Count: live, MaxPrice: 45 * fleet.Cent, Emergency: true})
			require.NoError(b, err)
			require.Equal(b, live, d.Granted)
			clock.now = clock.now.Add(time.Hour)
			start := func(_ context.Context, r fleet.Reservation) (fleet.Instance, error) {
				return fleet.Instance{ID: string(r.ID)}, nil
			}
			n := 0
			for b.Loop() {
				n++
				clock.now = clock.now.Add(5 * time.Minute)
				d, err := g.Launch(ctx, fleet.Request{Key: fmt.Sprint(n), MaxPrice: 45 * fleet.Cent}, start)
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
