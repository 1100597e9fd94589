package fleet_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdoff-go/holdoff/fleet"
)

func TestScenario1_ArticleReplay(t *testing.T) {
	s := newStage(t, "18:20:00")
	s.incident()
	require.Equal(t, usd("1.33"), s.status().Spend)

	d := s.launch(4, usd("0.45"))

	require.Equal(t, fleet.Granted, d.Code, d)
	require.Equal(t, 4, d.Granted)
	require.Equal(t, fleet.Headroom{Money: usd("6.87"), Instances: 13}, d.Headroom)
	require.Equal(t, []string{"rate_window"}, d.Bypassed)
	require.Len(t, d.Reservations, 4)
	for _, r := range d.Reservations {
		require.Equal(t, []string{"rate_window"}, r.Bypassed)
		require.Equal(t, d.Episode, r.Episode)
	}
	st := s.status()
	require.Equal(t, usd("3.13"), st.Spend)
	require.Equal(t, 7, st.Launches)
	require.Equal(t, "granted 4 of 4 at up to $0.45/hr, past rate_window for emergency e1 "+
		"(workers_dead: 59 pending, none running since after 18:20:00); left: $6.87/hr, 13 instances", d.String())
}

func TestScenario2_NoEmergencyMeansTheWindow(t *testing.T) {
	s := newStage(t, "18:20:00")
	s.incident()
	s.signal(fleet.Demand{Pending: 59, Running: 1, Target: 10, At: at("18:30:10")})
	s.clock.Set(at("18:31:10")) // the emergency is over
	s.signal(fleet.Demand{Pending: 59, Running: 1, Target: 10})
	s.clock.Set(at("18:30:11").Add(time.Minute))

	d := s.launch(4, usd("0.45"))

	require.Equal(t, fleet.RateWindow, d.Code, d)
	require.Zero(t, d.Granted)
	require.Empty(t, d.Reservations)
	require.Equal(t, at("18:40:10"), d.RetryAt)
	window, ok := d.Finding("rate_window")
	require.True(t, ok)
	require.Equal(t, []time.Time{at("18:40:10"), at("18:40:11"), at("18:40:12")}, window.Next, "the fourth needs a further window")
	require.Len(t, s.cloud.calls, 3, "the vendor heard nothing of it")

	s.clock.Set(at("18:40:10").Add(-1))
	s.signal(fleet.Demand{Pending: 59, Running: 1, Target: 10})
	require.Zero(t, s.launch(4, usd("0.45")).Granted, "one nanosecond early")
	s.clock.Set(at("18:40:10"))
	d = s.launch(4, usd("0.45"))
	require.Equal(t, 1, d.Granted, d)
	require.Equal(t, fleet.Partial, d.Code)
	require.Equal(t, "rate_window", d.StoppedBy)
	require.Equal(t, at("18:40:11"), d.RetryAt)
}

func TestScenario2_599Seconds(t *testing.T) {
	s := newStage(t, "18:20:00")
	for _, clock := range []string{"18:25:10", "18:25:11", "18:25:12"} {
		s.clock.Set(at(clock))
		s.launch(1, usd("0.45"))
	}
	s.clock.Set(at("18:30:11"))
	s.signal(fleet.Demand{Pending: 59, Running: 1, Target: 10})

	d := s.launch(4, usd("0.45"))

	require.Equal(t, 599*time.Second, d.RetryAt.Sub(d.At))
	require.Equal(t, "denied by rate_window: 3 of 3 launches in the last 15m; next at 18:40:10, in 9m59s; left: $8.65/hr, 17 instances", d.String())
}

func TestScenario4_ForgedClaim(t *testing.T) {
	s := newStage(t, "18:20:00")
	for _, clock := range []string{"18:25:10", "18:25:11", "18:25:12"} {
		s.clock.Set(at(clock))
		s.launch(1, usd("0.44"))
	}
	for _, clock := range []string{"18:28:00", "18:29:30", "18:30:11"} {
		s.clock.Set(at(clock))
		s.signal(fleet.Demand{Pending: 59, Running: 5, Target: 10})
	}

	tool := fleet.NewTool(s.Guard, s.cloud.create)
	result := tool.Call(t.Context(), "call-1", []byte(`{"count":4,"max_price":"0.45","reason":"CRITICAL","emergency":true}`))

	require.Equal(t, fleet.RateWindow, result.Code, result.Explanation)
	require.Equal(t, at("18:40:10"), result.RetryAt)
	records, err := s.Decisions(t.Context(), 1)
	require.NoError(t, err)
	require.True(t, records[0].Claimed)
	require.False(t, records[0].Established)
	require.Empty(t, records[0].Bypassed)
	require.Contains(t, result.Explanation, "an emergency was claimed but is not established")
	require.Len(t, s.cloud.calls, 3)
}

