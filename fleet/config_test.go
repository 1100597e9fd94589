package fleet_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdoff-go/holdoff/fleet"
)

func TestNewNamesFieldAndValue(t *testing.T) {
	allow := func(fleet.View, fleet.Request) fleet.Limit { return fleet.Limit{Allowed: fleet.Unlimited} }
	tests := []struct {
		change func(*fleet.Config)
		want   string
	}{
		{func(c *fleet.Config) { c.Caps.HourlyBudget = 0 }, "fleet: Config.Caps.HourlyBudget is $0.00"},
		{func(c *fleet.Config) { c.Caps.HourlyBudget = -fleet.Dollar }, "Config.Caps.HourlyBudget is -$1.00"},
		{func(c *fleet.Config) { c.Caps.Instances = 0 }, "Config.Caps.Instances is 0"},
		{func(c *fleet.Config) { c.Window.Launches = -1 }, "Config.Window.Launches is -1"},
		{func(c *fleet.Config) { c.Window.Per = -time.Second }, "Config.Window.Per is -1s"},
		{func(c *fleet.Config) { c.Window.Per = 0 }, "they are 3 and 0s"},
		{func(c *fleet.Config) { c.Window.Launches = 0 }, "they are 0 and 15m0s"},
		{func(c *fleet.Config) { c.BootDeadline = -1 }, "Config.BootDeadline is -1ns"},
		{func(c *fleet.Config) { c.ResolveDeadline = -1 }, "Config.ResolveDeadline is -1ns"},
		{func(c *fleet.Config) { c.MaxSignalAge = -1 }, "Config.MaxSignalAge is -1ns"},
		{func(c *fleet.Config) { c.Confirm.Samples = -1 }, "Config.Confirm.Samples is -1"},
		{func(c *fleet.Config) { c.Rules = []fleet.Rule{nil} }, "Config.Rules[0] is nil"},
		{func(c *fleet.Config) { c.Rules = []fleet.Rule{fleet.NewRule("", nil)} }, "Config.Rules[0]: Name is empty"},
		{func(c *fleet.Config) { c.Rules = []fleet.Rule{fleet.NewRule("x", nil)} }, `Config.Rules[0]: "x" has no function`},
		{func(c *fleet.Config) { c.Rules = []fleet.Rule{fleet.HostClaim{}, fleet.HostClaim{}} }, `Config.Rules[1]: Name is "host_claim"`},
		{func(c *fleet.Config) { c.Rules = []fleet.Rule{fleet.WorkersDead{Pending: -1}} }, "WorkersDead.Pending is -1"},
		{func(c *fleet.Config) { c.Rules = []fleet.Rule{fleet.WorkersDead{LookBack: -1}} }, "WorkersDead.LookBack is -1ns"},
		{func(c *fleet.Config) { c.Constraints = []fleet.Constraint{{Tier: fleet.TierCap, Check: allow}} }, "Config.Constraints[0]: Name is empty"},
		{func(c *fleet.Config) {
			c.Constraints = []fleet.Constraint{{Name: "budget", Tier: fleet.TierCap, Check: allow}}
		}, `Name is "budget", which is one of the guard's own`},
		{func(c *fleet.Config) {
			c.Constraints = []fleet.Constraint{{Name: "a", Tier: fleet.TierCap, Check: allow}, {Name: "a", Tier: fleet.TierCap, Check: allow}}
		}, `Config.Constraints[1]: Name is "a"`},
		{func(c *fleet.Config) { c.Constraints = []fleet.Constraint{{Name: "a", Check: allow}} }, `Tier of "a" is integrity`},
		{func(c *fleet.Config) { c.Constraints = []fleet.Constraint{{Name: "a", Tier: fleet.TierCap}} }, `Check of "a" is nil`},
	}
	for _, tt := range tests {
		t.Run(tt.want, func(t *testing.T) {
			cfg := base(&manual{now: at("12:00:00")})
			tt.change(&cfg)
			g, err := fleet.New(cfg)
			require.Nil(t, g)
			require.ErrorContains(t, err, tt.want)
		})
	}
}

