package swarm_test

import (
	"context"
	"errors"
	"iter"
	"runtime"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdoff-go/holdoff/limiter"
	"github.com/holdoff-go/holdoff/retry"
	"github.com/holdoff-go/holdoff/spawn"
	"github.com/holdoff-go/holdoff/spawn/swarm"
)

func TestNew_NamesWhatMakesNoSense(t *testing.T) {
	l, err := limiter.New(limiter.Config{})
	require.NoError(t, err)
	s, err := spawn.New(spawn.Config{Limiter: l})
	require.NoError(t, err)
	f := func(context.Context, *spawn.Attempt, string) (string, error) { return "", nil }
	for name, tt := range map[string]struct {
		cfg  swarm.Config[string, string]
		want string
	}{
		"no spawner": {swarm.Config[string, string]{}, "swarm: Config.Spawner is nil"},
		"cap":        {swarm.Config[string, string]{Spawner: s, Cap: -1}, "swarm: Config.Cap is -1"},
		"burst":      {swarm.Config[string, string]{Spawner: s, Burst: -2, Pace: 1}, "swarm: Config.Burst is -2"},
		"lone burst": {swarm.Config[string, string]{Spawner: s, Burst: 2}, "swarm: Config.Burst is 2: it has no meaning without Pace"},
		"pace":       {swarm.Config[string, string]{Spawner: s, Pace: -time.Second}, "swarm: Config.Pace is -1s"},
		"ahead":      {swarm.Config[string, string]{Spawner: s, Ahead: -3}, "swarm: Config.Ahead is -3"},
		"total":      {swarm.Config[string, string]{Spawner: s, Total: -4}, "swarm: Config.Total is -4"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := swarm.New(tt.cfg, letters("a"), f)
			require.ErrorContains(t, err, tt.want)
		})
	}
	good := swarm.Config[string, string]{Spawner: s}
	_, err = swarm.New(good, nil, f)
	require.ErrorContains(t, err, "inputs are nil")
	_, err = swarm.New[string, string](good, letters("a"), nil)
	require.ErrorContains(t, err, "function is nil")

	t.Run("Run yields it", func(t *testing.T) {
		keys, all := collect(swarm.Run(t.Context(), nil, letters("a", "b"), f))
		require.Equal(t, []string{""}, keys)
		require.ErrorContains(t, all[0].Err, "Config.Spawner is nil")
	})
}

func TestResults_AreInTheOrderOfTheInputs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, limiter.Config{}, spawn.Config{})
		inputs := []int{5, 4, 3, 2, 1}
		var keys []int
		var values []string
		for i, r := range swarm.Run(t.Context(), f.spawner, slices.All(inputs), func(ctx context.Context, _ *spawn.Attempt, n int) (string, error) {
			return strconv.Itoa(n), wait(ctx, time.Duration(n)*time.Second, nil)
		}) {
			require.NoError(t, r.Err)
			require.Equal(t, spawn.Succeeded, r.Run.State)
			keys, values = append(keys, i), append(values, r.Value)
		}
		require.Equal(t, []int{0, 1, 2, 3, 4}, keys)
		require.Equal(t, []string{"5", "4", "3", "2", "1"}, values)
		require.Equal(t, 5*time.Second, f.now(), "they ran side by side")
	})
}

func TestStart_BurstThenPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, limiter.Config{Budget: 100}, spawn.Config{})
		sw := newSwarm(t, swarm.Config[string, string]{Spawner: f.spawner, Cap: 8, Burst: 5, Pace: 700 * time.Millisecond},
			letters(names(12)...), f.calling(4*time.Second, nil))
		collect(sw.Results(t.Context()))

		var at []time.Duration
		for _, c := range f.made() {
			at = append(at, c.at)
		}
		require.Equal(t, []time.Duration{
			0, 0, 0, 0, 0, // the burst
			700 * time.Millisecond, 1400 * time.Millisecond, 2100 * time.Millisecond, // at a pace, until the cap
			4 * time.Second, // five places are free at once, and are taken at the pace
			4700 * time.Millisecond, 5400 * time.Millisecond, 6100 * time.Millisecond,
		}, at)
		require.Equal(t, 8, f.most)
	})
}

