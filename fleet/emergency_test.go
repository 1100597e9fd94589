package fleet_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdoff-go/holdoff/fleet"
	"github.com/holdoff-go/holdoff/retry"
)

func TestWorkersDead(t *testing.T) {
	now := at("18:30:00")
	tests := []struct {
		name string
		rule fleet.WorkersDead
		view fleet.View
		want fleet.Activity
	}{
		{"the fleet stands still", fleet.WorkersDead{}, fleet.View{Demand: fleet.Demand{Pending: 1}, LastRunning: at("18:20:00")}, fleet.Active},
		{"one runs", fleet.WorkersDead{}, fleet.View{Demand: fleet.Demand{Pending: 59, Running: 1}, LastRunning: now}, fleet.Inactive},
		{"nothing pending", fleet.WorkersDead{}, fleet.View{LastRunning: at("18:20:00")}, fleet.Inactive},
		{"too little pending", fleet.WorkersDead{Pending: 10}, fleet.View{Demand: fleet.Demand{Pending: 9}, LastRunning: at("18:20:00")}, fleet.Inactive},
		{"never ran", fleet.WorkersDead{}, fleet.View{Demand: fleet.Demand{Pending: 59}}, fleet.Inactive},
		{"ran too long ago", fleet.WorkersDead{LookBack: time.Hour}, fleet.View{Demand: fleet.Demand{Pending: 59}, LastRunning: at("17:29:59")}, fleet.Inactive},
		{"at the edge of the look-back", fleet.WorkersDead{LookBack: time.Hour}, fleet.View{Demand: fleet.Demand{Pending: 59}, LastRunning: at("17:30:00")}, fleet.Active},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.view.Now = now
			got := tt.rule.Assess(tt.view)
			require.Equal(t, tt.want, got.Activity, got.Evidence)
			require.NotEmpty(t, got.Evidence)
		})
	}
	require.Equal(t, "workers_dead", fleet.WorkersDead{}.Name())
	require.Equal(t, fleet.Inactive, fleet.HostClaim{}.Assess(fleet.View{}).Activity)
}

// sample is a demand and the time it was read.
type dated struct {
	at               string
	pending, running int
}

func TestConfirmationAndHysteresis(t *testing.T) {
	tests := []struct {
		name    string
		samples []dated
		want    bool
	}{
		{"one sample", []dated{{"18:01:00", 59, 0}}, false},
		{"two samples within the minute", []dated{{"18:01:00", 59, 0}, {"18:01:59", 59, 0}}, false},
		{"a minute", []dated{{"18:01:00", 59, 0}, {"18:02:00", 59, 0}}, true},
		{"interrupted", []dated{{"18:01:00", 59, 0}, {"18:01:30", 59, 1}, {"18:02:10", 59, 0}}, false},
		{"a gap that nobody saw", []dated{{"18:01:00", 59, 0}, {"18:08:00", 59, 0}}, false},
		{"ticks of five minutes", []dated{{"18:01:00", 59, 0}, {"18:06:00", 59, 0}}, true},
		{"one worker for less than a minute", []dated{{"18:01:00", 59, 0}, {"18:02:00", 59, 0}, {"18:03:00", 59, 1}, {"18:03:59", 59, 1}}, true},
		{"a worker that falls over again", []dated{{"18:01:00", 59, 0}, {"18:02:00", 59, 0}, {"18:03:00", 59, 1}, {"18:03:30", 59, 0}, {"18:04:00", 59, 1}}, true},
		{"a worker for a minute", []dated{{"18:01:00", 59, 0}, {"18:02:00", 59, 0}, {"18:03:00", 59, 1}, {"18:04:00", 59, 1}}, false},
		{"nothing pending for a minute", []dated{{"18:01:00", 59, 0}, {"18:02:00", 59, 0}, {"18:03:00", 0, 0}, {"18:04:00", 0, 0}}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newStage(t, "18:00:00")
			s.signal(fleet.Demand{Running: 10})
			for _, d := range tt.samples {
				s.clock.Set(at(d.at))
				s.signal(fleet.Demand{Pending: d.pending, Running: d.running})
			}
			st := s.status()
			require.Equal(t, tt.want, st.Emergency, st.Evidence)
		})
	}
}

