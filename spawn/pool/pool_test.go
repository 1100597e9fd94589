package pool_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdoff-go/holdoff/limiter"
	"github.com/holdoff-go/holdoff/limiter/httplimit"
	"github.com/holdoff-go/holdoff/retry"
	"github.com/holdoff-go/holdoff/spawn"
	"github.com/holdoff-go/holdoff/spawn/pool"
)

func TestNew_NamesWhatMakesNoSense(t *testing.T) {
	group, err := limiter.NewGroup(limiter.GroupConfig{})
	require.NoError(t, err)
	a := pool.Credential[int]{ID: "A"}
	for want, cfg := range map[string]pool.Config[int]{
		"Config.Group is nil":               {Credentials: []pool.Credential[int]{a}},
		"Config.Credentials is empty":       {Group: group},
		"Config.Credentials[1].ID is empty": {Group: group, Credentials: []pool.Credential[int]{a, {}}},
		`Config.Credentials[1].ID is "A"`:   {Group: group, Credentials: []pool.Credential[int]{a, a}},
		"Config.Hops is -2":                 {Group: group, Credentials: []pool.Credential[int]{a}, Hops: -2},
	} {
		t.Run(want, func(t *testing.T) {
			_, err := pool.New(cfg)
			require.ErrorContains(t, err, want)
		})
	}
}

func TestSpawner_WantsAGateOfThePoolsGroup(t *testing.T) {
	group, err := limiter.NewGroup(limiter.GroupConfig{})
	require.NoError(t, err)
	other, err := limiter.NewGroup(limiter.GroupConfig{})
	require.NoError(t, err)
	alone, err := limiter.New(limiter.Config{})
	require.NoError(t, err)
	p, err := pool.New(pool.Config[int]{Group: group, Credentials: []pool.Credential[int]{{ID: "A"}}})
	require.NoError(t, err)
	var none *pool.Pool[int]
	for name, cfg := range map[string]spawn.Config{
		"another group": {Limiter: other.Of(provider), Pool: p},
		"no group":      {Limiter: alone, Pool: p},
		"a credential":  {Limiter: group.Of(limiter.Key{Scope: pool.ScopeCredential, Name: "A"}), Pool: p},
		"a nil pool":    {Limiter: group.Of(provider), Pool: none},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := spawn.New(cfg)
			require.ErrorContains(t, err, "spawn: Config.")
		})
	}
	s, err := spawn.New(spawn.Config{Limiter: group.Of(provider), Pool: p})
	require.NoError(t, err)
	_, err = s.Run(t.Context(), spawn.Worker{Limiter: alone, Run: func(context.Context, *spawn.Attempt) error { return nil }})
	require.ErrorContains(t, err, "spawn: Worker.Limiter")
}

func TestFrom_OutsideOfAnAttempt(t *testing.T) {
	play(t, setup{}, func(s *scene) {
		_, ok := s.pool.From(s.ctx)
		require.False(t, ok)
		other, err := pool.New(pool.Config[string]{Group: s.group, Credentials: []pool.Credential[string]{{ID: "A"}}})
		require.NoError(t, err)
		_, err = s.run("w", accepts)
		require.NoError(t, err)
		_, err = s.wait(s.spawner.Start(s.ctx, spawn.Worker{ID: "w", Run: func(ctx context.Context, _ *spawn.Attempt) error {
			_, ok := other.From(ctx)
			require.False(t, ok)
			return nil
		}}))
		require.NoError(t, err)
	})
}

// The switch.

func TestSwitch_ByHeadroom(t *testing.T) {
	for name, c := range map[string]struct {
		headroom func(string) float64
		prepare  func(s *scene)
		want     string
	}{
		"free slots": {nil, func(s *scene) {
			_, err := s.group.Of(keyOf("B")).TryAcquire()
			require.NoError(s, err)
		}, "AC"},
		"of equals the first": {nil, func(*scene) {}, "AB"},
		"as the host says":    {func(id string) float64 { return map[string]float64{"B": 0.2, "C": 0.1, "D": 0.7}[id] }, func(*scene) {}, "AD"},
		"one that is shut comes last": {func(id string) float64 { return map[string]float64{"B": 0.2, "C": 0.1, "D": 0.7}[id] }, func(s *scene) {
			s.group.Of(keyOf("D")).Hold("")
			s.group.Of(keyOf("B")).ReportRateLimited(time.Minute)
		}, "AC"},
		"a panic is no headroom": {func(string) float64 { panic("no idea") }, func(*scene) {}, "AB"},
	} {
		t.Run(name, func(t *testing.T) {
			play(t, setup{ids: "ABCD", pool: pool.Config[string]{Headroom: c.headroom}}, func(s *scene) {
				c.prepare(s)
				_, err := s.run("w", fails("A", exhausted(0)))
				require.NoError(t, err)
				require.Equal(t, c.want, s.seen())
			})
		})
	}
}

