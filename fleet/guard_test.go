package fleet_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdoff-go/holdoff/fleet"
)

func TestLargestPrefixAndWhatStoppedTheRest(t *testing.T) {
	limit := func(n int, at time.Time) func(fleet.View, fleet.Request) fleet.Limit {
		return func(fleet.View, fleet.Request) fleet.Limit {
			return fleet.Limit{Allowed: n, RetryAt: at, Detail: "says the host"}
		}
	}
	tests := []struct {
		name    string
		change  func(*fleet.Config)
		target  int
		price   string
		ask     int
		code    fleet.Code
		granted int
		by      string
		retry   string
	}{
		{"all", nil, 0, "0.50", 3, fleet.Granted, 3, "", ""},
		{"the window", nil, 0, "0.50", 5, fleet.Partial, 3, "rate_window", "12:15:00"},
		{"the budget before the window", nil, 0, "4", 5, fleet.Partial, 2, "budget", ""},
		{"the budget alone", nil, 0, "11", 5, fleet.Budget, 0, "budget", ""},
		{"the count", func(c *fleet.Config) { c.Caps.Instances = 2 }, 0, "0.50", 5, fleet.Partial, 2, "count", ""},
		{"the need", nil, 2, "0.50", 5, fleet.Partial, 2, "need", ""},
		{"a cap of the host's", func(c *fleet.Config) {
			c.Constraints = []fleet.Constraint{{Name: "ceiling", Tier: fleet.TierCap, Check: limit(0, time.Time{})}}
		}, 0, "0.50", 5, fleet.ConstraintDenied, 0, "ceiling", ""},
		{"a cap of the host's that time cures", func(c *fleet.Config) {
			c.Constraints = []fleet.Constraint{{Name: "backoff", Tier: fleet.TierCap, Check: limit(0, at("12:20:00"))}}
		}, 0, "0.50", 5, fleet.ConstraintDenied, 0, "backoff", "12:20:00"},
		{"pacing of the host's", func(c *fleet.Config) {
			c.Constraints = []fleet.Constraint{{Name: "step", Tier: fleet.TierPacing, Check: limit(1, at("12:01:00"))}}
		}, 0, "0.50", 5, fleet.Partial, 1, "step", "12:01:00"},
		{"two at once: the later time", func(c *fleet.Config) {
			c.Constraints = []fleet.Constraint{{Name: "step", Tier: fleet.TierPacing, Check: limit(3, at("12:30:00"))}}
		}, 0, "0.50", 5, fleet.Partial, 3, "rate_window", "12:30:00"},
		{"a constraint that panics", func(c *fleet.Config) {
			c.Constraints = []fleet.Constraint{{Name: "mine", Tier: fleet.TierPacing, Check: func(fleet.View, fleet.Request) fleet.Limit { panic("boom") }}}
		}, 0, "0.50", 1, fleet.ConstraintDenied, 0, "mine", ""},
		{"a constraint with nonsense", func(c *fleet.Config) {
			c.Constraints = []fleet.Constraint{{Name: "mine", Tier: fleet.TierPacing, Check: limit(-7, at("11:00:00"))}}
		}, 0, "0.50", 1, fleet.ConstraintDenied, 0, "mine", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			change := tt.change
			if change == nil {
				change = func(*fleet.Config) {}
			}
			s := newStage(t, "12:00:00", change)
			s.signal(fleet.Demand{Running: 0, Target: tt.target})
			r := s.request(tt.ask, usd(tt.price))

			foretold, err := s.Explain(t.Context(), r)
			require.NoError(t, err)
			require.Zero(t, s.status().Instances, "Explain has no effect")
			d, err := s.Reserve(t.Context(), r)
			require.NoError(t, err)

			require.Equal(t, tt.code, d.Code, d)
			require.Equal(t, tt.granted, d.Granted)
			require.Equal(t, tt.by, d.StoppedBy)
			retry := time.Time{}
			if tt.retry != "" {
				retry = at(tt.retry)
			}
			require.Equal(t, retry, d.RetryAt)
			require.Len(t, d.Reservations, tt.granted)
			d.Reservations = nil
			require.Equal(t, foretold, d, "the same vector")
			for _, name := range []string{"request", "kill_switch", "ledger", "key", "inventory", "budget", "count", "need", "vendor_pacing", "rate_window"} {
				_, ok := d.Finding(name)
				require.True(t, ok, name)
			}
			_, ok := d.Finding("nobody")
			require.False(t, ok)
		})
	}
}