func TestZeroConfigIsTheDocumentedDefault(t *testing.T) {
	s := newStage(t, "18:20:00", func(c *fleet.Config) { c.Window = fleet.Window{} })
	require.Equal(t, 20, s.launch(20, usd("0.50")).Granted, "no window")
	require.Equal(t, -1, s.reserve(s.request(1, usd("0.1"))).Headroom.Launches)
}

func TestInvalidRequestsAreDenied(t *testing.T) {
	long := make([]byte, 513)
	tests := map[string]fleet.Request{
		"Key is empty":                   {Count: 1, MaxPrice: fleet.Dollar},
		"Key has 513 bytes":              {Key: string(long), Count: 1, MaxPrice: fleet.Dollar},
		"Count is -1":                    {Key: "k", Count: -1, MaxPrice: fleet.Dollar},
		"Count is 2097152":               {Key: "k", Count: 1 << 21, MaxPrice: fleet.Dollar},
		"MaxPrice is $0.00":              {Key: "k", Count: 1},
		"MaxPrice is -$1.00: a price is": {Key: "k", Count: 1, MaxPrice: -fleet.Dollar},
	}
	for want, r := range tests {
		t.Run(want, func(t *testing.T) {
			s := newStage(t, "12:00:00")
			d, err := s.Launch(t.Context(), r, s.cloud.create)
			require.NoError(t, err)
			require.Equal(t, fleet.Invalid, d.Code)
			require.Zero(t, d.Granted)
			require.Contains(t, d.String(), want)
			require.Empty(t, s.cloud.calls)
		})
	}
	s := newStage(t, "12:00:00")
	_, err := s.Launch(t.Context(), s.request(1, fleet.Dollar), nil)
	require.ErrorContains(t, err, "needs a start function")
	require.Equal(t, 1, s.launch(0, fleet.Dollar).Granted, "a count of zero is one")
}

func TestUnsoundRequestsLeaveTheKeyAlone(t *testing.T) {
	s := newStage(t, "12:00:00")
	good := fleet.Request{Key: "k", Count: 2, MaxPrice: usd("0.44")}
	first := s.reserve(good)
	for _, bad := range []fleet.Request{
		{Key: "k", Count: -1, MaxPrice: usd("0.44")}, {Key: "k", Count: 2}, {Key: "k", Count: math.MaxInt, MaxPrice: usd("0.44"), Emergency: true},
	} {
		d := s.reserve(bad)
		require.Equal(t, fleet.Invalid, d.Code)
		require.Zero(t, d.Granted)
	}
	d := s.reserve(good)
	require.Equal(t, fleet.Duplicate, d.Code, d)
	require.Equal(t, first.Reservations, d.Reservations)

	d = s.reserve(fleet.Request{Key: strings.Repeat("k", 1<<20), MaxPrice: 1})
	require.Equal(t, fleet.Invalid, d.Code)
	require.Less(t, len(d.Key), 64, "the record is bounded")
}

func TestWrongSignalsAreErrors(t *testing.T) {
	s := newStage(t, "12:00:00")
	require.ErrorContains(t, s.Signal(t.Context(), fleet.Demand{Pending: -1}), "Demand.Pending is -1")
	require.ErrorContains(t, s.Signal(t.Context(), fleet.Demand{Running: -1}), "Demand.Running is -1")
	require.ErrorContains(t, s.Signal(t.Context(), fleet.Demand{Target: -1}), "Demand.Target is -1")
	for want, i := range map[string]fleet.Instance{
		"an instance has no ID":  {},
		"Price is -$1.00":        {ID: "i", Price: -fleet.Dollar},
		"more than $1000000.00":  {ID: "i", Price: 1 << 62},
		`State is "gone", not`:   {ID: "i", State: fleet.StateGone},
		`State is "attempting",`: {ID: "i", State: fleet.StateAttempting},
	} {
		require.ErrorContains(t, s.Observe(t.Context(), fleet.Inventory{Instances: []fleet.Instance{i}}), want)
		require.ErrorContains(t, s.Settle(t.Context(), "x", fleet.Accepted(i)), want)
	}
}