func keyOf(id string) limiter.Key { return limiter.Key{Scope: pool.ScopeCredential, Name: id} }

func TestOnSwitch_FailureMeansTheNextBest(t *testing.T) {
	errLogin := errors.New("cannot log in")
	for name, fail := range map[string]func() error{
		"an error":       func() error { return errLogin },
		"a panic":        func() error { panic("no idea") },
		"runtime.Goexit": func() error { runtime.Goexit(); return nil },
	} {
		t.Run(name, func(t *testing.T) {
			u := setup{ids: "ABC"}
			u.pool.OnSwitch = func(_ context.Context, _, to string) error {
				if to == "B" {
					return fail()
				}
				return nil
			}
			play(t, u, func(s *scene) {
				_, err := s.run("w", fails("A", exhausted(0)))
				require.NoError(t, err)
				require.Equal(t, "AC", s.seen())
				require.Equal(t, []string{"AB", "AC"}, s.switched())
				require.Equal(t, 1, s.kinds(pool.EventSwitchFailed))
				require.Equal(t, 60.05, s.parked()["B"], "left alone for a minute")
			})
		})
	}
	t.Run("none is left", func(t *testing.T) {
		u := setup{ids: "AB"}
		u.pool.OnSwitch = func(context.Context, string, string) error { return errLogin }
		play(t, u, func(s *scene) {
			r, err := s.run("w", fails("A", exhausted(0)))
			require.Equal(t, spawn.Parked, r.State)
			require.ErrorIs(t, err, errLogin)
			require.Equal(t, 60.05, s.clock(r.RetryAt))
			s.at(61)
			_, err = s.run("w", accepts)
			require.ErrorIs(t, err, errLogin)
			require.Equal(t, []string{"AB", "AB"}, s.switched())
		})
	})
}

func TestOnSwitch_EndsWhenNobodyWaits(t *testing.T) {
	var began, ended atomic.Int32
	u := setup{}
	u.pool.OnSwitch = func(ctx context.Context, _, _ string) error {
		began.Add(1)
		<-ctx.Done()
		ended.Add(1)
		return ctx.Err()
	}
	play(t, u, func(s *scene) {
		h := s.launch("w", fails("A", exhausted(0)))
		s.at(1)
		g := s.launch("v", accepts)
		synctest.Wait()
		require.EqualValues(t, 1, began.Load())
		h.Cancel(nil)
		synctest.Wait()
		require.Zero(t, ended.Load(), "somebody still does")
		g.Cancel(nil)
		synctest.Wait()
		require.EqualValues(t, 1, ended.Load())
		for _, h := range []*spawn.Handle{h, g} {
			r, _ := s.wait(h)
			require.Equal(t, spawn.Canceled, r.State)
		}
		require.NotContains(t, s.parked(), "B", "B has not failed")
	})
}

func TestSwitch_ByHand(t *testing.T) {
	errLogin := errors.New("cannot log in")
	fail := false
	u := setup{ids: "ABC"}
	u.pool.OnSwitch = func(context.Context, string, string) error {
		if fail {
			return errLogin
		}
		return nil
	}
	play(t, u, func(s *scene) {
		require.NoError(t, s.pool.Switch(s.ctx, "A"), "it is in use")
		require.Empty(t, s.switched())
		require.NoError(t, s.pool.Switch(s.ctx, "C"))
		require.True(t, s.pool.Status()[2].InUse)
		fail = true
		require.ErrorIs(t, s.pool.Switch(s.ctx, "B"), errLogin)
		require.True(t, s.pool.Status()[2].InUse)
		require.Empty(t, s.parked())
		fail = false
		s.park(map[string]float64{"C": 60})
		_, err := s.run("w", accepts)
		require.NoError(t, err)
		require.Equal(t, "A", s.seen())
		var parked *pool.ParkedError
		require.ErrorAs(t, s.pool.Switch(s.ctx, "C"), &parked)
		require.Equal(t, "C", parked.ID)
		require.ErrorContains(t, parked, "credential C is parked until")
		require.NoError(t, s.pool.Switch(s.ctx, "B"))
		require.Equal(t, map[string]float64{"C": 60}, s.parked(), "no parking ends because somebody switched")
	})
}