func TestNothingNeeded(t *testing.T) {
	s := newStage(t, "12:00:00")
	d := s.launch(2, usd("0.50"))
	for _, r := range d.Reservations {
		require.NoError(t, s.Settle(t.Context(), r.ID, fleet.Accepted(fleet.Instance{ID: r.Instance, State: fleet.StateRunning})))
	}
	s.signal(fleet.Demand{Running: 2, Target: 2})
	d = s.launch(1, usd("0.50"))
	require.Equal(t, fleet.NothingNeeded, d.Code)
	require.Equal(t, "denied by need: 2 needed, 2 running, 0 on their way (nothing_needed); left: $9.00/hr, 18 instances", d.String())
}

func TestBypassSkipsEveryPacingConstraintAndNoCap(t *testing.T) {
	deny := func(fleet.View, fleet.Request) fleet.Limit { return fleet.Limit{Detail: "no"} }
	claim := fleet.Request{Key: "k", MaxPrice: usd("0.50"), Emergency: true}
	for tier, want := range map[fleet.Tier]fleet.Code{fleet.TierPacing: fleet.Granted, fleet.TierCap: fleet.ConstraintDenied} {
		s := newStage(t, "12:00:00", func(c *fleet.Config) {
			c.Constraints = []fleet.Constraint{{Name: "mine", Tier: tier, Check: deny}}
		})
		d := s.reserve(claim)
		require.Equal(t, want, d.Code, d)
		if want == fleet.Granted {
			require.Equal(t, []string{"mine"}, d.Bypassed)
			require.Equal(t, []string{"mine"}, d.Reservations[0].Bypassed)
		}
	}
}

func TestConstraintsSeeTheView(t *testing.T) {
	var seen fleet.View
	s := newStage(t, "18:20:00", func(c *fleet.Config) {
		c.Constraints = []fleet.Constraint{{Name: "look", Tier: fleet.TierCap, Check: func(v fleet.View, r fleet.Request) fleet.Limit {
			seen = v
			require.Equal(t, usd("0.45"), r.MaxPrice)
			return fleet.Limit{Allowed: fleet.Unlimited}
		}}}
	})
	s.incident()
	s.launch(1, usd("0.45"))
	require.Equal(t, fleet.View{
		Now: at("18:30:11"), Demand: fleet.Demand{Pending: 59, Target: 10, At: at("18:29:40")}, Fresh: true,
		LastRunning: at("18:20:00"), LastLaunch: at("18:25:12"), Spend: usd("1.33"),
		Instances: 3, InFlight: 3, Covering: 3, Launches: 3, Episode: "e1",
	}, seen)
}

func TestDecisionsAreToldAndLogged(t *testing.T) {
	var told []fleet.Decision
	var out bytes.Buffer
	var s *stage
	s = newStage(t, "12:00:00", func(c *fleet.Config) {
		c.OnDecision = func(d fleet.Decision) {
			told = append(told, d)
			require.NotNil(t, must(s.Status(context.Background())), "no lock is held")
			require.Empty(t, s.cloud.calls, "before the vendor is called")
			panic("contained")
		}
		c.Logger = slog.New(slog.NewTextHandler(&out, nil))
	})
	d := s.launch(1, usd("0.50"))
	require.Len(t, told, 1)
	require.Equal(t, d.Code, told[0].Code)
	require.Contains(t, out.String(), "granted 1 of 1 at up to $0.50/hr")
	require.Contains(t, out.String(), "OnDecision panicked")
	_, err := s.Explain(t.Context(), s.request(1, usd("0.50")))
	require.NoError(t, err)
	_, err = s.Reserve(t.Context(), fleet.Request{Key: "k1", MaxPrice: usd("0.50")})
	require.NoError(t, err)
	require.Len(t, told, 1, "neither Explain nor a duplicate")
}

