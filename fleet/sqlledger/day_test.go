package sqlledger_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdoff-go/holdoff/fleet"
)

// A day is a fleet's life in steps of 20 s, the same whoever lives it: two steps of
// three ask for launches, the third brings a sample. Every 20 minutes all workers
// are dead for ten. A step changes what a standing shows in one transaction, or not
// at all.
type day struct {
	guard *fleet.Guard
	clock *steps
	start fleet.Start
}

func newDay(ledger fleet.Ledger, start fleet.Start) (*day, error) {
	clock := &steps{when(0)}
	cfg := base(ledger, clock)
	cfg.Caps = fleet.Caps{HourlyBudget: 100_000 * fleet.Dollar, Instances: 100_000}
	cfg.Allowance.Refill = 3 * time.Minute
	// Nothing of what a kill leaves open is given up meanwhile.
	cfg.ResolveDeadline, cfg.BootDeadline = 1<<60, 1<<60
	g, err := fleet.New(cfg)
	return &day{guard: g, clock: clock, start: start}, err
}

func when(step int) time.Time { return at("00:00:00").Add(time.Duration(step) * 20 * time.Second) }

func key(step int) string { return fmt.Sprintf("key %d", step) }

// said is what is told of one step, and how the fleet stands after it.
type said struct {
	Step     int
	Key      string // none when the step brought a sample
	Again    bool   // an old key, asked for once more
	Code     fleet.Code
	Granted  int
	IDs      []fleet.ReservationID
	RetryAt  time.Time
	Bypassed []string
	Episode  string
	Standing standing
}

// standing is what must not change by a restart.
type standing struct {
	Launches      int
	WindowOpens   time.Time
	Emergency     bool
	Evidence      string
	Episodes      []fleet.Episode
	AllowanceLeft int
	AllowanceAt   time.Time
}

// step lives one. Whoever calls it tells of it, and then calls end.
func (y *day) step(ctx context.Context, n int) (said, fleet.Decision, error) {
	y.clock.now = when(n)
	s := said{Step: n}
	var d fleet.Decision
	var err error
	if n%3 == 0 {
		err = y.guard.Signal(ctx, sample(n/3%20))
	} else {
		d, err = y.ask(ctx, n)
		s.told(n, d)
	}
	if err == nil {
		s.Standing, err = y.stand(ctx)
	}
	return s, d, err
}

func sample(minute int) fleet.Demand {
	if minute < 2 || minute >= 12 {
		return fleet.Demand{Pending: 5, Running: 10}
	}
	return fleet.Demand{Pending: 59}
}

// ask asks for the launches of a step, at whatever time it is.
func (y *day) ask(ctx context.Context, n int) (fleet.Decision, error) {
	return y.guard.Launch(ctx, fleet.Request{Key: key(n), Count: 1 + n%3, MaxPrice: 45 * fleet.Cent}, y.start)
}

func (s *said) told(n int, d fleet.Decision) {
	s.Key, s.Code, s.Granted = key(n), d.Code, d.Granted
	s.RetryAt, s.Bypassed, s.Episode = d.RetryAt, d.Bypassed, d.Episode
	for _, r := range d.Reservations {
		s.IDs = append(s.IDs, r.ID)
	}
}

// end ends most of the machines of a step.
func (y *day) end(ctx context.Context, n int, d fleet.Decision) error {
	if n%8 == 0 {
		return nil
	}
	for _, r := range d.Reservations {
		if r.State != fleet.StateLoading {
			continue
		}
		if err := y.guard.Settle(ctx, r.ID, fleet.Ended()); err != nil {
			return err
		}
	}
	return nil
}

// stand is how the fleet stands now.
func (y *day) stand(ctx context.Context) (standing, error) {
	st, err := y.guard.Status(ctx)
	return standing{
		Launches: st.Launches, WindowOpens: st.WindowOpens, Emergency: st.Emergency, Evidence: st.Evidence,
		Episodes: st.Episodes[:min(3, len(st.Episodes))], AllowanceLeft: st.AllowanceLeft, AllowanceAt: st.AllowanceAt,
	}, err
}

// A twin lives the same day in memory and is never killed.
type twin struct {
	day   *day
	lived []moment
}

type moment struct {
	before standing // the step's time has come, and nothing happened yet
	after  said
}

func newTwin(t *testing.T) *twin {
	t.Helper()
	y, err := newDay(fleet.NewMemory(), func(_ context.Context, r fleet.Reservation) (fleet.Instance, error) {
		return fleet.Instance{ID: "i-" + string(r.ID), Tag: r.ID}, nil
	})
	require.NoError(t, err)
	return &twin{day: y}
}

// at returns step n of its day.
func (w *twin) at(t *testing.T, n int) moment {
	t.Helper()
	for i := len(w.lived); i <= n; i++ {
		w.day.clock.now = when(i)
		before, err := w.day.stand(t.Context())
		require.NoError(t, err)
		after, d, err := w.day.step(t.Context(), i)
		require.NoError(t, err)
		require.NoError(t, w.day.end(t.Context(), i, d))
		w.lived = append(w.lived, moment{before, after})
	}
	return w.lived[n]
}

// text is a value as a child prints it: instants and empty lists compare.
func text(t *testing.T, v any) string {
	t.Helper()
	data, err := json.MarshalIndent(v, "", " ")
	require.NoError(t, err)
	return string(data)
}