func TestSamplesOutOfOrder(t *testing.T) {
	s := newStage(t, "18:00:00")
	s.signal(fleet.Demand{Running: 10})
	s.dead("18:01:00")
	s.clock.Set(at("18:02:00"))
	s.signal(fleet.Demand{Pending: 59, Target: 10, At: at("18:00:30")})
	require.False(t, s.status().Emergency, "older than the latest: passed over")
	s.signal(fleet.Demand{Pending: 59, Target: 10, At: at("18:01:00")})
	require.False(t, s.status().Emergency, "the same sample twice is one")
	s.signal(fleet.Demand{Pending: 59, Target: 10, At: at("19:00:00")})
	st := s.status()
	require.Equal(t, at("18:02:00"), st.Demand.At, "nothing is read in the future")
	require.True(t, st.Emergency)
	s.clock.Set(at("18:10:00"))
	s.signal(fleet.Demand{Running: 10, At: at("18:03:59")})
	st = s.status()
	require.Equal(t, fleet.Unknown, st.Rules[0].Activity, "too old to tell anything")
	require.True(t, st.Rules[0].Confirmed)
}

func TestEpisodeIsOnRecord(t *testing.T) {
	s := newStage(t, "18:00:00")
	s.signal(fleet.Demand{Running: 10, Target: 20})
	s.clock.Set(at("18:01:00"))
	s.signal(fleet.Demand{Pending: 59, Target: 20})
	s.clock.Set(at("18:02:00"))
	s.signal(fleet.Demand{Pending: 59, Target: 20})
	s.launch(5, usd("0.44"))
	st := s.status()
	require.Equal(t, 2, st.AllowanceLeft, "three went through the window")
	require.Equal(t, "emergency e1 lasts", st.HoldScaleDown)
	require.Equal(t, []fleet.Episode{{
		ID: "e1", Rule: "workers_dead", Start: at("18:02:00"), Launches: 2,
		Evidence: "59 pending, none running since after 18:00:00",
	}}, st.Episodes)

	for _, clock := range []string{"18:03:00", "18:04:00"} {
		s.clock.Set(at(clock))
		s.signal(fleet.Demand{Pending: 59, Running: 1, Target: 20})
	}
	st = s.status()
	require.False(t, st.Emergency)
	require.Equal(t, at("18:04:00"), st.Episodes[0].End)
	require.Equal(t, "1 running", st.Episodes[0].EndReason)
	require.Equal(t, "emergency e1 ended at 18:04:00", st.HoldScaleDown)
	require.Equal(t, fleet.RateWindow, s.launch(1, usd("0.44")).Code, "after the episode normal launches wait")
	s.clock.Set(at("18:05:00"))
	require.Empty(t, s.status().HoldScaleDown)
}

func TestEpisodeOutlivesTheGuard(t *testing.T) {
	ledger := fleet.NewMemory()
	use := func(c *fleet.Config) { c.Ledger = ledger }
	s := newStage(t, "18:20:00", use)
	s.incident()
	s.launch(4, usd("0.45"))

	again := newStage(t, "18:30:12", use)
	again.keys = 100

	d := again.launch(1, usd("0.45"))
	require.Equal(t, fleet.AllowanceSpent, d.Code, "a restart does not grant the allowance again")
	require.True(t, d.Established)
	t.Run("until its rule is no longer registered", func(t *testing.T) {
		other := newStage(t, "18:30:13", use, func(c *fleet.Config) { c.Rules = []fleet.Rule{} })
		other.keys = 200
		require.Equal(t, fleet.RateWindow, other.launch(1, usd("0.45")).Code)
		st := other.status()
		require.Equal(t, "rule workers_dead is no longer registered", st.Episodes[0].EndReason)
	})
}

