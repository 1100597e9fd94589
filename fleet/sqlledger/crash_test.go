package sqlledger_test

import (
	"bufio"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdoff-go/holdoff/fleet"
	"github.com/holdoff-go/holdoff/internal/clock"
)

// TestScenario11_CrashPoints lets a process die at each point of an emergency
// launch, and asks a new one at 18:31.
func TestScenario11_CrashPoints(t *testing.T) {
	tests := []struct {
		role     string
		machines int
		state    fleet.State // after the restart
		settled  fleet.State // after a listing at the deadline
	}{
		{"before the vendor call", 0, fleet.StateAttempting, fleet.StateExpired},
		{"before the commit", 1, fleet.StateAttempting, fleet.StateLoading},
		{"after the commit", 1, fleet.StateLoading, fleet.StateLoading},
	}
	for _, tt := range tests {
		t.Run(tt.role, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "fleet.db")
			cloud := vendor{filepath.Join(dir, "vendor")}
			before := open(t, path)
			for i, launched := range []string{"18:25:10", "18:25:11", "18:25:12"} {
				g, err := fleet.New(base(before, fixed{at(launched)}))
				require.NoError(t, err)
				d, err := g.Reserve(t.Context(), fleet.Request{Key: launched, MaxPrice: 44 * fleet.Cent})
				require.NoError(t, err)
				require.NoError(t, g.Settle(t.Context(), d.Reservations[0].ID, fleet.Accepted(fleet.Instance{ID: "early" + string(rune('0'+i))})))
			}
			out, err := command(t, tt.role, dir, 0).CombinedOutput()
			require.NoError(t, err, string(out))
			require.Len(t, cloud.machines(t), tt.machines)

			guard := func(clock string) *fleet.Guard {
				g, err := fleet.New(base(open(t, path), fixed{at(clock)}))
				require.NoError(t, err)
				return g
			}
			g := guard("18:31:00")
			st, err := g.Status(t.Context())
			require.NoError(t, err)
			require.Equal(t, 4, st.Instances, "held: the three and the one that was decided")
			require.Equal(t, 4, st.Launches)
			d, err := g.Launch(t.Context(), fleet.Request{Key: "normal", MaxPrice: 44 * fleet.Cent}, cloud.create)
			require.NoError(t, err)
			require.Equal(t, fleet.RateWindow, d.Code)
			require.Equal(t, at("18:40:11"), d.RetryAt.UTC(), "as before: the window had three, and has four")
			d, err = g.Launch(t.Context(), fleet.Request{Key: "emergency", Count: 1, MaxPrice: 45 * fleet.Cent}, cloud.create)
			require.NoError(t, err)
			require.Equal(t, fleet.Duplicate, d.Code)
			require.Equal(t, tt.state, d.Reservations[0].State)
			require.Equal(t, []string{"rate_window"}, d.Bypassed, "on record from before the launch")

			listed := []fleet.Instance{{ID: "early0"}, {ID: "early1"}, {ID: "early2"}}
			for id := range cloud.machines(t) {
				listed = append(listed, fleet.Instance{ID: "i-" + string(id), Tag: id})
			}
			deadline := guard("18:40:11")
			require.NoError(t, deadline.Observe(t.Context(), fleet.Inventory{Instances: listed}))
			d, err = deadline.Launch(t.Context(), fleet.Request{Key: "emergency", Count: 1, MaxPrice: 45 * fleet.Cent}, cloud.create)
			require.NoError(t, err)
			require.Equal(t, tt.settled, d.Reservations[0].State)
			st, err = deadline.Status(t.Context())
			require.NoError(t, err)
			require.Equal(t, 3+tt.machines, st.Instances)
			require.Len(t, cloud.machines(t), tt.machines, "never launched again")
		})
	}
}

// TestKilledAtRandomPoints kills a process that launches, 200 times, and checks
// that nobody is told anything else afterwards and no key launches twice.
func TestKilledAtRandomPoints(t *testing.T) {
	kills := 200
	if testing.Short() {
		kills = 20
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "fleet.db")
	cloud := vendor{filepath.Join(dir, "vendor")}
	answers := map[string]said{}
	seed := uint64(1)
	random := rand.New(rand.NewPCG(seed, seed))
	for kill := range kills {
		cmd := command(t, "anywhere", dir, max(0, len(answers)-3)) // the latest are asked again
		pipe, err := cmd.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		out := bufio.NewScanner(pipe)
		require.True(t, out.Scan(), "the child said nothing") // it is at work
		<-clock.Real{}.After(time.Duration(random.IntN(40_000)) * time.Microsecond)
		require.NoError(t, cmd.Process.Kill())
		for _, s := range lines(t, out) {
			if before, ok := answers[s.Key]; ok {
				require.Equal(t, fleet.Duplicate, s.Code, "kill %d: %s", kill, s.Key)
				require.Equal(t, before.IDs, s.IDs, "kill %d: %s", kill, s.Key)
				continue
			}
			answers[s.Key] = s
		}
		require.Error(t, cmd.Wait(), "killed")
		for id, times := range cloud.machines(t) {
			require.Equal(t, 1, times, "kill %d: %s was launched %d times", kill, id, times)
		}
	}
	require.Greater(t, len(answers), kills/8, "the children got somewhere")
	requireTruth(t, open(t, path), cloud, answers)
}

// requireTruth checks the ledger against the vendor and against what callers
// have been told.
func requireTruth(t *testing.T, ledger fleet.Ledger, cloud vendor, answers map[string]said) {
	t.Helper()
	machines := cloud.machines(t)
	known := map[fleet.ReservationID]bool{}
	require.NoError(t, ledger.Update(t.Context(), func(tx fleet.Tx) error {
		for id := range machines {
			r, ok, err := tx.Reservation(id)
			require.NoError(t, err)
			require.True(t, ok, "%s exists, and the ledger does not know it", id)
			require.NotEqual(t, fleet.StateRefused, r.State, "%s exists", id)
			known[id] = true
		}
		for key, s := range answers {
			require.Len(t, s.IDs, s.Granted, key)
			for _, id := range s.IDs {
				_, ok, err := tx.Reservation(id)
				require.NoError(t, err)
				require.True(t, ok, "%s was told and is not known", id)
			}
		}
		return nil
	}))
	require.Len(t, known, len(machines))
	g, err := fleet.New(fleet.Config{Caps: fleet.Caps{HourlyBudget: 1000 * fleet.Dollar, Instances: 400}, ResolveDeadline: time.Hour, Ledger: ledger})
	require.NoError(t, err)
	st, err := g.Status(t.Context())
	require.NoError(t, err)
	held, err := g.Reservations(t.Context())
	require.NoError(t, err)
	spend := fleet.Money(0)
	for _, r := range held {
		spend += r.Price
	}
	require.Len(t, held, st.Instances, "the running sum is that of the table")
	require.Equal(t, spend, st.Spend)
}