func TestBypassIsOnRecordBeforeTheLaunch(t *testing.T) {
	s := newStage(t, "18:20:00")
	s.incident()
	r := s.request(1, usd("0.45"))
	_, err := s.Launch(t.Context(), r, func(ctx context.Context, res fleet.Reservation) (fleet.Instance, error) {
		records, err := s.Decisions(ctx, 1)
		require.NoError(t, err)
		require.Equal(t, r.Key, records[0].Key)
		require.Equal(t, []string{"rate_window"}, records[0].Bypassed)
		require.Equal(t, "e1", records[0].Episode)
		require.Equal(t, 1, s.status().Episodes[0].Launches)
		return s.cloud.create(ctx, res)
	})
	require.NoError(t, err)
}

// flaky is a ledger that fails from its n-th transaction on.
type flaky struct {
	fleet.Ledger
	left int
}

func (f *flaky) Update(ctx context.Context, fn func(fleet.Tx) error) error {
	if f.left--; f.left < 0 {
		return errors.New("disk I/O error")
	}
	return f.Ledger.Update(ctx, fn)
}

func TestLedgerThatFailsAfterTheVendorCall(t *testing.T) {
	memory := fleet.NewMemory()
	s := newStage(t, "12:00:00", func(c *fleet.Config) { c.Ledger = &flaky{memory, 1} })

	d, err := s.Launch(t.Context(), s.request(3, usd("0.50")), s.cloud.create)

	require.ErrorIs(t, err, fleet.ErrLedger)
	require.ErrorContains(t, err, "instance i-1 is not written down")
	require.Equal(t, 3, d.Granted)
	require.Len(t, s.cloud.calls, 1, "what cannot be written down is not launched")
	again := newStage(t, "12:01:00", func(c *fleet.Config) { c.Ledger = memory })
	require.Equal(t, 3, again.status().Instances, "held until a listing or the deadline tells")
	again.observe(s.cloud.listing(fleet.StateLoading)...)
	require.Equal(t, map[fleet.State]int{fleet.StateLoading: 1, fleet.StateAttempting: 2}, again.status().States)
}

func TestMemoryTakesBackWhatPanicked(t *testing.T) {
	memory := fleet.NewMemory()
	require.Panics(t, func() {
		_ = memory.Update(t.Context(), func(tx fleet.Tx) error {
			require.NoError(t, tx.Put(fleet.Reservation{ID: "x", State: fleet.StateRunning}))
			panic("boom")
		})
	})
	s := newStage(t, "12:00:00", func(c *fleet.Config) { c.Ledger = memory })
	require.Zero(t, s.status().Instances)
}

func TestStateThatCannotBeRead(t *testing.T) {
	memory := fleet.NewMemory()
	require.NoError(t, memory.Update(t.Context(), func(tx fleet.Tx) error { return tx.SetControl([]byte("{")) }))
	s := newStage(t, "12:00:00", func(c *fleet.Config) { c.Ledger = memory })
	d, err := s.Launch(t.Context(), s.request(1, usd("0.50")), s.cloud.create)
	require.NoError(t, err)
	require.Equal(t, fleet.LedgerUnavailable, d.Code)
	require.Contains(t, d.String(), "the guard's state in the ledger cannot be read")
	require.Empty(t, s.cloud.calls)
}

func TestZeroDecisionGrantsNothing(t *testing.T) {
	require.Equal(t, "no decision", fleet.Decision{}.String())
	require.Zero(t, fleet.Decision{}.Granted)
}

func TestTierText(t *testing.T) {
	for _, tier := range []fleet.Tier{fleet.TierIntegrity, fleet.TierCap, fleet.TierVendor, fleet.TierPacing} {
		text, err := tier.MarshalText()
		require.NoError(t, err)
		var back fleet.Tier
		require.NoError(t, back.UnmarshalText(text))
		require.Equal(t, tier, back)
	}
	require.ErrorContains(t, new(fleet.Tier).UnmarshalText([]byte("x")), `no such tier: "x"`)
	require.Equal(t, "tier(9)", fleet.Tier(9).String())
}
