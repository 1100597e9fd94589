package pool_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdoff-go/holdoff/limiter"
	"github.com/holdoff-go/holdoff/retry"
	"github.com/holdoff-go/holdoff/spawn"
	"github.com/holdoff-go/holdoff/spawn/pool"
)

func TestP1_AnExhaustedCredentialIsLeftAtOnce(t *testing.T) {
	play(t, setup{}, func(s *scene) {
		h := s.spawner.Start(s.ctx, spawn.Worker{ID: "w", Run: func(ctx context.Context, a *spawn.Attempt) error {
			return s.call(ctx, a, func(c callTo) error {
				if c.credential == "A" {
					a.Spend(20_000) // micro-dollars
					return exhausted(0)
				}
				a.Spend(50_000)
				return nil
			})
		}})
		r, err := s.wait(h)
		require.NoError(t, err)
		require.Equal(t, spawn.Succeeded, r.State)
		require.Equal(t, "AB", s.seen())
		require.Zero(t, time.Since(s.start), "no wait at all")
		require.Equal(t, []string{"AB"}, s.switched())
		require.Equal(t, 1, s.kinds(pool.EventSwitched))

		require.Equal(t, "w", r.ID)
		require.Equal(t, 2, r.Total)
		first, second := r.Attempts[0], r.Attempts[1]
		require.Equal(t, "w#1", first.ID)
		require.Equal(t, retry.QuotaExhausted, first.Verdict.Class, "still shown refused")
		require.Error(t, first.Err)
		require.Equal(t, "A", first.Credential)
		require.EqualValues(t, 20_000, first.Units)
		require.Equal(t, "w#2", second.ID)
		require.Equal(t, "B", second.Credential)
		require.NoError(t, second.Err)
		require.Equal(t, []spawn.Spent{
			{Credential: "A", Attempts: 1, Failed: 1, Units: 20_000},
			{Credential: "B", Attempts: 1, Units: 50_000},
		}, r.Ledger)

		require.Len(t, s.workers, 4)
		for i, want := range []spawn.State{spawn.Queued, spawn.Running, spawn.Running, spawn.Succeeded} {
			require.Equal(t, want, s.workers[i].State)
			require.Equal(t, "w", s.workers[i].ID)
		}
		line := s.spawner.Roster()[0]
		require.Equal(t, "B", line.Credential)
		require.NoError(t, line.Err)
		require.ErrorIs(t, line.Cause, first.Err, "the first cause stays visible")
	})
}

func TestA3_FailoversAreListed(t *testing.T) {
	for name, run := range map[string]func(*scene, context.Context, *spawn.Attempt) error{
		"before the first byte": func(s *scene, ctx context.Context, a *spawn.Attempt) error {
			return s.call(ctx, a, fails("A", exhausted(0)))
		},
		"midway": func(s *scene, ctx context.Context, a *spawn.Attempt) error {
			a.Progress()
			time.Sleep(200 * time.Millisecond)
			if err := s.call(ctx, a, fails("A", exhausted(0))); err != nil {
				return fmt.Errorf("stream cut: %w", err)
			}
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			play(t, setup{}, func(s *scene) {
				r, err := s.wait(s.spawner.Start(s.ctx, spawn.Worker{ID: "w", Run: func(ctx context.Context, a *spawn.Attempt) error {
					return run(s, ctx, a)
				}}))
				require.NoError(t, err)
				require.Equal(t, []retry.Class{retry.QuotaExhausted, retry.Unknown}, classes(r))
				require.Equal(t, "A", r.Attempts[0].Credential)
				require.Equal(t, "B", r.Attempts[1].Credential)
			})
		})
	}
	t.Run("a refusal that passes changes no credential", func(t *testing.T) {
		play(t, setup{}, func(s *scene) {
			r, err := s.run("w", func(c callTo) error {
				if c.number == 1 {
					return rateLimited(0)
				}
				return nil
			})
			require.NoError(t, err)
			require.Equal(t, "AA", s.seen())
			require.Len(t, r.Ledger, 1)
		})
	})
}

func TestP3_NoResetKnownParksForTwoHours(t *testing.T) {
	day := time.Date(2000, 3, 4, 23, 30, 0, 0, time.UTC)
	play(t, setup{ids: "A", start: day}, func(s *scene) {
		r, err := s.run("first", fails("A", exhausted(0)))
		require.ErrorIs(t, err, spawn.ErrParked)
		require.Equal(t, spawn.Parked, r.State)
		s.at(2*3600 - 1) // 01:29:59
		_, err = s.run("early", accepts)
		require.ErrorIs(t, err, spawn.ErrParked)
		require.Equal(t, "A", s.seen())
		s.at(2*3600 + 1) // 01:30:01 the next day
		_, err = s.run("late", accepts)
		require.NoError(t, err)
		require.Equal(t, "AA", s.seen())
	})
}

