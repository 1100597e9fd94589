package limiter_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdoff-go/holdoff/limiter"
)

// exchangeGroup has a provider of one slot, and keys with as many as given.
func exchangeGroup(t *testing.T, provider, own int) (g *limiter.Group, gate func(key string) *limiter.Gate) {
	t.Helper()
	top := limiter.Key{Scope: "provider"}
	g, err := limiter.NewGroup(limiter.GroupConfig{Config: func(k limiter.Key) limiter.Config {
		if k == top {
			return limiter.Config{Budget: provider}
		}
		return limiter.Config{Budget: own}
	}})
	require.NoError(t, err)
	return g, func(key string) *limiter.Gate { return g.Of(top, limiter.Key{Scope: "key", Name: key}) }
}

func inFlight(g *limiter.Group) map[string]int {
	n := map[string]int{}
	for _, st := range g.Status() {
		if st.InFlight > 0 {
			n[st.Name] = st.InFlight
		}
	}
	return n
}

func TestExchange_NobodyGetsInBetween(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, gate := exchangeGroup(t, 1, 1)
		slot, err := gate("A").TryAcquire()
		require.NoError(t, err)
		var admitted atomic.Int32
		var waiters sync.WaitGroup
		for _, key := range []string{"A", "B"} {
			waiters.Go(func() {
				s, err := gate(key).Acquire(t.Context())
				if err != nil {
					t.Error(err)
				}
				admitted.Add(1)
				s.Release()
			})
		}
		synctest.Wait()
		moved, err := gate("B").Exchange(slot)
		require.NoError(t, err)
		synctest.Wait()
		require.Zero(t, admitted.Load())
		require.Equal(t, map[string]int{"provider": 1, "key:B": 1}, inFlight(g))
		slot.Release() // does nothing any more
		synctest.Wait()
		require.Zero(t, admitted.Load())
		moved.Release()
		waiters.Wait()
		require.Empty(t, inFlight(g))
	})
}

func TestExchange_GivesBackWhatOthersWaitFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, gate := exchangeGroup(t, 2, 1)
		slot, err := gate("A").TryAcquire()
		require.NoError(t, err)
		var waiter sync.WaitGroup
		waiter.Go(func() {
			s, err := gate("A").Acquire(t.Context())
			if err != nil {
				t.Error(err)
			}
			defer s.Release()
			time.Sleep(time.Second)
		})
		synctest.Wait()
		moved, err := gate("B").Exchange(slot)
		require.NoError(t, err)
		synctest.Wait()
		require.Equal(t, map[string]int{"provider": 2, "key:A": 1, "key:B": 1}, inFlight(g))
		moved.Release()
		waiter.Wait()
	})
}

func TestExchange_RefusedLeavesTheSlot(t *testing.T) {
	for name, shut := range map[string]func(*limiter.Gate){
		"a pause":     func(b *limiter.Gate) { b.ReportRateLimited(time.Minute) },
		"a hold":      func(b *limiter.Gate) { b.Hold("maintenance") },
		"no free one": func(b *limiter.Gate) { _, _ = b.TryAcquire() },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g, gate := exchangeGroup(t, 1, 1)
				shut(g.Of(limiter.Key{Scope: "key", Name: "B"}))
				slot, err := gate("A").TryAcquire()
				require.NoError(t, err)
				before := inFlight(g)
				_, err = gate("B").Exchange(slot)
				var blocked *limiter.BlockedError
				require.ErrorAs(t, err, &blocked)
				require.Equal(t, "key:B", blocked.Name)
				require.Equal(t, before, inFlight(g))
				slot.Release()
				_, err = gate("A").TryAcquire()
				require.NoError(t, err)
			})
		})
	}
}

// A probe that is exchanged in vain is the probe still.
func TestExchange_RefusedLeavesTheProbe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, gate := exchangeGroup(t, 4, 4)
		a := g.Of(limiter.Key{Scope: "key", Name: "A"})
		a.ReportRateLimited(time.Second)
		time.Sleep(2 * time.Second)
		probe, err := gate("A").TryAcquire()
		require.NoError(t, err)
		b := g.Of(limiter.Key{Scope: "key", Name: "B"})
		b.Hold("")
		_, err = gate("B").Exchange(probe)
		require.Error(t, err)
		_, err = gate("A").TryAcquire()
		var blocked *limiter.BlockedError
		require.ErrorAs(t, err, &blocked)
		require.Equal(t, limiter.ReasonProbing, blocked.Reason)

		b.Resume("")
		_, err = gate("B").Exchange(probe)
		require.NoError(t, err)
		_, err = gate("A").TryAcquire()
		require.NoError(t, err, "it has passed its turn on")
	})
}

// Reports of a slot come at any time: a -race test.
func TestExchange_WhileTheSlotReports(t *testing.T) {
	for name, newSlot := range map[string]func(t *testing.T, g *limiter.Group, a, b *limiter.Gate) (*limiter.Slot, error){
		"in vain": func(t *testing.T, _ *limiter.Group, a, b *limiter.Gate) (*limiter.Slot, error) {
			_, err := b.TryAcquire()
			require.NoError(t, err)
			return a.TryAcquire()
		},
		"released, and its limiter forgotten": func(t *testing.T, g *limiter.Group, a, _ *limiter.Gate) (*limiter.Slot, error) {
			slot, err := a.TryAcquire()
			require.NoError(t, err)
			slot.Release()
			time.Sleep(time.Hour)
			require.Empty(t, g.Status())
			other, err := g.Of(a.Keys()...).TryAcquire()
			require.NoError(t, err)
			other.Release()
			return slot, nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g, gate := exchangeGroup(t, 4, 1)
				b := gate("B")
				slot, err := newSlot(t, g, gate("A"), b)
				require.NoError(t, err)
				before := inFlight(g)
				var all sync.WaitGroup
				all.Go(func() {
					for range 50 {
						if _, err := b.Exchange(slot); err == nil {
							t.Error("it must not succeed")
						}
					}
				})
				all.Go(func() {
					for range 50 {
						slot.ReportSuccess()
						slot.At("provider").ReportSuccess()
						call, err := slot.Wait(t.Context())
						if err != nil {
							t.Error(err)
						}
						call.ReportSuccess()
					}
				})
				all.Wait()
				require.Equal(t, before, inFlight(g))
			})
		})
	}
}

func TestExchange_OfWhatIsNone(t *testing.T) {
	_, gate := exchangeGroup(t, 1, 1)
	_, err := gate("A").Exchange(nil)
	require.ErrorContains(t, err, "another group")
	alone, err := limiter.New(limiter.Config{})
	require.NoError(t, err)
	slot, err := alone.TryAcquire()
	require.NoError(t, err)
	_, err = gate("A").Exchange(slot)
	require.ErrorContains(t, err, "another group")
	slot, err = gate("A").TryAcquire()
	require.NoError(t, err)
	slot.Release()
	_, err = gate("A").Exchange(slot)
	require.ErrorContains(t, err, "has been released")
}
