package sqlledger_test

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdoff-go/holdoff/fleet"
	"github.com/holdoff-go/holdoff/fleet/sqlledger"
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
			out, err := command(t, tt.role, dir).CombinedOutput()
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

// TestKilledAtRandomPoints kills a process that launches, 200 times and through
// several emergencies, and checks that nobody is told anything else than by one that
// was never killed: not by the next process, and not by the file as it was left.
func TestKilledAtRandomPoints(t *testing.T) {
	kills := 200
	if testing.Short() {
		kills = 20
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "fleet.db")
	cloud := vendor{filepath.Join(dir, "vendor")}
	alive := newTwin(t)
	answers := map[string]said{}
	var granted []int // the steps that were, in order
	step := 0         // the next one
	emergency := 0    // how many kills were in one that had drawn on its allowance
	seed := uint64(1)
	random := rand.New(rand.NewPCG(seed, seed))
	for kill := range kills {
		cmd := command(t, "anywhere", dir, childFrom+"="+text(t, step), childAgain+"="+text(t, granted[max(0, len(granted)-3):]))
		var trouble strings.Builder
		cmd.Stderr = &trouble
		pipe, err := cmd.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		out := bufio.NewScanner(pipe)
		dying := false
		for s, ok := next(out); ok; s, ok = next(out) {
			where := fmt.Sprintf("kill %d, step %d", kill, s.Step)
			if s.Again {
				before := answers[s.Key]
				before.Again, before.Code, before.Standing = true, fleet.Duplicate, standing{}
				require.Equal(t, text(t, before), text(t, s), where)
				continue
			}
			require.Equal(t, step, s.Step, where)
			want := alive.at(t, step).after
			if s.Code == fleet.Duplicate && !dying { // it was granted as the process before died
				want.Code = fleet.Duplicate
			}
			require.Equal(t, text(t, want), text(t, s), where)
			if s.Granted > 0 {
				answers[s.Key], granted = s, append(granted, step)
			}
			step++
			if !dying { // it is at work
				dying = true
				<-clock.Real{}.After(time.Duration(random.IntN(40_000)) * time.Microsecond)
				require.NoError(t, cmd.Process.Kill())
			}
		}
		require.Error(t, cmd.Wait(), "killed")
		require.True(t, dying, "the child did nothing")
		require.Empty(t, trouble.String())

		if left := alive.requireLeft(t, path, step); len(left.Episodes) > 0 && left.Emergency && left.Episodes[0].Launches > 0 {
			emergency++
		}
		for id, times := range cloud.machines(t) {
			require.Equal(t, 1, times, "kill %d: %s was launched %d times", kill, id, times)
		}
	}
	require.Greater(t, len(answers), kills/16, "the children got somewhere")
	require.Greater(t, emergency, kills/16, "and died in emergencies")
	requireTruth(t, open(t, path), when(step), cloud, answers)
}

// requireLeft checks how the fleet stands in a file whose process died in a step,
// or before it: as it did, or as it would have.
func (w *twin) requireLeft(t *testing.T, path string, step int) standing {
	t.Helper()
	ledger, err := sqlledger.Open(t.Context(), path)
	require.NoError(t, err)
	defer func() { require.NoError(t, ledger.Close()) }()
	y, err := newDay(ledger, nil)
	require.NoError(t, err)
	y.clock.now = when(step)
	left, err := y.stand(t.Context())
	require.NoError(t, err)
	m := w.at(t, step)
	require.Contains(t, []string{text(t, m.before), text(t, m.after.Standing)}, text(t, left), "step %d", step)
	return left
}

// requireTruth checks the ledger against the vendor and against what callers
// have been told.
func requireTruth(t *testing.T, ledger fleet.Ledger, now time.Time, cloud vendor, answers map[string]said) {
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
	y, err := newDay(ledger, nil)
	require.NoError(t, err)
	y.clock.now = now
	st, err := y.guard.Status(t.Context())
	require.NoError(t, err)
	held, err := y.guard.Reservations(t.Context())
	require.NoError(t, err)
	spend := fleet.Money(0)
	for _, r := range held {
		spend += r.Price
	}
	require.Len(t, held, st.Instances, "the running sum is that of the table")
	require.Equal(t, spend, st.Spend)
}