func TestP4_TheProvidersResetIsBelieved(t *testing.T) {
	newYork, err := time.LoadLocation("America/New_York")
	require.NoError(t, err)
	day := func(hour, minute int) time.Time { return time.Date(2027, 5, 8, hour, minute, 0, 0, newYork) }
	says := func(text string) error {
		return &retry.ResponseError{StatusCode: 429, Body: []byte(`{"error":{"message":"You've hit your usage limit. ` + text + `"}}`)}
	}
	for name, c := range map[string]struct {
		text    string
		now, to time.Time
	}{
		"text":                {"resets 3pm (America/New_York)", day(14, 20), day(15, 0)},
		"text, the next day":  {"resets 2pm (America/New_York)", day(14, 5), day(14, 0).AddDate(0, 0, 1)},
		"epoch seconds":       {fmt.Sprintf(`","resets_at":%d,"x":"`, day(15, 0).Unix()), day(14, 20), day(15, 0)},
		"epoch milliseconds":  {fmt.Sprintf(`","resets_at":%d,"x":"`, day(15, 0).UnixMilli()), day(14, 20), day(15, 0)},
		"in a year: not read": {fmt.Sprintf(`","resets_at":%d,"x":"`, day(15, 0).AddDate(1, 0, 0).Unix()), day(14, 20), day(16, 20)},
	} {
		t.Run(name, func(t *testing.T) {
			u := setup{ids: "A", start: c.now, spawn: spawn.Config{MaxInlineWait: -1}}
			play(t, u, func(s *scene) {
				r, err := s.run("w", fails("A", says(c.text)))
				require.ErrorIs(t, err, spawn.ErrParked)
				require.ErrorIs(t, err, retry.QuotaExhausted)
				require.GreaterOrEqual(t, r.RetryAt.Sub(c.to), time.Duration(0), "%v", r.RetryAt.In(newYork))
				require.LessOrEqual(t, r.RetryAt.Sub(c.to), 5*time.Minute)
			})
		})
	}
	t.Run("both refused", func(t *testing.T) {
		u := setup{start: day(14, 20), spawn: spawn.Config{MaxInlineWait: -1}}
		play(t, u, func(s *scene) {
			answer := func(c callTo) error {
				switch {
				case time.Now().After(day(15, 0)):
					return nil
				case c.credential == "A":
					return says("resets 3pm (America/New_York)")
				default:
					return says("resets 4:10pm (America/New_York)")
				}
			}
			r, err := s.run("w", answer)
			require.ErrorIs(t, err, spawn.ErrParked)
			require.Equal(t, "AB", s.seen())
			require.WithinDuration(t, day(15, 0), r.RetryAt, 5*time.Minute)
			var parked *pool.ParkedError
			require.ErrorAs(t, err, &parked)
			require.Equal(t, r.RetryAt, parked.Soonest)
			require.True(t, parked.Stated)
			s.at(45 * 60) // 15:05
			_, err = s.run("w", answer)
			require.NoError(t, err)
			require.Equal(t, "ABA", s.seen())
		})
	})
}

func TestP6_ARefusedSecret(t *testing.T) {
	t.Run("B serves", func(t *testing.T) {
		play(t, setup{}, func(s *scene) {
			r, err := s.run("w", fails("A", unauthorized()))
			require.NoError(t, err)
			require.Equal(t, []retry.Class{retry.Auth, retry.Unknown}, classes(r))
			require.Equal(t, map[string]float64{"A": -1}, s.parked())
			require.Equal(t, retry.Auth, s.pool.Status()[0].Class)
			require.Empty(t, s.opened(), "nobody is paused for it")
			require.Empty(t, s.deaths)
			s.at(1e6)
			require.Equal(t, map[string]float64{"A": -1}, s.parked(), "no time mends it")
		})
	})
	t.Run("both are refused", func(t *testing.T) {
		play(t, setup{}, func(s *scene) {
			r, err := s.run("w", fails("AB", unauthorized()))
			require.Equal(t, spawn.Dead, r.State)
			require.ErrorIs(t, err, retry.Auth)
			require.NotErrorIs(t, err, retry.RateLimited)
			require.NotErrorIs(t, err, retry.QuotaExhausted)
			require.NotContains(t, strings.ToLower(err.Error()), "rate")
			require.Equal(t, 2, r.Total)
			require.Len(t, s.deaths, 1)
			require.Empty(t, s.opened())

			next, err := s.run("next", accepts)
			require.Equal(t, spawn.Parked, next.State, "it has not failed")
			require.Zero(t, next.Total)
			require.Zero(t, next.RetryAt)
			require.ErrorIs(t, err, retry.Auth)
			require.NoError(t, s.pool.Set("B", secret("B")))
			_, err = s.run("next", accepts)
			require.NoError(t, err)
			require.Equal(t, "ABB", s.seen())
		})
	})
}

