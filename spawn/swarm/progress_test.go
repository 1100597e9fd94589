package swarm_test

import (
	"context"
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdoff-go/holdoff/limiter"
	"github.com/holdoff-go/holdoff/retry"
	"github.com/holdoff-go/holdoff/spawn"
	"github.com/holdoff-go/holdoff/spawn/swarm"
)

// staged is a swarm of four at two at a time, and what becomes of each: a succeeds at
// once, b is refused once, c is parked, d dies.
func staged(t *testing.T, f *fleet, cfg swarm.Config[string, string]) *swarm.Swarm[string, string, string] {
	cfg.Spawner = f.spawner
	return newSwarm(t, cfg, letters("a", "b", "c", "d"), f.calling(2*time.Second, func(key string, at time.Duration) error {
		switch {
		case key == "b" && at == 0:
			return refused(20 * time.Second)
		case key == "c":
			return refused(5 * time.Hour)
		case key == "d":
			return fmt.Errorf("no such file: %w", retry.Fatal)
		}
		return nil
	}))
}

func TestProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, limiter.Config{Budget: 2}, spawn.Config{})
		sw := staged(t, f, swarm.Config[string, string]{Cap: 2, Total: 4})
		require.Equal(t, swarm.Progress{Total: 4}, sw.Progress())
		seen := make(map[time.Duration]swarm.Progress)
		for _, at := range []time.Duration{10 * time.Millisecond, time.Second, 10 * time.Second} {
			time.AfterFunc(at, func() {
				p := sw.Progress()
				p.Elapsed = 0
				f.mu.Lock()
				defer f.mu.Unlock()
				seen[at] = p
			})
		}
		_, all := collect(sw.Results(t.Context()))
		require.Equal(t, []spawn.State{spawn.Succeeded, spawn.Succeeded, spawn.Parked, spawn.Dead}, states(all))

		require.Equal(t, swarm.Progress{Total: 4, Running: 2}, seen[10*time.Millisecond], "no ETA before one has ended")
		require.Equal(t, swarm.Progress{Total: 4, Running: 1, BackingOff: 1}, seen[time.Second])
		require.Equal(t, swarm.Progress{
			Total: 4, Done: 1, Queued: 1, BackingOff: 1,
			ETA: 30 * time.Second, // 10 s for the first, and three to come
		}, seen[10*time.Second])
		end := sw.Progress()
		require.Equal(t, f.now(), end.Elapsed)
		end.Elapsed = 0
		require.Equal(t, swarm.Progress{Total: 4, Done: 2, Parked: 1, Dead: 1}, end)
		require.Equal(t, 4, end.Ended())
	})
}

func TestProgress_ETAIsNotBeforeTheFirstThatGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, limiter.Config{}, spawn.Config{})
		sw := newSwarm(t, swarm.Config[string, string]{Spawner: f.spawner, Total: 2}, letters("quick", "slow"),
			f.calling(time.Second, func(key string, at time.Duration) error {
				if key == "slow" && at == 0 {
					return refused(10 * time.Minute)
				}
				return nil
			}))
		time.AfterFunc(2*time.Second, func() {
			require.Equal(t, 598*time.Second, sw.Progress().ETA.Round(time.Second))
		})
		collect(sw.Results(t.Context()))
	})
}

func TestProgress_WithoutATotal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, limiter.Config{}, spawn.Config{})
		sw := newSwarm(t, swarm.Config[string, string]{Spawner: f.spawner, Cap: 1}, letters("a", "b", "c"), f.calling(time.Second, nil))
		var totals []int
		for range sw.Results(t.Context()) {
			synctest.Wait()
			totals = append(totals, sw.Progress().Total)
		}
		require.Equal(t, []int{0, 3, 3}, totals, "the last has been taken while the second is at work")
	})
}

func TestEvents_TellEachChangeOfAMember(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, limiter.Config{Budget: 2}, spawn.Config{})
		var mu sync.Mutex
		told := make(map[string][]swarm.EventKind)
		sw := staged(t, f, swarm.Config[string, string]{Name: "batch", OnEvent: func(e swarm.Event[string]) {
			mu.Lock()
			defer mu.Unlock()
			told[e.Key] = append(told[e.Key], e.Kind)
			require.Equal(t, "batch/"+e.Key, e.ID)
			if e.Kind == swarm.EventSuspended {
				require.Equal(t, retry.RateLimited, e.Verdict.Class)
				require.False(t, e.Until.IsZero())
				require.Equal(t, 1, e.Progress.BackingOff)
			}
		}})
		collect(sw.Results(t.Context()))
		require.Equal(t, map[string][]swarm.EventKind{
			"a": {swarm.EventStarted, swarm.EventFinished},
			"b": {swarm.EventStarted, swarm.EventSuspended, swarm.EventResumed, swarm.EventFinished},
			"c": {swarm.EventStarted, swarm.EventAbandoned},
			"d": {swarm.EventStarted, swarm.EventAbandoned},
		}, told)
	})
}