// Parking.

func TestPark_AnAccountTogether(t *testing.T) {
	u := setup{ids: "ABC", accounts: map[string]string{"A": "one", "B": "one", "C": "two"}}
	play(t, u, func(s *scene) {
		_, err := s.run("w", fails("AB", exhausted(600)))
		require.NoError(t, err)
		require.Equal(t, "AC", s.seen())
		require.Equal(t, map[string]float64{"A": 600.05, "B": 600.05}, s.parked())
		require.Equal(t, []string{"account:one"}, s.opened())
		s.at(700)
		require.Empty(t, s.parked())
	})
	t.Run("a refused secret is one's own", func(t *testing.T) {
		u := setup{accounts: u.accounts}
		play(t, u, func(s *scene) {
			_, err := s.run("w", fails("A", unauthorized()))
			require.NoError(t, err)
			require.Equal(t, "AB", s.seen())
			require.Equal(t, map[string]float64{"A": -1}, s.parked())
		})
	})
}

func TestPark_Bounds(t *testing.T) {
	const day = 24 * 3600.0
	for name, c := range map[string]struct {
		p     pool.Parking
		until float64 // 0: not at all
	}{
		"a week":               {pool.Parking{Class: retry.QuotaExhausted, Wait: seconds(7 * day), Stated: true}, 7 * day},
		"8 days":               {pool.Parking{Class: retry.QuotaExhausted, Wait: seconds(8 * day), Stated: true}, 8 * day},
		"more is not believed": {pool.Parking{Class: retry.QuotaExhausted, Wait: seconds(8*day + 1), Stated: true}, 7200},
		"nothing stated":       {pool.Parking{Class: retry.QuotaExhausted, Wait: time.Second}, 7200},
		"has passed":           {pool.Parking{Class: retry.QuotaExhausted, Stated: true}, 0},
		"another class":        {pool.Parking{Class: retry.RateLimited, Wait: time.Hour, Stated: true}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			play(t, setup{ids: "A"}, func(s *scene) {
				l, err := s.pool.Rota().Take(s.ctx)
				require.NoError(t, err)
				s.pool.Rota().Park(l, c.p)
				again, _ := s.pool.Rota().Again(l)
				if c.until == 0 {
					require.Empty(t, s.parked())
					return
				}
				require.Equal(t, c.until, s.clock(again.Until))
				require.Equal(t, map[string]float64{"A": c.until}, s.parked())
				s.at(c.until)
				require.Empty(t, s.parked())
				_, err = s.run("w", accepts)
				require.NoError(t, err)
			})
		})
	}
}

func TestPark_OldNewsDoesNotProlong(t *testing.T) {
	play(t, setup{ids: "A"}, func(s *scene) {
		rota := s.pool.Rota()
		l, err := rota.Take(s.ctx)
		require.NoError(t, err)
		rota.Park(l, pool.Parking{Class: retry.QuotaExhausted})
		s.at(60)
		rota.Park(l, pool.Parking{Class: retry.QuotaExhausted})
		require.Equal(t, map[string]float64{"A": 7200}, s.parked())
		rota.Accepted(l)
		require.Equal(t, map[string]float64{"A": 7200}, s.parked(), "nor shorten")
		rota.Park(l, pool.Parking{Class: retry.QuotaExhausted, Wait: 3 * time.Hour, Stated: true})
		require.Equal(t, map[string]float64{"A": 60 + 3*3600}, s.parked(), "what is stated is a fact")
		require.Equal(t, 1, s.kinds(pool.EventProlonged))
		again, err := rota.Again(l)
		require.ErrorIs(t, err, pool.ErrMoved)
		rota.Accepted(again)
		require.Empty(t, s.parked(), "somebody has paid the bill")
		_, err = s.run("w", accepts)
		require.NoError(t, err)
		require.Equal(t, 60.0, s.calls[0].at)
	})
}