func TestCap_HoldsThroughAStorm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, limiter.Config{Budget: 100}, spawn.Config{})
		var most atomic.Int64
		cfg := swarm.Config[string, string]{Spawner: f.spawner, Cap: 5, OnEvent: func(e swarm.Event[string]) {
			p := e.Progress
			if alive := int64(p.Queued + p.Running + p.BackingOff); alive > most.Load() {
				most.Store(alive)
			}
		}}
		sw := newSwarm(t, cfg, letters(names(60)...), f.calling(2*time.Second, storm(7*time.Second, 90*time.Second, 0)))
		_, all := collect(sw.Results(t.Context()))
		require.Len(t, all, 60)
		for _, r := range all {
			require.NoError(t, r.Err)
		}
		require.Equal(t, int64(5), most.Load())
		require.LessOrEqual(t, f.most, 5)
	})
}

func TestInputs_AreTakenAsTheyCanBeStarted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		// Given more inputs than fit anywhere
		f := newFleet(t, limiter.Config{Budget: 100}, spawn.Config{})
		var taken atomic.Int64
		var inputs iter.Seq2[string, string] = func(yield func(string, string) bool) {
			for n := 0; yield(strconv.Itoa(n), strconv.Itoa(n)); n++ {
				taken.Add(1)
			}
		}
		before := runtime.NumGoroutine()
		sw := newSwarm(t, swarm.Config[string, string]{Spawner: f.spawner, Cap: 10, Ahead: 25}, inputs,
			func(ctx context.Context, _ *spawn.Attempt, in string) (string, error) {
				if in == "0" {
					return "", wait(ctx, time.Hour, nil) // all others wait for it
				}
				return "", wait(ctx, time.Second, nil)
			})
		for range sw.Results(t.Context()) {
			// Then the one that is waited for bounds how many are taken, and the cap
			// how many run.
			require.LessOrEqual(t, taken.Load(), int64(1+25+2))
			require.GreaterOrEqual(t, taken.Load(), int64(25))
			require.LessOrEqual(t, runtime.NumGoroutine()-before, 3*10+5)
			break
		}
		require.Equal(t, time.Hour, f.now())
	})
}

func TestBreak_KeepsWhatHasFinished(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, limiter.Config{Budget: 10}, spawn.Config{})
		take := map[string]time.Duration{"a": time.Second, "b": time.Hour, "c": 500 * time.Millisecond, "d": time.Hour}
		sw := newSwarm(t, swarm.Config[string, string]{Spawner: f.spawner, Cap: 4, Total: 6}, letters("a", "b", "c", "d", "e", "f"),
			func(ctx context.Context, a *spawn.Attempt, in string) (string, error) {
				d := take[in]
				if len(f.madeBy(in)) > 0 {
					d = time.Second // the second time
				}
				return f.calling(d, nil)(ctx, a, in)
			})
		// When the loop is left after the first result, with c finished, b and d at work
		for key, r := range sw.Results(t.Context()) {
			require.Equal(t, "a", key)
			require.NoError(t, r.Err)
			break
		}
		// then nobody is at work any more,
		require.Equal(t, time.Second, f.now())
		require.Zero(t, f.inside)
		require.Equal(t, swarm.Progress{Total: 6, Done: 4, Elapsed: time.Second, ETA: time.Second / 2}, sw.Progress(), "all but b and d")
		// and the next one goes on from there, and runs c, e and f no more.
		keys, all := collect(sw.Results(t.Context()))
		require.Equal(t, []string{"b", "c", "d", "e", "f"}, keys)
		for i, r := range all {
			require.NoError(t, r.Err)
			require.Equal(t, "done "+keys[i], r.Value)
		}
		require.Len(t, f.madeBy("c"), 1)
		require.Len(t, f.madeBy("e"), 1)
		require.Len(t, f.madeBy("f"), 1)
		require.Len(t, f.madeBy("b"), 2)
		keys, _ = collect(sw.Results(t.Context()))
		require.Empty(t, keys, "all have been yielded")
		require.Equal(t, 6, sw.Progress().Done)
		require.Equal(t, 6, sw.Progress().Total)
	})
}