func TestP7_AKilledWorkerBlamesNoCredential(t *testing.T) {
	for name, died := range map[string]*retry.ProcessError{
		"signal":            {Err: errors.New("signal: killed"), ExitCode: -9, Stderr: []byte("OAuth token has expired")},
		"signal, a limit":   {Err: errors.New("signal: killed"), ExitCode: -1, Stderr: []byte("rate limit exceeded")},
		"exit 137":          {Err: errors.New("exit status 137"), ExitCode: 137, Stderr: []byte("warn: OAuth token has expired, refreshing")},
		"exit 137, a limit": {Err: errors.New("exit status 137"), ExitCode: 137, Stderr: []byte("rate limit exceeded")},
		"in words":          {Err: errors.New("exit status 1"), ExitCode: 1, Stderr: []byte("out of memory; OAuth token has expired")},
		"in short":          {Err: errors.New("exit status 1"), ExitCode: 1, Stderr: []byte("rate limit exceeded\nOOM killed")},
	} {
		t.Run(name, func(t *testing.T) {
			play(t, setup{}, func(s *scene) {
				r, err := s.run("w", func(callTo) error { return died })
				require.Error(t, err)
				require.Equal(t, spawn.Dead, r.State)
				require.Equal(t, []retry.Class{retry.Unknown}, classes(r))
				require.Equal(t, "A", s.seen())
				require.Empty(t, s.parked())
				require.Empty(t, s.opened())
				require.Empty(t, s.switched())
				require.Len(t, s.deaths, 1)
			})
		})
	}
	t.Run("a control: the same words of one that was not killed", func(t *testing.T) {
		play(t, setup{}, func(s *scene) {
			died := &retry.ProcessError{Err: errors.New("exit status 1"), ExitCode: 1, Stderr: []byte("Zoom: OAuth token has expired")} // no zoom is an OOM
			r, err := s.run("w", fails("A", died))
			require.NoError(t, err)
			require.Equal(t, spawn.Succeeded, r.State)
			require.Equal(t, "AB", s.seen())
			require.Equal(t, map[string]float64{"A": -1}, s.parked())
			require.Empty(t, s.opened())
			require.Empty(t, s.deaths)
		})
	})
}

func TestP8_OneSwitchForAll(t *testing.T) {
	for _, n := range []int{2, 50} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			u := setup{ids: "ABC", slots: 60, own: 60, pool: pool.Config[string]{
				OnSwitch: func(context.Context, string, string) error { time.Sleep(time.Second); return nil },
			}}
			play(t, u, func(s *scene) {
				most := 0
				var handles []*spawn.Handle
				for i := range n {
					handles = append(handles, s.spawner.Start(s.ctx, spawn.Worker{Run: func(ctx context.Context, a *spawn.Attempt) error {
						err := s.call(ctx, a, fails("A", exhausted(0)))
						if err != nil {
							time.Sleep(time.Second + time.Duration(i)*time.Millisecond/time.Duration(n)) // all within 1 ms
							return err
						}
						s.note(func() {
							most = max(most, s.group.Of(limiter.Key{Scope: pool.ScopeCredential, Name: "B"}).Status().InFlight)
						})
						time.Sleep(time.Second)
						return nil
					}}))
				}
				for _, h := range handles {
					r, err := s.wait(h)
					require.NoError(t, err)
					require.Equal(t, []spawn.Spent{{Credential: "A", Attempts: 1, Failed: 1}, {Credential: "B", Attempts: 1}}, r.Ledger)
				}
				require.Equal(t, strings.Repeat("A", n)+strings.Repeat("B", n), s.seen())
				require.Equal(t, []string{"AB"}, s.switched())
				require.Equal(t, 1, s.kinds(pool.EventSwitched))
				require.Equal(t, 1, s.kinds(pool.EventParked), "one notice")
				require.Equal(t, map[string]float64{"A": s.parked()["A"]}, s.parked())
				require.LessOrEqual(t, most, 60)
			})
		})
	}
	t.Run("B has fewer slots than A had workers", func(t *testing.T) {
		play(t, setup{ids: "ABC", slots: 60, own: 4}, func(s *scene) {
			b := s.group.Of(limiter.Key{Scope: pool.ScopeCredential, Name: "B"})
			require.NoError(t, s.group.Of(limiter.Key{Scope: pool.ScopeCredential, Name: "A"}).SetBudget(50))
			most := 0
			var handles []*spawn.Handle
			for range 50 {
				handles = append(handles, s.spawner.Start(s.ctx, spawn.Worker{Run: func(ctx context.Context, a *spawn.Attempt) error {
					err := s.call(ctx, a, fails("A", exhausted(0)))
					s.note(func() { most = max(most, b.Status().InFlight) })
					time.Sleep(time.Second)
					return err
				}}))
			}
			for _, h := range handles {
				_, err := s.wait(h)
				require.NoError(t, err)
			}
			require.Equal(t, strings.Repeat("A", 50)+strings.Repeat("B", 50), s.seen())
			require.Equal(t, 4, most, "never more than its budget")
			require.Equal(t, []string{"AB"}, s.switched())
		})
	})
}