// TestTwoRuleSetsOnOneLedger has a guard without the rule take turns with one that
// has it.
func TestTwoRuleSetsOnOneLedger(t *testing.T) {
	ledger := fleet.NewMemory()
	use := func(c *fleet.Config) {
		c.Ledger = ledger
		c.Caps.Instances = 100
		c.Caps.HourlyBudget = 100 * fleet.Dollar
	}
	s := newStage(t, "18:20:00", use)
	s.signal(fleet.Demand{Pending: 5, Running: 10})
	s.dead("18:28:40")
	s.dead("18:29:40")
	other := newStage(t, "18:29:40", use, func(c *fleet.Config) { c.Rules = []fleet.Rule{} })
	other.keys = 100
	granted := 0
	for range 5 {
		d, err := s.Launch(t.Context(), s.request(8, usd("0.45")), s.cloud.create)
		require.NoError(t, err)
		granted += d.Granted
		other.launch(1, usd("0.45"))
	}
	require.Equal(t, 3+4, granted, "the window and one allowance")
	require.Len(t, s.status().Episodes, 1)

	t.Run("and the next emergency is another", func(t *testing.T) {
		for _, clock := range []string{"18:31:00", "18:32:00"} { // over, while nobody has the rule open
			s.clock.Set(at(clock))
			s.signal(fleet.Demand{Running: 10})
		}
		s.dead("18:33:00")
		s.dead("18:34:00")
		require.Equal(t, "e2", s.status().Episodes[0].ID)
		require.Equal(t, 4, s.status().AllowanceLeft)
	})
}

func TestRefusedLaunchesGiveTheAllowanceBack(t *testing.T) {
	s := newStage(t, "18:20:00")
	s.incident()
	s.cloud.fail = func(int, fleet.Reservation) error { return answer(422, "") }
	_, err := s.Launch(t.Context(), s.request(3, usd("0.45")), s.cloud.create)
	require.ErrorIs(t, err, retry.Fatal)
	require.Zero(t, s.status().Episodes[0].Launches)
	s.cloud.fail = nil
	require.Equal(t, 4, s.launch(4, usd("0.45")).Granted)
	require.Equal(t, 4, s.status().Episodes[0].Launches)

	require.NoError(t, s.Override(t.Context(), fleet.Override{Actor: "ann", Reason: "a show", Until: at("19:00:00"), Count: 2}))
	s.cloud.fail = func(int, fleet.Reservation) error { return answer(422, "") }
	_, err = s.Launch(t.Context(), s.request(2, usd("0.45")), s.cloud.create)
	require.ErrorIs(t, err, retry.Fatal)
	require.Equal(t, 4, s.status().Episodes[0].Launches, "those were the operator's")
}

func TestAllowance(t *testing.T) {
	emergency := func(t *testing.T, a fleet.Allowance) *stage {
		s := newStage(t, "18:00:00", func(c *fleet.Config) {
			c.Allowance = a
			c.Window = fleet.Window{Launches: 1, Per: 24 * time.Hour}
		})
		s.signal(fleet.Demand{Running: 10, Target: 12})
		s.launch(1, usd("0.10"))
		s.clock.Set(at("18:01:00"))
		s.signal(fleet.Demand{Pending: 59, Target: 12})
		s.clock.Set(at("18:02:00"))
		s.signal(fleet.Demand{Pending: 59, Target: 12})
		return s
	}
	later := func(s *stage, clock string) {
		s.clock.Set(at(clock))
		s.signal(fleet.Demand{Pending: 59, Target: 12})
	}
	t.Run("four, then one per quarter of an hour that does not add up", func(t *testing.T) {
		s := emergency(t, fleet.Allowance{})
		require.Equal(t, 4, s.launch(9, usd("0.10")).Granted)
		later(s, "19:02:00")
		require.Equal(t, 1, s.launch(9, usd("0.10")).Granted)
		require.Zero(t, s.launch(9, usd("0.10")).Granted)
		require.Equal(t, at("19:17:00"), s.status().AllowanceAt)
		later(s, "19:17:00")
		require.Equal(t, 1, s.launch(9, usd("0.10")).Granted)
	})
	t.Run("no refill once one is up", func(t *testing.T) {
		s := emergency(t, fleet.Allowance{Burst: 1, Refill: time.Minute})
		d := s.launch(1, usd("0.10"))
		i := fleet.Instance{ID: d.Reservations[0].Instance, State: fleet.StateRunning}
		require.NoError(t, s.Settle(t.Context(), d.Reservations[0].ID, fleet.Accepted(i)))
		later(s, "18:05:00")
		d = s.launch(1, usd("0.10"))
		require.Equal(t, fleet.AllowanceSpent, d.Code, d)
		require.Equal(t, at("18:02:00").Add(24*time.Hour), d.RetryAt, "the window alone, which the launch of 18:02 fills")
	})
	t.Run("negative is bounded by need and caps alone", func(t *testing.T) {
		s := emergency(t, fleet.Allowance{Burst: -1})
		d := s.launch(20, usd("0.10"))
		require.Equal(t, 11, d.Granted, d)
		require.Equal(t, "need", d.StoppedBy)
		require.Equal(t, fleet.CoveredByInFlight, s.launch(1, usd("0.10")).Code)
	})
	t.Run("no refill at all", func(t *testing.T) {
		s := emergency(t, fleet.Allowance{Burst: 2, Refill: -1})
		require.Equal(t, 2, s.launch(9, usd("0.10")).Granted)
		later(s, "20:00:00")
		require.Zero(t, s.launch(9, usd("0.10")).Granted)
	})
	t.Run("the host's claim has its own bounds", func(t *testing.T) {
		s := emergency(t, fleet.Allowance{Burst: 2})
		r := s.request(20, usd("0.10"))
		r.Emergency = true
		d := s.reserve(r)
		require.Equal(t, 11, d.Granted, d)
		require.Equal(t, "e1", d.Episode)
		require.Equal(t, 11, s.status().Episodes[0].Launches)
	})
}