// Workers of many calls.

func TestWait_SaysThatTheCredentialIsParked(t *testing.T) {
	for name, mangle := range map[string]func(error) error{
		"as it is":         func(err error) error { return err },
		"wrapped":          func(err error) error { return fmt.Errorf("turn 2: %w", err) },
		"lost by a client": func(err error) error { return errors.New(err.Error()) },
	} {
		for _, class := range []retry.Class{retry.QuotaExhausted, retry.Auth} {
			t.Run(name+", "+class.String(), func(t *testing.T) {
				play(t, setup{}, func(s *scene) {
					h := s.spawner.Start(s.ctx, spawn.Worker{ID: "long", Run: func(ctx context.Context, a *spawn.Attempt) error {
						if err := s.call(ctx, a, accepts); err != nil {
							return err
						}
						a.Progress()
						time.Sleep(10 * time.Second)
						if err := a.Wait(ctx); err != nil {
							return mangle(err)
						}
						return s.call(ctx, a, accepts)
					}})
					s.at(5)
					_, err := s.run("short", fails("A", class))
					require.NoError(t, err)
					r, err := s.wait(h)
					require.NoError(t, err)
					require.Equal(t, "AAB"+"BB", s.seen())
					require.Equal(t, class, r.Attempts[0].Verdict.Class)
					require.ErrorContains(t, r.Attempts[0].Err, "parked")
					require.Equal(t, 1, s.kinds(pool.EventParked))
					require.Equal(t, []string{"AB"}, s.switched())
				})
			})
		}
	}
}

func TestTransport_CallsGoThroughTheCredentialsLimiter(t *testing.T) {
	play(t, setup{}, func(s *scene) {
		client := &http.Client{Transport: &httplimit.Transport{Limiter: s.gate, Base: roundTrip(func(r *http.Request) int {
			if r.Header.Get("Authorization") == secret("A") {
				return http.StatusPaymentRequired
			}
			return http.StatusOK
		})}}
		r, err := s.wait(s.spawner.Start(s.ctx, spawn.Worker{ID: "w", Run: func(ctx context.Context, a *spawn.Attempt) error {
			for range 2 {
				c, _ := s.pool.From(ctx)
				req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://upstream/", nil)
				if err != nil {
					return err
				}
				req.Header.Set("Authorization", c.Value)
				resp, err := client.Do(req)
				if err != nil {
					return err
				}
				_ = resp.Body.Close()
				if resp.StatusCode != http.StatusOK {
					return errors.New("it did not work") // all that the SDK says
				}
				time.Sleep(2 * time.Second)
			}
			return nil
		}}))
		require.NoError(t, err)
		require.Equal(t, []retry.Class{retry.QuotaExhausted, retry.Unknown}, classes(r))
		require.Equal(t, map[string]float64{"A": 7200}, s.parked())
	})
}

type roundTrip func(*http.Request) int

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: f(r), Header: http.Header{}, Body: http.NoBody, Request: r}, nil
}

// Workers inside workers.

func TestChild_UsesTheSlotAndTheCredentialOfItsParent(t *testing.T) {
	play(t, setup{slots: 1, own: 1}, func(s *scene) {
		r, err := s.wait(s.spawner.Start(s.ctx, spawn.Worker{ID: "parent", Run: func(ctx context.Context, a *spawn.Attempt) error {
			if err := s.call(ctx, a, accepts); err != nil {
				return err
			}
			_, err := s.spawner.Run(ctx, spawn.Worker{ID: "child", Run: s.work(accepts)})
			return err
		}}))
		require.NoError(t, err)
		require.Equal(t, spawn.Succeeded, r.State)
		require.Equal(t, "AA", s.seen())
	})
}