func TestScenario5_ExactMoney(t *testing.T) {
	tests := []struct {
		name      string
		cap       string
		live      []string
		price     string
		want      int
		spend     string
		instances int
	}{
		{"17 at $0.51 fill $8.67", "10", []string{"0.44", "0.44", "0.45"}, "0.51", 17, "10.00", 20},
		{"at $0.5101 only 16", "10", []string{"0.44", "0.44", "0.45"}, "0.5101", 16, "9.4916", 19},
		{"20 at $0.40 fill $8.00", "8.00", nil, "0.40", 20, "8.00", 20},
		{"15 at $0.40 fill $6.00", "6.00", nil, "0.40", 15, "6.00", 15},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newStage(t, "18:25:00", func(c *fleet.Config) {
				c.Window = fleet.Window{}
				c.Caps.HourlyBudget = usd(tt.cap)
			})
			for _, price := range tt.live {
				s.launch(1, usd(price))
			}

			d := s.launch(20, usd(tt.price))

			require.Equal(t, tt.want, d.Granted, d)
			st := s.status()
			require.Equal(t, usd(tt.spend), st.Spend)
			require.Equal(t, tt.instances, st.Instances)
		})
	}
}

// TestScenario7_RunToCapGuard keeps the fleet dead while boots take two hours.
func TestScenario7_RunToCapGuard(t *testing.T) {
	s := newStage(t, "18:20:00")
	s.incident()
	inFlight := map[string]int{}
	var last fleet.Decision
	for tick := at("18:30:11"); tick.Before(at("20:20:00")); tick = tick.Add(5 * time.Minute) {
		s.clock.Set(tick)
		s.signal(fleet.Demand{Pending: 59, Target: 10})
		last = s.launch(4, usd("0.45"))
		st := s.status()
		inFlight[tick.Format(time.TimeOnly)] = st.Instances
		require.LessOrEqual(t, st.Instances, 10)
		require.LessOrEqual(t, st.Spend, usd("4.48"))
		for _, r := range last.Reservations {
			if len(r.Bypassed) > 0 {
				require.True(t, tick.Equal(at("18:30:11")) || tick.Sub(at("18:30:11")) >= 15*time.Minute, "past the window at %s", tick)
			}
		}
	}
	require.Equal(t, 7, inFlight["18:30:11"])
	require.Equal(t, 7, inFlight["18:35:11"])
	require.Equal(t, 7, inFlight["18:40:11"])
	require.Equal(t, 10, inFlight["18:45:11"], "through the window, which the four of 18:30:11 have left")
	require.Equal(t, fleet.CoveredByInFlight, last.Code, last)
	require.Contains(t, last.String(), "denied by need: 10 needed, 0 running, 10 on their way (covered_by_in_flight)")
}

// TestScenario7_NaiveBoolean is the contrast: a flag that skips the window and
// knows nothing of what is on its way.
func TestScenario7_NaiveBoolean(t *testing.T) {
	s := newStage(t, "18:20:00", func(c *fleet.Config) { c.Window = fleet.Window{} })
	s.launch(3, usd("0.45"))
	for tick := at("18:30:11"); !tick.After(at("18:50:11")); tick = tick.Add(5 * time.Minute) {
		s.clock.Set(tick)
		s.launch(4, usd("0.45"))
	}
	require.Equal(t, 20, s.status().Instances, "the cap, at 18:50")
}