func TestHostClaim(t *testing.T) {
	claim := func(s *stage, n int) fleet.Decision {
		r := s.request(n, usd("0.10"))
		r.Emergency = true
		r.Reason = "the canary died"
		return s.reserve(r)
	}
	t.Run("without signals it is an episode of its one request", func(t *testing.T) {
		s := newStage(t, "18:00:00")
		s.launch(3, usd("0.10"))
		d := claim(s, 30)
		require.Equal(t, 17, d.Granted, "the caps alone")
		require.True(t, d.Claimed)
		require.True(t, d.Established)
		require.Equal(t, []string{"rate_window"}, d.Bypassed)
		e := s.status().Episodes[0]
		require.Equal(t, "host_claim", e.Rule)
		require.Equal(t, "the canary died", e.Evidence)
		require.Equal(t, 17, e.Launches)
		require.Equal(t, e.Start, e.End)
	})
	t.Run("it is not needed and opens nothing while the window has room", func(t *testing.T) {
		s := newStage(t, "18:00:00")
		d := claim(s, 3)
		require.Equal(t, 3, d.Granted)
		require.Empty(t, d.Bypassed)
		require.Empty(t, s.status().Episodes)
	})
	t.Run("left out of the rules it is a word on record", func(t *testing.T) {
		s := newStage(t, "18:00:00", func(c *fleet.Config) { c.Rules = []fleet.Rule{fleet.WorkersDead{}} })
		s.launch(3, usd("0.10"))
		d := claim(s, 1)
		require.Equal(t, fleet.RateWindow, d.Code)
		require.True(t, d.Claimed)
		require.False(t, d.Established)
	})
	t.Run("the next request has nothing of it", func(t *testing.T) {
		s := newStage(t, "18:00:00")
		s.launch(3, usd("0.10"))
		claim(s, 1)
		require.Equal(t, fleet.RateWindow, s.launch(1, usd("0.10")).Code)
	})
}

func TestHostsRules(t *testing.T) {
	with := func(assess func(fleet.View) fleet.Assessment) *stage {
		s := newStage(t, "18:00:00", func(c *fleet.Config) {
			c.Rules = []fleet.Rule{fleet.NewRule("mine", assess)}
			c.Confirm = fleet.Confirm{For: -1, Samples: 1, Hold: -1}
		})
		s.signal(fleet.Demand{Pending: 1})
		return s
	}
	t.Run("active at once", func(t *testing.T) {
		s := with(func(v fleet.View) fleet.Assessment {
			return fleet.Assessment{Activity: fleet.Active, Evidence: "because"}
		})
		require.True(t, s.status().Emergency)
		require.Equal(t, "mine: because", s.status().Evidence)
	})
	t.Run("the zero value is inactive", func(t *testing.T) {
		s := with(func(fleet.View) fleet.Assessment { return fleet.Assessment{} })
		require.Equal(t, fleet.Inactive, s.status().Rules[0].Activity)
	})
	t.Run("a panic is unknown", func(t *testing.T) {
		s := with(func(fleet.View) fleet.Assessment { panic("boom") })
		require.Equal(t, fleet.Unknown, s.status().Rules[0].Activity)
		require.Contains(t, s.status().Rules[0].Evidence, "boom")
	})
	t.Run("nonsense is unknown", func(t *testing.T) {
		s := with(func(fleet.View) fleet.Assessment { return fleet.Assessment{Activity: "maybe"} })
		require.Equal(t, fleet.Unknown, s.status().Rules[0].Activity)
	})
}