func TestChild_HopsWhileItsParentGoesOn(t *testing.T) {
	play(t, setup{slots: 1, own: 1}, func(s *scene) {
		r, err := s.wait(s.spawner.Start(s.ctx, spawn.Worker{ID: "parent", Run: func(ctx context.Context, a *spawn.Attempt) error {
			if _, err := s.spawner.Run(ctx, spawn.Worker{ID: "child", Run: s.work(fails("A", exhausted(0)))}); err != nil {
				return err
			}
			if err := a.Wait(ctx); err != nil { // its own credential is parked by now
				return err
			}
			return s.call(ctx, a, accepts)
		}}))
		require.NoError(t, err)
		require.Equal(t, 2, r.Total)
		require.Equal(t, "AB"+"BB", s.seen())
		for _, st := range s.group.Status() {
			require.Zero(t, st.InFlight, "%s", st.Name)
		}
	})
}

func TestChild_OfAParentWhoseCredentialIsParked(t *testing.T) {
	play(t, setup{slots: 1}, func(s *scene) {
		_, err := s.wait(s.spawner.Start(s.ctx, spawn.Worker{ID: "parent", Run: func(ctx context.Context, a *spawn.Attempt) error {
			s.park(map[string]float64{"A": 600})
			_, err := s.spawner.Run(ctx, spawn.Worker{ID: "child", Run: s.work(accepts)})
			return err
		}}))
		require.NoError(t, err)
		require.Equal(t, "B", s.seen())
		for _, st := range s.group.Status() {
			require.Zero(t, st.InFlight, "%s", st.Name)
		}
	})
}

// Ends.

func TestHop_WithinMaxElapsedAndOnce(t *testing.T) {
	t.Run("work that must not be done twice", func(t *testing.T) {
		play(t, setup{}, func(s *scene) {
			r, _ := s.wait(s.spawner.Start(s.ctx, spawn.Worker{ID: "w", NoRepeat: true, Run: func(_ context.Context, a *spawn.Attempt) error {
				a.Report(nil)
				return exhausted(0)
			}}))
			require.Equal(t, spawn.Dead, r.State)
			require.Equal(t, 1, r.Total)
		})
	})
	t.Run("refused before anything was accepted", func(t *testing.T) {
		play(t, setup{}, func(s *scene) {
			_, err := s.wait(s.spawner.Start(s.ctx, spawn.Worker{ID: "w", NoRepeat: true, Run: s.work(fails("A", exhausted(0)))}))
			require.NoError(t, err)
			require.Equal(t, "AB", s.seen())
		})
	})
	t.Run("an effect that was declared", func(t *testing.T) {
		play(t, setup{}, func(s *scene) {
			r, err := s.wait(s.spawner.Start(s.ctx, spawn.Worker{ID: "w", Run: func(_ context.Context, a *spawn.Attempt) error {
				a.Declare("sent")
				return exhausted(0)
			}}))
			require.Equal(t, spawn.Dead, r.State)
			require.ErrorIs(t, err, spawn.ErrNeedsDecision)
			require.Equal(t, 1, r.Total)
			require.NotEmpty(t, s.parked())
		})
	})
	t.Run("MaxElapsed bounds the switch", func(t *testing.T) {
		u := setup{spawn: spawn.Config{Policy: retry.Policy{MaxElapsed: 10 * time.Second}}}
		u.pool.OnSwitch = func(ctx context.Context, _, _ string) error { <-ctx.Done(); return ctx.Err() }
		play(t, u, func(s *scene) {
			r, err := s.run("w", fails("A", exhausted(0)))
			require.Equal(t, spawn.Dead, r.State)
			require.ErrorIs(t, err, retry.ErrElapsed)
			require.Equal(t, 10*time.Second, time.Since(s.start))
		})
	})
	t.Run("draining", func(t *testing.T) {
		play(t, setup{}, func(s *scene) {
			h := s.launch("w", func(callTo) error {
				time.Sleep(time.Second)
				return exhausted(0)
			})
			synctest.Wait()
			require.NoError(t, s.spawner.Drain(s.ctx))
			_, err := s.wait(h)
			require.ErrorIs(t, err, spawn.ErrDraining)
			require.Equal(t, "A", s.seen())
		})
	})
}