func TestCancel_KeepsWhatHasFinished(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, limiter.Config{Budget: 10}, spawn.Config{})
		over := errors.New("the operator went home")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(3*time.Second, func() { cancel(over) })
		sw := newSwarm(t, swarm.Config[string, string]{Spawner: f.spawner, Cap: 2}, letters(names(100)...), f.calling(2*time.Second, nil))
		keys, all := collect(sw.Results(ctx))

		require.Equal(t, 3*time.Second, f.now())
		require.Equal(t, names(100), keys, "every input has a result")
		for i, r := range all {
			if i < 2 {
				require.NoError(t, r.Err)
				continue
			}
			require.Equal(t, spawn.Canceled, r.Run.State)
			require.ErrorIs(t, r.Err, retry.Canceled)
			require.ErrorIs(t, r.Err, context.Canceled)
			require.ErrorIs(t, r.Err, over)
		}
		require.Equal(t, 2, sw.Progress().Done)
		require.Equal(t, 98, sw.Progress().Canceled)
	})
}

func TestDrain_KeepsWhatHasFinished(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, limiter.Config{Budget: 2}, spawn.Config{})
		time.AfterFunc(3*time.Second, func() { _ = f.spawner.Drain(context.Background()) })
		sw := newSwarm(t, swarm.Config[string, string]{Spawner: f.spawner, Cap: 4, Pace: 10 * time.Millisecond},
			letters(names(1000)...), f.calling(2*time.Second, nil))
		_, all := collect(sw.Results(t.Context()))
		require.Len(t, all, 1000)
		require.Less(t, f.now(), 5*time.Second, "what is not started is not paced")
		for i, r := range all {
			if i < 4 {
				require.NoError(t, r.Err)
			} else {
				require.ErrorIs(t, r.Err, spawn.ErrDraining)
			}
		}
	})
}

func TestOneMember_FailsAlone(t *testing.T) {
	for name, fail := range map[string]func() error{
		"panic":  func() error { panic("no such tool") },
		"goexit": func() error { runtime.Goexit(); return nil },
		"error":  func() error { return errors.New("the work is wrong") },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFleet(t, limiter.Config{}, spawn.Config{})
				_, all := collect(swarm.Run(t.Context(), f.spawner, letters("a", "b", "c"), func(ctx context.Context, a *spawn.Attempt, in string) (string, error) {
					if in == "b" {
						return "half of it", fail()
					}
					return f.calling(time.Second, nil)(ctx, a, in)
				}))
				require.Equal(t, []spawn.State{spawn.Succeeded, spawn.Dead, spawn.Succeeded}, states(all))
				require.Error(t, all[1].Err)
				require.Empty(t, all[1].Value)
			})
		})
	}
}

func TestStop_EndsOneMember(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, limiter.Config{}, spawn.Config{})
		sw := newSwarm(t, swarm.Config[string, string]{Spawner: f.spawner, Cap: 2}, letters("a", "b", "c"), f.calling(10*time.Second, nil))
		wrong := errors.New("the wrong file")
		time.AfterFunc(4*time.Second, func() {
			require.True(t, sw.Stop("b", wrong))
			require.False(t, sw.Stop("c", wrong), "not started yet")
			require.False(t, sw.Stop("nobody", wrong))
		})
		_, all := collect(sw.Results(t.Context()))
		require.Equal(t, []spawn.State{spawn.Succeeded, spawn.Canceled, spawn.Succeeded}, states(all))
		require.ErrorIs(t, all[1].Err, wrong)
		require.Equal(t, 14*time.Second, f.now(), "c took its place")
		require.False(t, sw.Stop("a", wrong), "it has ended")
	})
	t.Run("for good", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			// Given a member that was stopped before its turn, when the loop is left
			f := newFleet(t, limiter.Config{}, spawn.Config{})
			sw := newSwarm(t, swarm.Config[string, string]{Spawner: f.spawner}, letters("a", "b", "c"), f.calling(10*time.Second, nil))
			time.AfterFunc(time.Second, func() { sw.Stop("b", nil); sw.Stop("a", nil) })
			for range sw.Results(t.Context()) {
				break
			}
			// then it is not run by the next one.
			keys, all := collect(sw.Results(t.Context()))
			require.Equal(t, []string{"b", "c"}, keys)
			require.Equal(t, []spawn.State{spawn.Canceled, spawn.Succeeded}, states(all))
		})
	})
}