func TestOverride(t *testing.T) {
	leave := func(n int) fleet.Override {
		return fleet.Override{Actor: "ada", Reason: "launch day", Until: at("13:00:00"), Count: n}
	}
	t.Run("goes past pacing, for so many and so long", func(t *testing.T) {
		s := newStage(t, "12:00:00")
		s.launch(3, usd("0.10"))
		require.NoError(t, s.Override(t.Context(), leave(2)))
		d := s.launch(1, usd("0.10"))
		require.Equal(t, []string{"ada (launch day)"}, d.Overrides)
		require.Equal(t, "granted 1 of 1 at up to $0.10/hr, past rate_window by leave of ada (launch day); left: $9.60/hr, 16 instances", d.String())
		require.False(t, d.Established)
		require.Equal(t, 1, s.status().Overrides[0].Count)
		require.Equal(t, 1, s.launch(2, usd("0.10")).Granted)
		require.Empty(t, s.status().Overrides)

		require.NoError(t, s.Override(t.Context(), leave(2)))
		s.clock.Set(at("13:00:00"))
		s.launch(3, usd("0.10"))
		require.Equal(t, fleet.RateWindow, s.launch(1, usd("0.10")).Code)
	})
	t.Run("relaxes nothing else", func(t *testing.T) {
		s := newStage(t, "12:00:00")
		require.NoError(t, s.Override(t.Context(), leave(100)))
		require.Equal(t, 20, s.launch(100, usd("0.10")).Granted)
		require.NoError(t, s.Kill(t.Context(), "stop"))
		require.Equal(t, fleet.Killed, s.launch(1, usd("0.10")).Code)
	})
	t.Run("comes after the allowance, and the one that ends first before the others", func(t *testing.T) {
		s := newStage(t, "18:20:00")
		s.incident()
		late, soon := leave(5), leave(1)
		late.Actor, late.Until = "bob", at("23:00:00")
		soon.Until = at("19:00:00")
		require.NoError(t, s.Override(t.Context(), late))
		require.NoError(t, s.Override(t.Context(), soon))
		d := s.launch(6, usd("0.45"))
		require.Equal(t, 6, d.Granted)
		require.Equal(t, []string{"ada (launch day)", "bob (launch day)"}, d.Overrides)
		require.Contains(t, d.String(), "none running since after 18:20:00) and by leave of ada (launch day) and bob (launch day)")
	})
	t.Run("has who, why, until and how many", func(t *testing.T) {
		s := newStage(t, "12:00:00")
		for want, o := range map[string]fleet.Override{
			"Override.Actor is empty":                               {Reason: "r", Until: at("13:00:00"), Count: 1},
			"Override.Reason is empty":                              {Actor: "a", Until: at("13:00:00"), Count: 1},
			"Override.Count is 0":                                   {Actor: "a", Reason: "r", Until: at("13:00:00")},
			"Override.Until is 2026-03-10T12:00:00Z, which is past": {Actor: "a", Reason: "r", Until: at("12:00:00"), Count: 1},
		} {
			require.ErrorContains(t, s.Override(t.Context(), o), "fleet: "+want)
		}
	})
}

func TestKill(t *testing.T) {
	ledger := fleet.NewMemory()
	s := newStage(t, "12:00:00", func(c *fleet.Config) { c.Ledger = ledger })
	require.NoError(t, s.Kill(t.Context(), "runaway bill"))
	again := newStage(t, "12:00:01", func(c *fleet.Config) { c.Ledger = ledger })
	r := again.request(1, usd("0.10"))
	r.Emergency = true
	d := again.reserve(r)
	require.Equal(t, fleet.Killed, d.Code, "it outlives the process, and an emergency does not relax it")
	require.Equal(t, "denied by kill_switch: runaway bill; left: $10.00/hr, 20 instances", d.String())
	require.Equal(t, "runaway bill", again.status().Killed)
	require.NoError(t, again.Kill(t.Context(), ""))
	require.Equal(t, 1, s.launch(1, usd("0.10")).Granted)
}
