package swarm_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdoff-go/holdoff/limiter"
	"github.com/holdoff-go/holdoff/retry"
	"github.com/holdoff-go/holdoff/spawn"
	"github.com/holdoff-go/holdoff/spawn/swarm"
)

func names(n int) []string {
	var names []string
	for i := range n {
		names = append(names, fmt.Sprintf("t%02d", i))
	}
	return names
}

func TestC4_FanOutStormDoesNotFillTheProvider(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, limiter.Config{Budget: 8}, spawn.Config{Policy: retry.Policy{MaxElapsed: 200 * time.Second}})
		_, all := collect(swarm.Run(t.Context(), f.spawner, letters(names(98)...), f.calling(time.Second, always(0))))

		require.LessOrEqual(t, f.now(), 226*time.Second)
		require.Len(t, all, 98)
		for _, r := range all {
			var typed *retry.Error
			require.ErrorAs(t, r.Err, &typed)
			require.ErrorIs(t, r.Err, retry.RateLimited)
		}
		started := make(map[string]bool)
		for _, c := range f.made() {
			if c.at < time.Minute {
				started[c.key] = true
			}
		}
		require.LessOrEqual(t, len(started), 8)
		require.LessOrEqual(t, len(f.made()), 40)
	})
}

func TestB3_OneRefusalStopsTheSwarm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, limiter.Config{Budget: 10}, spawn.Config{})
		answer := func(key string, at time.Duration) error {
			if key == "t00" && at == 0 {
				return refused(90 * time.Second)
			}
			return nil
		}
		// Ten at work, of which nine come back for more at 1 s to 9 s.
		work := f.calling(0, answer)
		sw := newSwarm(t, swarm.Config[string, string]{Spawner: f.spawner, Cap: 10, Burst: 1, Pace: time.Second},
			letters(names(20)...), work)
		_, all := collect(sw.Results(t.Context()))

		calls := f.made()
		require.Equal(t, call{"t00", 0}, calls[0])
		for _, c := range calls[1:] {
			require.GreaterOrEqual(t, c.at, 90*time.Second)
		}
		require.Equal(t, "t00", calls[1].key, "the refused one is the first in line")
		for _, r := range all {
			require.NoError(t, r.Err)
		}
	})
}

func TestFairRequeue_FirstRefusedFirstServed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		// Given eight members that are refused one after the other, in an order
		// that is not theirs, and eight that have not started
		f := newFleet(t, limiter.Config{Budget: 8}, spawn.Config{})
		order := []int{3, 0, 7, 4, 1, 6, 2, 5}
		first := func(key string, at time.Duration) error {
			if at != 0 {
				return nil
			}
			i := slices.Index(names(8), key)
			time.Sleep(time.Duration(1+slices.Index(order, i)) * time.Millisecond)
			return refused(30 * time.Second)
		}
		// and one place for all of them afterwards
		time.AfterFunc(time.Second, func() { _ = f.limiter.SetBudget(1) })
		sw := newSwarm(t, swarm.Config[string, string]{Spawner: f.spawner, Burst: 8, Pace: 10 * time.Millisecond},
			letters(names(16)...), f.calling(time.Second, first))
		_, all := collect(sw.Results(t.Context()))

		// then they are served in the order in which they were refused, and before
		// all who are new.
		var served []string
		for _, c := range f.made()[8:] {
			served = append(served, c.key)
		}
		var want []string
		for _, i := range order {
			want = append(want, names(8)[i])
		}
		require.Equal(t, append(want, names(16)[8:]...), served)
		for _, r := range all {
			require.NoError(t, r.Err)
		}
	})
}

// A storm of five and a half minutes kills nobody in a fleet of four (H12). Here
// three of the four have ended when it comes.
func TestLoneStraggler_IsTreatedLikeAnybody(t *testing.T) {
	for _, stated := range []time.Duration{0, time.Second, 5 * time.Second, 30 * time.Second} {
		t.Run(stated.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFleet(t, limiter.Config{}, spawn.Config{})
				_, all := collect(swarm.Run(t.Context(), f.spawner, letters("a", "b", "c", "last"),
					f.calling(time.Second, func(key string, at time.Duration) error {
						if key == "last" {
							return storm(0, 330*time.Second, refused(stated))(key, at)
						}
						return nil
					})))
				require.Equal(t, []spawn.State{spawn.Succeeded, spawn.Succeeded, spawn.Succeeded, spawn.Succeeded}, states(all))
				require.LessOrEqual(t, all[3].Run.Total, 14)
			})
		})
	}
	t.Run("without patience", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			f := newFleet(t, limiter.Config{}, spawn.Config{})
			sw := newSwarm(t, swarm.Config[string, string]{Spawner: f.spawner, Patience: -1}, letters("last"), f.calling(0, always(0)))
			_, all := collect(sw.Results(t.Context()))
			require.Equal(t, []spawn.State{spawn.Dead}, states(all))
			require.Equal(t, 4, all[0].Run.Total)
			require.Less(t, f.now(), 22*time.Second)
		})
	})
}

func TestPatience_Ends(t *testing.T) {
	t.Run("with its time", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			f := newFleet(t, limiter.Config{}, spawn.Config{})
			_, all := collect(swarm.Run(t.Context(), f.spawner, letters("poison"), f.calling(0, always(0))))
			require.Equal(t, []spawn.State{spawn.Dead}, states(all))
			require.ErrorIs(t, all[0].Err, retry.RateLimited)
			require.Greater(t, f.now(), 10*time.Minute)
			require.Less(t, f.now(), 20*time.Minute)
		})
	})
	t.Run("for one that is refused while others are served", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			f := newFleet(t, limiter.Config{Budget: 4}, spawn.Config{})
			_, all := collect(swarm.Run(t.Context(), f.spawner, letters(append([]string{"poison"}, names(400)...)...),
				f.calling(time.Second, func(key string, _ time.Duration) error {
					if key == "poison" {
						return refused(0)
					}
					return nil
				})))
			require.Equal(t, spawn.Dead, all[0].Run.State)
			require.LessOrEqual(t, all[0].Run.Total, 5)
			for _, r := range all[1:] {
				require.NoError(t, r.Err)
			}
		})
	})
	t.Run("where the policy has no retries", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			f := newFleet(t, limiter.Config{}, spawn.Config{Policy: retry.Policy{MaxRetries: -1}})
			_, all := collect(swarm.Run(t.Context(), f.spawner, letters("a", "b"), f.calling(0, always(0))))
			require.Equal(t, []spawn.State{spawn.Dead, spawn.Dead}, states(all))
			require.Len(t, f.made(), 2)
		})
	})
}

func TestM5_ResultsAndErrorsTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, limiter.Config{Budget: 8}, spawn.Config{})
		keys, all := collect(swarm.Run(t.Context(), f.spawner, letters("a", "b", "c", "d", "e", "f"),
			f.calling(time.Second, func(key string, _ time.Duration) error {
				if key == "b" || key == "e" {
					return fmt.Errorf("task %s: %w", key, retry.Transient)
				}
				return nil
			})))
		require.Equal(t, []string{"a", "b", "c", "d", "e", "f"}, keys)
		var values []string
		var failures []*retry.Error
		for _, r := range all {
			var typed *retry.Error
			if errors.As(r.Err, &typed) {
				failures = append(failures, typed)
			} else {
				values = append(values, r.Value)
			}
		}
		require.Equal(t, []string{"done a", "done c", "done d", "done f"}, values)
		require.Len(t, failures, 2)
		for _, e := range failures {
			require.Equal(t, 4, e.Attempts)
			require.ErrorIs(t, e, retry.Transient)
		}
	})
}