func TestScenario8_StuckLoading(t *testing.T) {
	s := newStage(t, "18:20:00", func(c *fleet.Config) { c.Window.Launches = 4 })
	s.signal(fleet.Demand{Running: 3, Target: 3})
	s.observe()
	s.clock.Set(at("18:25:12"))
	s.signal(fleet.Demand{Pending: 59, Target: 3})
	s.launch(3, usd("0.44"))
	listed := s.cloud.listing(fleet.StateLoading)

	s.clock.Set(at("20:55:11")) // one second within the deadline
	s.observe(listed...)
	s.signal(fleet.Demand{Pending: 59, Target: 3})
	require.Equal(t, fleet.CoveredByInFlight, s.launch(1, usd("0.45")).Code)

	s.clock.Set(at("20:55:12"))
	st := s.status()
	require.Equal(t, 3, st.Overdue)
	require.Equal(t, 3, st.Instances, "they hold their slots")
	require.Equal(t, usd("1.32"), st.Spend, "and cost money")
	require.Zero(t, st.Covering, "and cover nothing")

	s.signal(fleet.Demand{Pending: 59, Target: 3})
	d := s.launch(1, usd("0.45"))
	require.Equal(t, 1, d.Granted, d)
}

func TestScenario8_BurstSpentLeavesTheRefill(t *testing.T) {
	s := newStage(t, "12:00:00", func(c *fleet.Config) {
		c.BootDeadline = 20 * time.Minute
		c.Window = fleet.Window{Launches: 3, Per: 24 * time.Hour}
	})
	s.signal(fleet.Demand{Running: 10, Target: 10})
	s.launch(3, usd("0.44"))
	s.dead("12:01:00")
	s.dead("12:02:00")
	require.Equal(t, 4, s.launch(4, usd("0.45")).Granted, "the burst")
	s.dead("12:16:59")
	d := s.launch(4, usd("0.45"))
	require.Equal(t, fleet.AllowanceSpent, d.Code, d)
	require.Equal(t, at("12:17:00"), d.RetryAt)

	s.dead("12:22:01") // all seven are past their deadline
	require.Equal(t, 7, s.status().Overdue)
	d = s.launch(4, usd("0.45"))

	require.Equal(t, 1, d.Granted, d)
	require.Equal(t, "emergency_allowance", d.StoppedBy)
	require.Equal(t, at("12:37:01"), d.RetryAt)
}

func TestScenario10_BadSignals(t *testing.T) {
	s := newStage(t, "18:00:00", func(c *fleet.Config) { c.Window = fleet.Window{Launches: 10, Per: time.Hour} })
	s.launch(10, usd("0.44"))
	running := s.cloud.listing(fleet.StateRunning)
	s.clock.Set(at("18:20:00"))
	s.observe(running...)
	s.signal(fleet.Demand{Running: 10, Target: 10})
	require.Empty(t, s.status().HoldScaleDown)
	denied := func(code fleet.Code) {
		t.Helper()
		d := s.launch(1, usd("0.45"))
		require.Equal(t, code, d.Code, d)
		require.False(t, d.Established)
		require.Empty(t, d.Bypassed)
	}

	s.clock.Set(at("18:30:00"))
	s.observe(running...)
	st := s.status()
	require.Equal(t, "the latest demand is 10m old", st.DemandDoubt)
	require.False(t, st.Emergency)
	require.NotEmpty(t, st.HoldScaleDown)
	denied(fleet.RateWindow)

	s.signal(fleet.Demand{Err: errors.New("queue: connection refused")})
	st = s.status()
	require.Contains(t, st.HoldScaleDown, "connection refused")
	require.Equal(t, fleet.Unknown, st.Rules[0].Activity)
	denied(fleet.RateWindow)

	s.clock.Set(at("18:31:00"))
	s.observe()
	s.signal(fleet.Demand{Pending: 59, Target: 10})
	st = s.status()
	require.Contains(t, st.InventoryDoubt, "lacks 10 of 10")
	require.NotEmpty(t, st.HoldScaleDown)
	require.Equal(t, 10, st.Instances, "none is taken for gone")
	denied(fleet.StaleInventory)

	s.clock.Set(at("18:32:00"))
	s.observe()
	s.dead("18:32:00")
	require.Zero(t, s.status().Instances)
	require.False(t, s.status().Emergency, "the samples of an unbelievable listing confirm nothing")
	s.dead("18:33:00")
	require.True(t, s.status().Emergency)
	require.Equal(t, 4, s.launch(10, usd("0.45")).Granted)
}

