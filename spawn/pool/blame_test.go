package pool_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cenkalti/backoff/v4"
	"github.com/stretchr/testify/require"

	"github.com/holdoff-go/holdoff/retry"
	"github.com/holdoff-go/holdoff/spawn"
	"github.com/holdoff-go/holdoff/spawn/pool"
)

// Whose failure it is does not depend on what becomes of the run.
func TestPark_WhateverBecomesOfTheRun(t *testing.T) {
	for name, c := range map[string]struct {
		w    spawn.Worker
		ends spawn.State
	}{
		"work that must not be done twice": {spawn.Worker{NoRepeat: true, Run: func(_ context.Context, a *spawn.Attempt) error {
			a.Report(nil)
			return exhausted(60)
		}}, spawn.Dead},
		"permanent": {spawn.Worker{Run: func(context.Context, *spawn.Attempt) error {
			return backoff.Permanent(exhausted(60))
		}}, spawn.Dead},
		"absorbed": {spawn.Worker{Run: func(_ context.Context, a *spawn.Attempt) error {
			a.Report(exhausted(60))
			return nil
		}}, spawn.Succeeded},
		"reported, and returned later": {spawn.Worker{Run: func(_ context.Context, a *spawn.Attempt) error {
			if a.Number() > 1 {
				return nil
			}
			err := exhausted(60)
			a.Report(err)
			time.Sleep(10 * time.Second)
			return err
		}}, spawn.Succeeded},
	} {
		t.Run(name, func(t *testing.T) {
			play(t, setup{}, func(s *scene) {
				c.w.ID = "w"
				r, _ := s.wait(s.spawner.Start(s.ctx, c.w))
				require.Equal(t, c.ends, r.State)
				require.Equal(t, map[string]float64{"A": 60}, s.parked())
				require.Zero(t, s.kinds(pool.EventProlonged), "one failure parks once")
			})
		})
	}
}

// A worker that absorbs the failure keeps nobody waiting who queues for the same
// credential.
func TestPark_ByReportMovesWhoWaits(t *testing.T) {
	play(t, setup{own: 1}, func(s *scene) {
		long := s.spawner.Start(s.ctx, spawn.Worker{ID: "long", Run: func(ctx context.Context, a *spawn.Attempt) error {
			if a.Number() > 1 {
				return nil
			}
			time.Sleep(5 * time.Second)
			require.Equal(s, retry.QuotaExhausted, a.Report(s.call(ctx, a, fails("A", exhausted(3600)))).Class)
			time.Sleep(time.Minute)
			return a.Wait(ctx)
		}})
		s.at(1)
		_, err := s.run("next", accepts)
		require.NoError(t, err)
		require.Equal(t, "AB", s.seen())
		require.Equal(t, 5.0, s.calls[1].at)
		_, err = s.wait(long)
		require.NoError(t, err)
	})
}

// P9: what an attempt reports late is not of the credential that its worker went on
// with.
func TestP9_ALateReportIsOfTheAttemptsOwnCredential(t *testing.T) {
	play(t, setup{}, func(s *scene) {
		h := s.spawner.Start(s.ctx, spawn.Worker{ID: "w", Run: func(ctx context.Context, a *spawn.Attempt) error {
			if a.Number() == 1 {
				go func() { // is left behind
					time.Sleep(5 * time.Second)
					a.Report(rateLimited(20))
				}()
				return s.call(ctx, a, fails("A", exhausted(2)))
			}
			time.Sleep(10 * time.Second)
			return s.call(ctx, a, accepts)
		}})
		s.at(6)
		require.False(t, s.pool.Status()[0].Limiter.BlockedUntil.IsZero())
		require.True(t, s.pool.Status()[1].Limiter.BlockedUntil.IsZero())
		_, err := s.wait(h)
		require.NoError(t, err)
		require.Equal(t, "AB", s.seen())
	})
}

// A look at a secret that is slower than the next one shows the old secret.
func TestK6_AnOldFingerprintIsNoNewSecret(t *testing.T) {
	var u setup
	slow, look := false, make(chan struct{})
	u.pool.Fingerprint = func(c pool.Credential[string]) string {
		if slow && c.ID == "A" {
			slow = false
			<-look
		}
		return c.Value
	}
	play(t, u, func(s *scene) {
		look = make(chan struct{})
		slow = true
		go s.pool.Status()
		synctest.Wait()
		require.NoError(t, s.pool.Set("A", secret("A")+"2"))
		s.park(map[string]float64{"A": 60})
		close(look)
		synctest.Wait()
		require.Equal(t, map[string]float64{"A": 60}, s.parked())
		require.Zero(t, s.kinds(pool.EventReturned))
	})
}