func TestP9_ALateFailureIsBookedWhereItHappened(t *testing.T) {
	play(t, setup{}, func(s *scene) {
		h := s.spawner.Start(s.ctx, spawn.Worker{ID: "w", Run: func(ctx context.Context, a *spawn.Attempt) error {
			return s.call(ctx, a, func(c callTo) error {
				if c.credential == "A" {
					time.Sleep(10 * time.Second)
					return exhausted(0)
				}
				return nil
			})
		}})
		s.at(5)
		require.NoError(t, s.pool.Switch(s.ctx, "B"))
		r, err := s.wait(h)
		require.NoError(t, err)
		require.Equal(t, "AB", s.seen())
		require.Equal(t, []spawn.Spent{{Credential: "A", Attempts: 1, Failed: 1}, {Credential: "B", Attempts: 1}}, r.Ledger)
		require.Equal(t, map[string]float64{"A": 10 + 7200}, s.parked(), "B is untouched")
		require.Equal(t, []string{"AB"}, s.switched(), "by hand, and no other")
	})
}

func TestP11_HopsAreCapped(t *testing.T) {
	t.Run("one", func(t *testing.T) {
		play(t, setup{ids: "ABCDEF"}, func(s *scene) {
			r, err := s.run("w", fails("ABCDEF", exhausted(0)))
			require.Equal(t, spawn.Parked, r.State)
			require.ErrorIs(t, err, pool.ErrHops)
			require.ErrorIs(t, err, spawn.ErrParked)
			require.Equal(t, "AB", s.seen())
			require.Equal(t, 7200.05, s.clock(r.RetryAt)-0.05)
		})
	})
	t.Run("the pool", func(t *testing.T) {
		play(t, setup{ids: "ABCDEF", pool: pool.Config[string]{Hops: pool.WalkPool}}, func(s *scene) {
			r, err := s.run("w", fails("ABCDEF", exhausted(0)))
			require.Equal(t, spawn.Parked, r.State)
			require.ErrorIs(t, err, retry.QuotaExhausted)
			require.Equal(t, "ABCDEF", s.seen(), "each once")
			require.Len(t, r.Ledger, 6)
			require.Less(t, time.Since(s.start), time.Second, "no ladder for each")
			var parked *pool.ParkedError
			require.ErrorAs(t, err, &parked)
			require.Equal(t, r.RetryAt, parked.Soonest)
		})
	})
}

