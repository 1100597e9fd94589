package pool_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdoff-go/holdoff/retry"
	"github.com/holdoff-go/holdoff/spawn"
	"github.com/holdoff-go/holdoff/spawn/pool"
)

// Laws that hold whatever happens: nobody calls with a credential that is parked,
// nobody is above a budget, no slot is lost, sums are sums, and each run ends once.
func TestLaws(t *testing.T) {
	for seed := range uint64(20) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			u := setup{
				ids: "ABCD", slots: 1 + int(seed%7), own: 1 + int(seed%3),
				accounts: map[string]string{"C": "one", "D": "one"},
				spawn:    spawn.Config{Policy: retry.Policy{MaxElapsed: 5 * time.Hour}},
			}
			if seed%2 == 0 {
				u.pool.Hops = pool.WalkPool
			}
			var mu sync.Mutex
			rnd := rand.New(rand.NewPCG(seed, 1))
			draw := func(n int) int {
				mu.Lock()
				defer mu.Unlock()
				return rnd.IntN(n)
			}
			u.pool.OnSwitch = func(context.Context, string, string) error {
				time.Sleep(time.Duration(draw(3)) * time.Second)
				if draw(5) == 0 {
					return errSwitch
				}
				return nil
			}
			play(t, u, func(s *scene) {
				answer := func(c callTo) error {
					require.NotContains(s, s.parked(), c.credential)
					for _, st := range s.group.Status() {
						require.LessOrEqual(s, st.InFlight, max(u.slots, u.own), "%s", st.Name)
					}
					time.Sleep(time.Duration(draw(3000)) * time.Millisecond)
					switch draw(12) {
					case 0:
						return exhausted(float64(draw(2000)))
					case 1:
						return unauthorized()
					case 2:
						return rateLimited(float64(draw(30)))
					case 3:
						return overloaded()
					case 4:
						require.NoError(s, s.pool.Set("A", secret("A")))
					case 5:
						require.NoError(s, s.pool.Set("B", secret("B")))
					}
					return nil
				}
				var handles []*spawn.Handle
				for i := range 60 {
					w := spawn.Worker{ID: fmt.Sprint(i), Run: func(ctx context.Context, a *spawn.Attempt) error {
						a.Spend(1)
						if err := s.call(ctx, a, answer); err != nil || draw(2) == 0 {
							return err
						}
						if draw(4) == 0 {
							_, err := s.spawner.Run(ctx, spawn.Worker{Run: s.work(answer)})
							return err
						}
						return a.Wait(ctx)
					}}
					handles = append(handles, s.spawner.Start(s.ctx, w))
					time.Sleep(time.Duration(draw(2000)) * time.Millisecond)
				}
				for _, h := range handles {
					r, _ := s.wait(h)
					require.True(s, r.State.Terminal())
					var attempts int
					var units int64
					for _, l := range r.Ledger {
						attempts += l.Attempts
						units += l.Units
					}
					require.Equal(s, r.Total, attempts)
					require.EqualValues(s, r.Total, units)
				}
				synctest.Wait()
				for _, st := range s.group.Status() {
					require.Zero(s, st.InFlight, "%s", st.Name)
					require.Zero(s, st.Waiting, "%s", st.Name)
				}
			})
		})
	}
}

var errSwitch = fmt.Errorf("the switch has failed")