func TestEvents_WhoseHookFails(t *testing.T) {
	for name, tt := range map[string]struct {
		hook func()
		want spawn.State
	}{
		"panic":  {func() { panic("a bug of the host") }, spawn.Succeeded},
		"goexit": {runtime.Goexit, spawn.Canceled},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFleet(t, limiter.Config{}, spawn.Config{Logger: slog.New(slog.DiscardHandler)})
				sw := newSwarm(t, swarm.Config[string, string]{Spawner: f.spawner, OnEvent: func(e swarm.Event[string]) {
					if e.Key == "a" {
						tt.hook()
					}
				}}, letters("a", "b"), f.calling(time.Second, nil))
				_, all := collect(sw.Results(t.Context()))
				require.Equal(t, []spawn.State{tt.want, spawn.Succeeded}, states(all))
				require.Equal(t, tt.want == spawn.Succeeded, all[0].Err == nil)
			})
		})
	}
}

// A broken store fails in one of the ways a store can.
type broken struct {
	swarm.Memory[string, string]
	load, save func() error
}

func (b *broken) Load(ctx context.Context, key string) (string, bool, error) {
	if b.load != nil {
		return "", false, b.load()
	}
	return b.Memory.Load(ctx, key)
}

func (b *broken) Save(ctx context.Context, key, value string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if b.save != nil {
		return b.save()
	}
	return b.Memory.Save(ctx, key, value)
}

func TestStore_StartsOnlyWhatIsMissing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		// Given a swarm that was canceled halfway
		var store swarm.Memory[string, string]
		f := newFleet(t, limiter.Config{Budget: 2}, spawn.Config{})
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		cfg := swarm.Config[string, string]{Spawner: f.spawner, Cap: 2, Store: &store, Total: 5}
		first := newSwarm(t, cfg, letters("a", "b", "c", "d", "e"), f.calling(2*time.Second, nil))
		collect(first.Results(ctx))
		require.Equal(t, 2, first.Progress().Done)
		calls := len(f.made())

		// when the same keys are run again, in another order
		again := newSwarm(t, cfg, letters("e", "d", "c", "b", "a"), f.calling(2*time.Second, nil))
		keys, all := collect(again.Results(t.Context()))

		// then only what is missing is started.
		for i, r := range all {
			require.NoError(t, r.Err)
			require.Equal(t, "done "+keys[i], r.Value)
			require.Equal(t, spawn.Succeeded, r.Run.State)
			require.Equal(t, i > 2, r.Stored)
		}
		require.Len(t, f.made(), calls+3)
		p := again.Progress()
		require.Equal(t, []int{5, 5, 2}, []int{p.Total, p.Done, p.Stored})
	})
}

func TestStore_KeepsWhatAMemberFinishesAfterTheCancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, limiter.Config{}, spawn.Config{})
		store := new(broken) // whose Save minds its context
		ctx, cancel := context.WithCancel(t.Context())
		sw := newSwarm(t, swarm.Config[string, string]{Spawner: f.spawner, Store: store}, letters("a"),
			func(context.Context, *spawn.Attempt, string) (string, error) {
				cancel()
				return "finished all the same", nil
			})
		_, all := collect(sw.Results(ctx))
		require.NoError(t, all[0].Err)
		value, ok, err := store.Load(t.Context(), "a")
		require.NoError(t, err)
		require.True(t, ok)
		require.Equal(t, "finished all the same", value)
	})
}

func TestStore_ThatFails(t *testing.T) {
	full := fmt.Errorf("disk full")
	for name, tt := range map[string]struct {
		store *broken
		want  string
		calls int
		value string
	}{
		"to load":   {&broken{load: func() error { return full }}, "the store was not read: disk full", 0, ""},
		"to save":   {&broken{save: func() error { return full }}, "the result was not stored: disk full", 1, "done a"},
		"loading":   {&broken{load: func() error { panic("corrupt") }}, "Store.Load panicked: corrupt", 0, ""},
		"for good":  {&broken{save: func() error { runtime.Goexit(); return nil }}, "the result was not stored: spawn: worker or hook called runtime.Goexit", 1, "done a"},
		"in saving": {&broken{save: func() error { panic("corrupt") }}, "Store.Save panicked: corrupt", 1, "done a"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFleet(t, limiter.Config{}, spawn.Config{})
				sw := newSwarm(t, swarm.Config[string, string]{Spawner: f.spawner, Store: tt.store}, letters("a"), f.calling(time.Second, nil))
				_, all := collect(sw.Results(t.Context()))
				require.Len(t, all, 1)
				require.ErrorContains(t, all[0].Err, tt.want)
				require.Equal(t, tt.value, all[0].Value, "paid for, and not lost")
				require.Len(t, f.made(), tt.calls)
			})
		})
	}
}

func TestMemory_IsReadyToUse(t *testing.T) {
	var m swarm.Memory[int, []string]
	_, ok, err := m.Load(t.Context(), 1)
	require.NoError(t, err)
	require.False(t, ok)
	require.NoError(t, m.Save(t.Context(), 1, []string{"x"}))
	value, ok, err := m.Load(t.Context(), 1)
	require.NoError(t, err)
	require.True(t, ok)
	require.True(t, slices.Equal([]string{"x"}, value))
}