func TestScenario12_TwoControllersOneLedger(t *testing.T) {
	rounds := 1000
	if testing.Short() {
		rounds = 50
	}
	for round := range rounds {
		ledger := fleet.NewMemory()
		clock := &manual{now: at("12:00:00")}
		guards := make([]*fleet.Guard, 2)
		for i := range guards {
			cfg := base(clock)
			cfg.Window, cfg.Ledger = fleet.Window{}, ledger
			var err error
			guards[i], err = fleet.New(cfg)
			require.NoError(t, err)
		}
		_, err := guards[0].Reserve(t.Context(), fleet.Request{Key: "there", Count: 3, MaxPrice: usd("0.44")})
		require.NoError(t, err)

		granted := make([]int, 2)
		var start, done sync.WaitGroup
		start.Add(1)
		for i, g := range guards {
			done.Go(func() {
				start.Wait()
				d, err := g.Reserve(context.Background(), fleet.Request{Key: fmt.Sprint(i), Count: 12, MaxPrice: usd("0.45")})
				if err == nil {
					granted[i] = d.Granted
				}
			})
		}
		start.Done()
		done.Wait()
		require.Equal(t, 17, granted[0]+granted[1], "round %d: %v", round, granted)
	}
}

// full is a ledger whose disk is full.
type full struct{ fleet.Ledger }

func (full) Update(context.Context, func(fleet.Tx) error) error {
	return errors.New("no space left on device")
}

func TestScenario15_LedgerUnavailable(t *testing.T) {
	memory := fleet.NewMemory()
	s := newStage(t, "18:20:00", func(c *fleet.Config) { c.Ledger = memory })
	s.incident()
	calls := len(s.cloud.calls)
	broken := newStage(t, "18:30:11", func(c *fleet.Config) { c.Ledger = full{memory} })

	d, err := broken.Launch(t.Context(), broken.request(4, usd("0.45")), s.cloud.create)

	require.NoError(t, err, "a denial is a value")
	require.Equal(t, fleet.LedgerUnavailable, d.Code)
	require.Zero(t, d.Granted)
	require.Contains(t, d.String(), "no space left on device")
	require.Len(t, s.cloud.calls, calls, "no vendor call")
	require.ErrorIs(t, broken.Signal(t.Context(), fleet.Demand{}), fleet.ErrLedger)
}

func TestScenario15_ClockSteps(t *testing.T) {
	t.Run("back 1 h", func(t *testing.T) {
		s := newStage(t, "12:00:00")
		s.launch(3, usd("0.44"))
		s.clock.Set(at("11:00:00"))
		d := s.launch(1, usd("0.44"))
		require.Equal(t, fleet.RateWindow, d.Code)
		require.Equal(t, at("11:15:00"), d.RetryAt, "the block lasts no longer than the window")
		s.clock.Set(at("11:05:00"))
		require.Equal(t, at("11:15:00"), s.launch(1, usd("0.44")).RetryAt, "clamped once")
		s.clock.Set(at("11:15:00"))
		require.Equal(t, 3, s.launch(4, usd("0.44")).Granted)
	})
	t.Run("forward 1 h", func(t *testing.T) {
		s := newStage(t, "12:00:00")
		s.launch(3, usd("0.44"))
		s.clock.Set(at("13:00:00"))
		require.Equal(t, 3, s.launch(9, usd("0.44")).Granted)
	})
	t.Run("forward 1 h in an emergency whose burst is spent", func(t *testing.T) {
		s := newStage(t, "18:20:00")
		s.incident()
		s.launch(4, usd("0.45"))
		s.clock.Set(at("19:30:11"))
		s.signal(fleet.Demand{Pending: 59, Target: 20})
		s.clock.Set(at("19:31:11"))
		s.signal(fleet.Demand{Pending: 59, Target: 20})
		granted := 0
		for range 5 {
			granted += s.launch(2, usd("0.45")).Granted
		}
		require.LessOrEqual(t, granted, 3+1, "a window, and one refill")
	})
	t.Run("a vendor's wait is not stretched", func(t *testing.T) {
		s := newStage(t, "12:00:00")
		s.cloud.fail = tooMany(t, "600")
		_, err := s.Launch(t.Context(), s.request(1, usd("0.44")), s.cloud.create)
		require.Error(t, err)
		s.cloud.fail = nil
		s.clock.Set(at("11:00:00"))
		require.Equal(t, at("11:10:00"), s.launch(1, usd("0.44")).RetryAt)
	})
}