func TestP13_ThePlaceIsKept(t *testing.T) {
	t.Run("hop at once", func(t *testing.T) {
		for name, u := range map[string]setup{
			"one slot in all":         {slots: 1},
			"one of each credential":  {own: 1},
			"one in all, and of each": {slots: 1, own: 1},
			"with a switch that takes a while": {slots: 1, own: 1, pool: pool.Config[string]{
				OnSwitch: func(context.Context, string, string) error { time.Sleep(time.Minute); return nil },
			}},
		} {
			t.Run(name, func(t *testing.T) {
				play(t, u, func(s *scene) {
					answer := func(c callTo) error {
						if c.credential == "A" {
							time.Sleep(time.Second)
							return exhausted(0)
						}
						return nil
					}
					first := s.launch("1", answer)
					synctest.Wait()
					second := s.launch("2", answer)
					for _, h := range []*spawn.Handle{first, second} {
						_, err := s.wait(h)
						require.NoError(t, err)
					}
					require.Len(t, s.calls, 3)
					for i, want := range []string{"1", "1", "2"} {
						require.Equal(t, want, s.calls[i].worker, "job 2 does not start in between")
					}
					for _, st := range s.group.Status() {
						require.Zero(t, st.InFlight, "%s", st.Name)
					}
				})
			})
		}
	})
	t.Run("the pool is empty", func(t *testing.T) {
		play(t, setup{ids: "A", slots: 1}, func(s *scene) {
			others, err := spawn.New(spawn.Config{Limiter: s.gate}) // work that needs no credential
			require.NoError(t, err)
			most := 0
			book := func() { s.note(func() { most = max(most, s.gate.Status().InFlight) }) }
			var order []string
			answer := func(c callTo) error {
				book()
				s.note(func() { order = append(order, c.worker) })
				if c.at < 2400 {
					return exhausted(2400 - c.at)
				}
				return nil
			}
			first := s.launch("1", answer)
			plain := func(id string, d time.Duration) *spawn.Handle {
				return others.Start(s.ctx, spawn.Worker{ID: id, Run: func(context.Context, *spawn.Attempt) error {
					book()
					s.note(func() { order = append(order, id) })
					time.Sleep(d)
					return nil
				}})
			}
			synctest.Wait()
			second := plain("2", 10*time.Second)
			s.at(2390)
			third := plain("3", 20*time.Second) // holds the slot at the reset
			s.at(2400)
			fourth := plain("4", 0)
			r, err := s.wait(first)
			require.NoError(t, err)
			require.Equal(t, "1", r.ID)
			require.Equal(t, 2, r.Total)
			for _, h := range []*spawn.Handle{second, third, fourth} {
				_, err := h.Wait()
				require.NoError(t, err)
			}
			require.Equal(t, []string{"1", "2", "3", "1", "4"}, order)
			require.Equal(t, 1, most)
			require.Zero(t, s.gate.Status().InFlight)
		})
	})
}

func TestP14_ABurstIsNoQuota(t *testing.T) {
	play(t, setup{slots: 30, own: 30}, func(s *scene) {
		var handles []*spawn.Handle
		for i := range 30 {
			handles = append(handles, s.launch(fmt.Sprint(i), func(c callTo) error {
				if c.at < 20 {
					return rateLimited(20)
				}
				return nil
			}))
		}
		s.at(10)
		require.Empty(t, s.parked())
		require.False(t, s.gate.Status().Storm, "the provider's limiter is open")
		for _, h := range handles {
			_, err := h.Wait()
			require.NoError(t, err)
		}
		require.Equal(t, strings.Repeat("A", 60), s.seen(), "no hop")
		again := s.calls[30:]
		require.GreaterOrEqual(t, again[0].at, 20.0)
		require.LessOrEqual(t, again[0].at, 24.0)
		require.Greater(t, again[1].at, again[0].at, "one first")
		require.Equal(t, []string{"key:A"}, s.opened())
		require.Empty(t, s.switched())
	})
}

func TestP17_APoolOfOneWaitsForItsReset(t *testing.T) {
	answer := func(c callTo) error {
		if c.at < 600 {
			return exhausted(600 - c.at)
		}
		return nil
	}
	t.Run("within MaxInlineWait", func(t *testing.T) {
		play(t, setup{ids: "A", spawn: spawn.Config{MaxInlineWait: 15 * time.Minute}}, func(s *scene) {
			h := s.launch("w", answer)
			s.at(300)
			require.Equal(t, spawn.BackingOff, h.Status().State)
			for _, st := range s.group.Status() {
				require.Zero(t, st.InFlight)
			}
			r, err := s.wait(h)
			require.NoError(t, err)
			require.Equal(t, "AA", s.seen())
			require.GreaterOrEqual(t, s.calls[1].at, 600.0)
			require.Equal(t, 2, r.Total)
		})
	})
	t.Run("beyond it", func(t *testing.T) {
		play(t, setup{ids: "A", spawn: spawn.Config{MaxInlineWait: 5 * time.Minute}}, func(s *scene) {
			r, err := s.run("w", answer)
			require.Equal(t, spawn.Parked, r.State)
			require.Equal(t, 600.05, s.clock(r.RetryAt))
			require.ErrorIs(t, err, spawn.ErrParked)
			require.Equal(t, "A", s.seen())
		})
	})
}