func TestKeys_ThatAreEqual(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, limiter.Config{}, spawn.Config{})
		_, all := collect(swarm.Run(t.Context(), f.spawner, letters("a", "a"), f.calling(time.Second, nil)))
		failed := 0
		for _, r := range all {
			if r.Err != nil {
				require.ErrorIs(t, r.Err, spawn.ErrDuplicate)
				failed++
			}
		}
		require.Equal(t, 1, failed)
		require.Len(t, f.made(), 1)
	})
}

func TestTwoSwarms_InOneSpawner(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, limiter.Config{}, spawn.Config{})
		one := newSwarm(t, swarm.Config[string, string]{Spawner: f.spawner, Name: "one"}, letters("a", "b"), f.calling(time.Second, nil))
		two := newSwarm(t, swarm.Config[string, string]{Spawner: f.spawner, Name: "two"}, letters("a", "b"), f.calling(time.Second, nil))
		for key, r := range one.Results(t.Context()) {
			require.NoError(t, r.Err)
			require.Equal(t, "one/"+key, r.Run.ID)
			for _, r := range two.Results(t.Context()) {
				require.NoError(t, r.Err)
			}
			for _, r := range one.Results(t.Context()) {
				require.ErrorIs(t, r.Err, swarm.ErrRanging)
			}
		}
	})
}

func TestSwarm_InsideAWorker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		// Given a budget of one, held by a worker that waits for a swarm of its own
		f := newFleet(t, limiter.Config{Budget: 1}, spawn.Config{})
		n, err := spawn.Do(t.Context(), f.spawner, func(ctx context.Context, _ *spawn.Attempt) (int, error) {
			n := 0
			for _, r := range swarm.Run(ctx, f.spawner, letters("a", "b", "c"), f.calling(time.Second, nil)) {
				if r.Err != nil {
					return n, r.Err
				}
				n++
			}
			return n, nil
		})
		require.NoError(t, err)
		require.Equal(t, 3, n)
		require.Equal(t, 1, f.most)
		require.Zero(t, f.limiter.Status().InFlight)
	})
}

func TestInputs_ThatFail(t *testing.T) {
	broken := func(fail func()) iter.Seq2[string, string] {
		return func(yield func(string, string) bool) {
			_ = yield("a", "a") && yield("b", "b")
			fail()
		}
	}
	t.Run("panic", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			f := newFleet(t, limiter.Config{}, spawn.Config{})
			var keys []string
			require.PanicsWithValue(t, "disk gone", func() {
				for key, r := range swarm.Run(t.Context(), f.spawner, broken(func() { panic("disk gone") }), f.calling(time.Second, nil)) {
					require.NoError(t, r.Err)
					keys = append(keys, key)
				}
			})
			require.Equal(t, []string{"a", "b"}, keys, "what was taken has its result")
		})
	})
	t.Run("goexit", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			f := newFleet(t, limiter.Config{}, spawn.Config{})
			ended := make(chan bool)
			go func() {
				whole := false
				defer func() { ended <- whole }()
				collect(swarm.Run(t.Context(), f.spawner, broken(runtime.Goexit), f.calling(time.Second, nil)))
				whole = true
			}()
			require.False(t, <-ended, "it does not look like an end")
		})
	})
}

func TestBody_ThatPanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, limiter.Config{}, spawn.Config{})
		sw := newSwarm(t, swarm.Config[string, string]{Spawner: f.spawner}, letters("a", "b", "c"), func(ctx context.Context, a *spawn.Attempt, in string) (string, error) {
			if in == "a" {
				return f.calling(time.Second, nil)(ctx, a, in)
			}
			return f.calling(time.Minute, nil)(ctx, a, in)
		})
		require.PanicsWithValue(t, "a bug of the caller", func() {
			for range sw.Results(t.Context()) {
				panic("a bug of the caller")
			}
		})
		require.Zero(t, f.inside)
		keys, _ := collect(sw.Results(t.Context()))
		require.Equal(t, []string{"b", "c"}, keys)
	})
}