func TestResume_OfAParkedRunGoesOnWithWhoIsBack(t *testing.T) {
	play(t, setup{spawn: spawn.Config{MaxInlineWait: -1}}, func(s *scene) {
		r, err := s.wait(s.spawner.Start(s.ctx, spawn.Worker{
			ID: "w", Resume: spawn.Resume{Times: 1}, Run: s.work(func(c callTo) error {
				if c.at < 1 {
					return exhausted(map[string]float64{"A": 900, "B": 600}[c.credential])
				}
				return nil
			}),
		}))
		require.NoError(t, err)
		require.Equal(t, "ABB", s.seen())
		require.Equal(t, []spawn.Spent{{Credential: "A", Attempts: 1, Failed: 1}, {Credential: "B", Attempts: 2, Failed: 1}}, r.Ledger)
	})
}

func TestLedger_GoesOnOverARevival(t *testing.T) {
	play(t, setup{ids: "A", spawn: spawn.Config{MaxInlineWait: -1}}, func(s *scene) {
		h := s.spawner.Start(s.ctx, spawn.Worker{ID: "w", Run: func(ctx context.Context, a *spawn.Attempt) error {
			a.Spend(7)
			a.Spend(-3)
			return s.call(ctx, a, func(c callTo) error {
				if c.at < 60 {
					return exhausted(60)
				}
				return nil
			})
		}})
		before, err := s.wait(h)
		require.ErrorIs(t, err, spawn.ErrParked)
		s.at(60)
		h, err = s.spawner.Revive(s.ctx, "w")
		require.NoError(t, err)
		r, err := s.wait(h)
		require.NoError(t, err)
		require.Equal(t, []spawn.Spent{{Credential: "A", Attempts: 1, Failed: 1, Units: 7}}, before.Ledger)
		require.Equal(t, []spawn.Spent{{Credential: "A", Attempts: 2, Failed: 1, Units: 14}}, r.Ledger)
	})
}

// Queues.

func TestQueue_OfAParkedCredentialMovesOn(t *testing.T) {
	play(t, setup{own: 1}, func(s *scene) {
		holder := s.launch("holder", func(c callTo) error {
			if c.credential == "B" {
				return nil
			}
			time.Sleep(10 * time.Second)
			return exhausted(0)
		})
		synctest.Wait()
		var handles []*spawn.Handle
		for i := range 5 {
			handles = append(handles, s.launch(fmt.Sprint(i), accepts))
		}
		s.at(9)
		require.Equal(t, "A", s.seen(), "they queue for A, which is in use")
		for _, h := range append(handles, holder) {
			_, err := s.wait(h)
			require.NoError(t, err)
		}
		require.Equal(t, "ABBBBBB", s.seen())
		require.Equal(t, "holder", s.calls[1].worker, "who was refused goes first")
	})
}

func TestEvents_PanicsAreContained(t *testing.T) {
	play(t, setup{}, func(s *scene) {
		p, err := pool.New(pool.Config[string]{
			Group: s.group, Credentials: []pool.Credential[string]{{ID: "X"}},
			OnEvent:     func(pool.Event) { panic("no") },
			Logger:      slog.New(slog.NewTextHandler(&s.log, nil)),
			Fingerprint: func(pool.Credential[string]) string { panic("no") },
		})
		require.NoError(t, err)
		l, err := p.Rota().Take(s.ctx)
		require.NoError(t, err)
		p.Rota().Park(l, pool.Parking{Class: retry.QuotaExhausted})
		require.NotNil(t, p.Rota().Parked())
		require.Contains(t, s.log.String(), "Config.OnEvent panicked")
	})
}

func TestEvents_MayCallThePool(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		group, err := limiter.NewGroup(limiter.GroupConfig{})
		require.NoError(t, err)
		var p *pool.Pool[string]
		var kinds []string
		p, err = pool.New(pool.Config[string]{
			Group: group, Credentials: []pool.Credential[string]{{ID: "A"}, {ID: "B"}},
			OnEvent: func(e pool.Event) {
				kinds = append(kinds, e.Kind.String()+" "+e.Credential)
				if e.Kind == pool.EventParked {
					require.NoError(t, p.Set(e.Credential, "new")) // logs in again
				}
			},
		})
		require.NoError(t, err)
		l, err := p.Rota().Take(t.Context())
		require.NoError(t, err)
		p.Rota().Park(l, pool.Parking{Class: retry.Auth})
		require.Equal(t, []string{"parked A", "returned A"}, kinds)
		require.Nil(t, p.Rota().Parked())
	})
}
