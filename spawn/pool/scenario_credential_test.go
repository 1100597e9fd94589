package pool_test

import (
	"context"
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

// Scenarios K: credentials; and those of other groups that speak of them.

// park has a call with each credential refused until then, and leaves all parked
// that are named.
func (s *scene) park(until map[string]float64) {
	s.Helper()
	for range until {
		l, err := s.pool.Rota().Take(s.ctx)
		require.NoError(s, err)
		wait, ok := until[l.ID]
		require.True(s, ok, "%s is in use, and not to be parked", l.ID)
		s.pool.Rota().Park(l, pool.Parking{Class: retry.QuotaExhausted, Wait: seconds(wait), Stated: true})
	}
}

func TestK1_AllParked(t *testing.T) {
	play(t, setup{ids: "ABC"}, func(s *scene) {
		until := map[string]float64{"A": 300, "B": 40, "C": 120}
		s.park(until)
		waits := s.launch("waits", accepts)
		ctx, cancel := context.WithTimeout(s.ctx, 10*time.Second)
		defer cancel()
		r, err := s.wait(s.spawner.Start(ctx, spawn.Worker{ID: "hurries", Run: s.work(accepts)}))
		require.Zero(t, time.Since(s.start), "at once")
		require.Equal(t, spawn.Parked, r.State)
		var parked *pool.ParkedError
		require.ErrorAs(t, err, &parked)
		require.Equal(t, 40.0, s.clock(parked.Soonest))
		require.Equal(t, 40.0, s.clock(r.RetryAt))

		_, err = s.wait(waits)
		require.NoError(t, err)
		require.Equal(t, []callTo{{"B", "waits", 1, 40}}, s.calls)
	})
}

func TestK2_ParkedCredentialsAreNotProbed(t *testing.T) {
	play(t, setup{ids: "ABC", spawn: spawn.Config{MaxInlineWait: -1}}, func(s *scene) {
		until := map[string]float64{"A": 120, "B": 300, "C": 40}
		s.park(until)
		s.at(1)
		for i := range 10 {
			_, err := s.run(fmt.Sprint(i), accepts)
			require.ErrorIs(t, err, spawn.ErrParked)
		}
		require.Empty(t, s.seen())
		require.Equal(t, until, s.parked())
	})
}

func TestK3_EachIsTriedOnce(t *testing.T) {
	play(t, setup{pool: pool.Config[string]{Hops: pool.WalkPool}}, func(s *scene) {
		_, err := s.run("w", fails("AB", exhausted(0)))
		require.Equal(t, "AB", s.seen())
		var parked *pool.ParkedError
		require.ErrorAs(t, err, &parked)
		require.Equal(t, 7200.05, s.clock(parked.Soonest))
	})
}

func TestK4_TheKnownBadIsLeftAlone(t *testing.T) {
	play(t, setup{}, func(s *scene) {
		s.park(map[string]float64{"A": 60})
		for i := range 20 {
			s.at(float64(i) * 2)
			_, err := s.run(fmt.Sprint(i), accepts)
			require.NoError(t, err)
		}
		require.Equal(t, strings.Repeat("B", 20), s.seen())
	})
}

func TestK5_AParkedCredentialComesBackByOneProbe(t *testing.T) {
	for name, c := range map[string]struct {
		probe  script
		parked map[string]float64
	}{
		"a failure renews it": {fails("A", exhausted(60)), map[string]float64{"A": 121.05}},
		"success clears it":   {accepts, map[string]float64{}},
	} {
		t.Run(name, func(t *testing.T) {
			u := setup{ids: "A", spawn: spawn.Config{MaxInlineWait: -1}}
			play(t, u, func(s *scene) {
				s.park(map[string]float64{"A": 60})
				s.at(61)
				var handles []*spawn.Handle
				for i := range 10 {
					handles = append(handles, s.launch(fmt.Sprint(i), c.probe))
				}
				synctest.Wait()
				require.Equal(t, "A", s.seen(), "one probe")
				failed := 0
				for _, h := range handles {
					if _, err := s.wait(h); err != nil {
						failed++
						require.ErrorIs(t, err, spawn.ErrParked)
					}
				}
				require.Equal(t, c.parked, s.parked())
				if len(c.parked) > 0 {
					require.Equal(t, "A", s.seen(), "exactly one")
					require.Equal(t, 10, failed)
					require.Equal(t, 2, s.kinds(pool.EventParked))
					return
				}
				require.Zero(t, failed)
				require.Equal(t, retry.Unknown, s.pool.Status()[0].Class)
				require.Equal(t, 1, s.kinds(pool.EventReturned))
			})
		})
	}
}

func TestK6_ANewSecretInheritsNothing(t *testing.T) {
	t.Run("by Set", func(t *testing.T) {
		play(t, setup{ids: "A", spawn: spawn.Config{MaxInlineWait: -1}}, func(s *scene) {
			s.park(map[string]float64{"A": 3600})
			s.at(9)
			_, err := s.run("early", accepts)
			require.ErrorIs(t, err, spawn.ErrParked)
			s.at(10)
			require.NoError(t, s.pool.Set("A", secret("A")))
			require.Empty(t, s.parked())
			_, err = s.run("w", accepts)
			require.NoError(t, err)
			require.Equal(t, []callTo{{"A", "w", 1, 10}}, s.calls)
		})
	})
	t.Run("by its fingerprint", func(t *testing.T) {
		version := 1
		u := setup{ids: "A", spawn: spawn.Config{MaxInlineWait: -1}}
		u.pool.Fingerprint = func(c pool.Credential[string]) string { return fmt.Sprint(c.Value, version) }
		play(t, u, func(s *scene) {
			s.park(map[string]float64{"A": 3600})
			s.at(10)
			require.NoError(t, s.pool.Set("A", secret("A")), "the same as before")
			require.NotEmpty(t, s.parked())
			version++ // somebody has logged in again
			_, err := s.run("w", accepts)
			require.NoError(t, err)
			require.Equal(t, []callTo{{"A", "w", 1, 10}}, s.calls)
			require.Equal(t, "new secret", s.events[len(s.events)-1].Reason)
		})
	})
	t.Run("who waits for it hears of it", func(t *testing.T) {
		play(t, setup{ids: "A"}, func(s *scene) {
			s.park(map[string]float64{"A": 3000})
			h := s.launch("w", accepts)
			s.at(10)
			require.NoError(t, s.pool.Set("A", secret("A")))
			_, err := s.wait(h)
			require.NoError(t, err)
			require.Equal(t, []callTo{{"A", "w", 1, 10}}, s.calls)
		})
	})
	t.Run("late news of the old one", func(t *testing.T) {
		play(t, setup{ids: "A"}, func(s *scene) {
			h := s.launch("w", func(c callTo) error {
				if c.number == 1 {
					time.Sleep(10 * time.Second)
					return unauthorized()
				}
				return nil
			})
			s.at(5)
			require.NoError(t, s.pool.Set("A", secret("A")))
			r, err := s.wait(h)
			require.NoError(t, err)
			require.Equal(t, "AA", s.seen(), "tried again with the new one")
			require.Equal(t, 2, r.Total)
			require.Empty(t, s.parked())
		})
	})
}

func TestA12_AnOverloadBlamesNobody(t *testing.T) {
	play(t, setup{ids: "ABCDE", slots: 20}, func(s *scene) {
		var handles []*spawn.Handle
		for i, id := range []string{"A", "B", "C", "D", "E"} {
			require.NoError(t, s.pool.Switch(s.ctx, id))
			for j := range 4 {
				at := 1 + float64(4*i+j)/4 // all within 6 s: each in flight when the pause opens
				handles = append(handles, s.launch(fmt.Sprint(id, j), func(c callTo) error {
					if c.number > 1 {
						return nil
					}
					time.Sleep(seconds(at) - time.Since(s.start))
					return overloaded()
				}))
			}
			synctest.Wait()
		}
		require.Equal(t, "AAAABBBBCCCCDDDDEEEE", s.seen())
		s.at(5.9)
		for _, st := range s.pool.Status() {
			require.False(t, st.Parked)
			require.Equal(t, retry.Unknown, st.Class)
		}
		for _, h := range handles {
			_, err := s.wait(h)
			require.NoError(t, err, "no 'all exhausted'")
		}
		require.Equal(t, []string{"provider:acme"}, s.opened(), "one pause, of the service")
		for _, e := range s.pauses {
			if e.Kind == limiter.EventPauseOpened {
				require.Equal(t, limiter.ReasonOverloaded, e.Status.Reason)
				require.Equal(t, 10*time.Second, e.Status.BlockedUntil.Sub(e.Time))
			}
		}
	})
}

func TestL1_AHardQuotaIsNoBurst(t *testing.T) {
	play(t, setup{ids: "A"}, func(s *scene) {
		r, err := s.run("w", fails("A", exhausted(0)))
		require.Equal(t, spawn.Parked, r.State)
		require.Equal(t, 1, r.Total)
		require.ErrorIs(t, err, retry.QuotaExhausted)
		require.Len(t, s.events, 1, "one event for the operator")
		require.Equal(t, pool.EventParked, s.events[0].Kind)
		for at := 60.0; at < 3600; at += 60 {
			s.at(at)
			_, err := s.run("again", accepts)
			require.ErrorIs(t, err, spawn.ErrParked)
		}
		require.Equal(t, "A", s.seen())
		require.Len(t, s.events, 1)
	})
}

func TestP20_SecretsDoNotShow(t *testing.T) {
	// Every scene looks for secrets in what it has seen. This one has seen all.
	u := setup{ids: "ABC", accounts: map[string]string{"B": "acme", "C": "acme"}}
	u.pool.Hops = pool.WalkPool
	u.pool.Fingerprint = func(c pool.Credential[string]) string { return c.Value }
	u.pool.OnSwitch = func(context.Context, string, string) error { panic(secret("A")) }
	play(t, u, func(s *scene) {
		_, err := s.run("w", fails("ABC", exhausted(0)))
		require.ErrorIs(t, err, spawn.ErrParked)
		require.ErrorContains(t, err, "OnSwitch panicked")
		require.Equal(t, 2, s.kinds(pool.EventSwitchFailed))
		require.Contains(t, s.log.String(), `"credential":"B"`)
		require.Contains(t, s.log.String(), "OnSwitch panicked")
		require.Error(t, s.pool.Switch(s.ctx, "A"))
		s.errs = append(s.errs, s.pool.Set("none", secret("A")), s.pool.Switch(s.ctx, "none"))
		require.ErrorContains(t, s.errs[1], `no credential has the ID "none"`)
	})
}