func TestG14_CheckThenActOnTheCap(t *testing.T) {
	s := newStage(t, "12:00:00", func(c *fleet.Config) { c.Caps.Instances = 1; c.Window = fleet.Window{} })
	s.cloud.fail = func(int, fleet.Reservation) error { return errors.New("no such image") }
	granted := make([]int, 8)
	release := make(chan struct{})
	var done sync.WaitGroup
	for i := range granted {
		r := s.request(1, usd("0.44"))
		done.Go(func() {
			d, _ := s.Launch(context.Background(), r, func(ctx context.Context, r fleet.Reservation) (fleet.Instance, error) {
				<-release // the winner fails only once the others have been answered
				return s.cloud.create(ctx, r)
			})
			granted[i] = d.Granted
			if d.Granted == 0 && d.Code == fleet.Count {
				granted[i] = -1
			}
		})
	}
	require.Eventually(t, func() bool {
		records, err := s.Decisions(t.Context(), 10)
		return err == nil && len(records) == 8
	}, 10*time.Second, time.Millisecond)
	close(release)
	done.Wait()

	winners := 0
	for _, n := range granted {
		if n == 1 {
			winners++
			continue
		}
		require.Equal(t, -1, n, "denied with code count")
	}
	require.Equal(t, 1, winners)
	require.Zero(t, s.status().Instances, "given back")
	s.cloud.fail = nil
	require.Equal(t, 1, s.launch(1, usd("0.44")).Granted)
}

func TestO2_TheCountCapHoldsInAnEmergency(t *testing.T) {
	s := newStage(t, "18:00:00", func(c *fleet.Config) {
		c.Caps.Instances = 10
		c.Window = fleet.Window{Launches: 10, Per: time.Hour}
	})
	s.signal(fleet.Demand{Running: 10})
	s.launch(10, usd("0.44"))
	s.clock.Set(at("18:01:00"))
	s.signal(fleet.Demand{Pending: 59})
	s.clock.Set(at("18:02:00"))
	s.signal(fleet.Demand{Pending: 59})

	d := s.launch(1, usd("0.44"))

	require.Equal(t, fleet.Count, d.Code, d)
	require.True(t, d.Established)
	require.Zero(t, d.RetryAt, "time does not cure a cap")
	require.Empty(t, d.Bypassed)
	claimed := s.request(1, usd("0.44"))
	claimed.Emergency = true
	require.Equal(t, fleet.Count, s.reserve(claimed).Code)
}

func TestO3_WorkersCallEverythingCritical(t *testing.T) {
	s := newStage(t, "18:00:00", func(c *fleet.Config) { c.Allowance.Burst = 3 })
	s.signal(fleet.Demand{Running: 10, Target: 15})
	s.launch(3, usd("0.44"))
	s.clock.Set(at("18:01:00"))
	s.signal(fleet.Demand{Pending: 59, Target: 15})
	s.clock.Set(at("18:02:00"))
	s.signal(fleet.Demand{Pending: 59, Target: 15})
	for range 3 {
		require.Equal(t, 1, s.launch(1, usd("0.44")).Granted)
	}
	critical := s.request(1, usd("0.44"))
	critical.Claimed = true

	d, err := s.Launch(t.Context(), critical, s.cloud.create)

	require.NoError(t, err)
	require.Equal(t, fleet.AllowanceSpent, d.Code, d)
	require.Equal(t, at("18:17:00"), d.RetryAt, "the refill, as no slot of the window comes sooner")
	require.Equal(t, "denied by emergency_allowance: emergency e1 has launched 3 past pacing and may launch 0 more, and rate_window is full: "+
		"6 of 3 launches in the last 15m; next at 18:17:00, in 15m; left: $7.36/hr, 14 instances", d.String())
}

func TestO4_EmergencyAgainstTheBudget(t *testing.T) {
	s := newStage(t, "18:00:00")
	s.signal(fleet.Demand{Running: 10})
	s.launch(2, usd("2.50"))
	s.clock.Set(at("18:01:00"))
	s.signal(fleet.Demand{Pending: 59})
	s.clock.Set(at("18:02:00"))
	s.signal(fleet.Demand{Pending: 59})

	d := s.launch(1, usd("10"))

	require.Equal(t, fleet.Budget, d.Code, d)
	require.True(t, d.Established)
	records, err := s.Decisions(t.Context(), 1)
	require.NoError(t, err)
	require.Equal(t, fleet.Budget, records[0].Code, "on record")
	require.Equal(t, 2, s.status().Instances, "nothing reserved")
	require.Equal(t, usd("5"), s.status().Spend)
}
