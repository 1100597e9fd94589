package pool_test

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdoff-go/holdoff/retry"
	"github.com/holdoff-go/holdoff/spawn"
	"github.com/holdoff-go/holdoff/spawn/pool"
)

// Hooks of a switch, which all wait for.

func TestHeadroom_MayEndItsGoroutine(t *testing.T) {
	var u setup
	u.pool.Headroom = func(string) float64 { runtime.Goexit(); return 0 }
	play(t, u, func(s *scene) {
		_, err := s.run("w", fails("A", exhausted(0)))
		require.NoError(t, err)
		require.Equal(t, "AB", s.seen())
	})
}

func TestOnSwitch_DoesNotWaitForItself(t *testing.T) {
	var p *pool.Pool[string]
	u := setup{ids: "ABC"}
	u.pool.OnSwitch = func(ctx context.Context, _, _ string) error { return p.Switch(ctx, "C") }
	play(t, u, func(s *scene) {
		p = s.pool
		r, err := s.run("w", fails("A", exhausted(0)))
		require.Equal(t, spawn.Parked, r.State)
		require.ErrorContains(t, err, "it would wait for itself")
		require.Equal(t, []string{"AB", "AC"}, s.switched())
	})
}

func TestOnEvent_MaySwitch(t *testing.T) {
	for name, err := range map[string]error{"after a switch": nil, "after one that failed": errors.New("cannot log in")} {
		t.Run(name, func(t *testing.T) {
			u := setup{ids: "ABC"}
			u.pool.OnSwitch = func(_ context.Context, _, to string) error {
				if to == "B" {
					return err
				}
				return nil
			}
			play(t, u, func(s *scene) {
				s.onEvent = func(e pool.Event) {
					if e.Kind == pool.EventSwitched || e.Kind == pool.EventSwitchFailed {
						require.NoError(t, s.pool.Switch(context.Background(), "C"))
					}
				}
				_, err := s.run("w", fails("AB", exhausted(0)))
				if err != nil {
					require.ErrorIs(t, err, pool.ErrHops, "B was quicker")
				}
				synctest.Wait()
				require.True(t, s.pool.Status()[2].InUse)
			})
		})
	}
}

// A switch by hand.

func TestSwitch_MovesWhoWaits(t *testing.T) {
	play(t, setup{slots: 1}, func(s *scene) {
		first := s.launch("first", func(callTo) error { time.Sleep(10 * time.Second); return nil })
		s.at(1)
		second := s.launch("second", accepts)
		s.at(2)
		require.NoError(t, s.pool.Switch(s.ctx, "B"))
		for _, h := range []*spawn.Handle{first, second} {
			_, err := s.wait(h)
			require.NoError(t, err)
		}
		require.Equal(t, "AB", s.seen())
	})
}

func TestSwitch_LeavesWhatRuns(t *testing.T) {
	play(t, setup{}, func(s *scene) {
		h := s.spawner.Start(s.ctx, spawn.Worker{ID: "w", Run: func(ctx context.Context, a *spawn.Attempt) error {
			if a.Report(s.call(ctx, a, func(callTo) error { return rateLimited(20) })); a.Number() > 1 {
				return errors.New("it was run again")
			}
			if err := a.Wait(ctx); err != nil {
				return err
			}
			return s.call(ctx, a, accepts)
		}})
		s.at(5)
		require.NoError(t, s.pool.Switch(s.ctx, "B"))
		r, err := s.wait(h)
		require.NoError(t, err)
		require.Equal(t, 1, r.Total)
		require.Equal(t, "AA", s.seen())
		require.GreaterOrEqual(t, s.calls[1].at, 20.0)
	})
}

// A wait that ends in the very instant of MaxElapsed leaves the next one its end.
func TestTake_EndsWithMaxElapsedAfterASwitchOfThatLength(t *testing.T) {
	for range 50 { // which of the two comes first, is chance
		u := setup{ids: "ABC", spawn: spawn.Config{Policy: retry.Policy{MaxElapsed: 10 * time.Second}}}
		u.pool.Hops = pool.WalkPool
		u.pool.OnSwitch = func(ctx context.Context, _, to string) error {
			if to == "B" {
				time.Sleep(10 * time.Second)
				return nil
			}
			<-ctx.Done()
			return ctx.Err()
		}
		play(t, u, func(s *scene) {
			h := s.spawner.Start(s.ctx, spawn.Worker{ID: "w", Run: func(ctx context.Context, a *spawn.Attempt) error {
				return s.call(ctx, a, fails("AB", exhausted(0)))
			}})
			_, err := s.wait(h)
			require.ErrorIs(t, err, retry.ErrElapsed)
			require.Equal(t, 10*time.Second, time.Since(s.start))
		})
	}
}
