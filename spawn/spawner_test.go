package spawn_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"math"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdoff-go/holdoff/limiter"
	"github.com/holdoff-go/holdoff/retry"
	"github.com/holdoff-go/holdoff/spawn"
)

func TestExampleTesting(t *testing.T) { testAgent(t) }

func newLimiter(t testing.TB) *limiter.Limiter {
	t.Helper()
	l, err := limiter.New(limiter.Config{})
	require.NoError(t, err)
	return l
}

func TestNew_NamesTheFieldThatMakesNoSense(t *testing.T) {
	l := newLimiter(t)
	for want, config := range map[string]spawn.Config{
		"spawn: Config.Limiter is nil":                          {},
		"spawn: Config.RetryBudget is -5":                       {Limiter: l, RetryBudget: -5},
		"spawn: Config.Policy: retry: Policy.Initial is -1s":    {Limiter: l, Policy: retry.Policy{Initial: -time.Second}},
		"spawn: Config.Policy: retry: Policy.Max is -1s":        {Limiter: l, Policy: retry.Policy{Max: -time.Second}},
		"spawn: Config.Policy: retry: Policy.MaxRetries is -2":  {Limiter: l, Policy: retry.Policy{MaxRetries: -2}},
		"spawn: Config.Policy: retry: Policy.MaxElapsed is -1s": {Limiter: l, Policy: retry.Policy{MaxElapsed: -time.Second}},
		"spawn: Config.Policy: retry: Policy.Jitter is NaN":     {Limiter: l, Policy: retry.Policy{Jitter: math.NaN()}},
		"spawn: Config.Policy: retry: Policy.Jitter is 1.5":     {Limiter: l, Policy: retry.Policy{Jitter: 1.5}},
	} {
		t.Run(want, func(t *testing.T) {
			s, err := spawn.New(config)
			require.Nil(t, s)
			require.ErrorContains(t, err, want)
		})
	}
	for _, budget := range []int{0, 1, math.MaxInt} {
		_, err := spawn.New(spawn.Config{Limiter: l, RetryBudget: budget, MaxInlineWait: -1})
		require.NoError(t, err)
	}
}

func TestRun_NamesTheFieldThatMakesNoSense(t *testing.T) {
	run := napping(0)
	for want, worker := range map[string]spawn.Worker{
		"Worker.Run is nil":               {ID: "w"},
		"Worker.Priority is Priority(-1)": {ID: "w", Priority: -1, Run: run},
		"Worker.Priority is call":         {ID: "w", Priority: limiter.Emergency + 1, Run: run},
		"Worker.Priority is Priority(99)": {ID: "w", Priority: 99, Run: run},
		"Worker.Patience is -1s":          {ID: "w", Patience: -time.Second, Run: run},
	} {
		t.Run(want, func(t *testing.T) {
			play(t, limiter.Config{}, spawn.Config{}, func(s *scene) {
				result, err := s.spawner.Run(s.ctx, worker)
				require.ErrorContains(t, err, want)
				require.Equal(t, spawn.Result{ID: "w", State: spawn.Canceled}, result)
				h := s.spawner.Start(s.ctx, worker)
				result, err = h.Wait()
				require.ErrorContains(t, err, want)
				require.Equal(t, spawn.Canceled, result.State)
				require.Equal(t, spawn.WorkerStatus{ID: "w", State: spawn.Canceled}, h.Status())
				h.Cancel(nil)
				<-h.Done()
				require.Empty(t, s.spawner.Roster())
				require.Empty(t, s.events)
			})
		})
	}
	play(t, limiter.Config{}, spawn.Config{}, func(s *scene) {
		_, err := spawn.Do[int](s.ctx, s.spawner, nil)
		require.ErrorContains(t, err, "the function is nil")
	})
}

func TestRun_LiveDuplicate(t *testing.T) {
	play(t, limiter.Config{}, spawn.Config{}, func(s *scene) {
		first := s.launch("w", napping(time.Second))
		_, err := s.spawner.Run(s.ctx, spawn.Worker{ID: "w", Run: napping(0)})
		require.ErrorIs(t, err, spawn.ErrDuplicate)
		require.ErrorContains(t, err, `"w"`)
		_, err = first.Wait()
		require.NoError(t, err)
		_, err = s.spawner.Run(s.ctx, spawn.Worker{ID: "w", Run: napping(0)})
		require.NoError(t, err, "free again")
	})
}

func TestRun_MadeUpIDsAreNobodys(t *testing.T) {
	play(t, limiter.Config{}, spawn.Config{}, func(s *scene) {
		s.launch("worker-2", napping(time.Second))
		seen := map[string]bool{"worker-2": true}
		var handles []*spawn.Handle
		for range 5 {
			h := s.launch("", napping(time.Second))
			id := h.Status().ID
			require.False(t, seen[id], id)
			seen[id] = true
			handles = append(handles, h)
		}
		results, _ := wait(handles...)
		for _, r := range results {
			require.True(t, seen[r.ID])
		}
		s.at(2)
	})
}

func TestStart_Handle(t *testing.T) {
	play(t, limiter.Config{}, spawn.Config{}, func(s *scene) {
		a, b := s.launch("a", napping(time.Hour)), s.launch("b", napping(time.Second))
		synctest.Wait()
		require.Equal(t, spawn.Running, a.Status().State)
		require.Equal(t, 1, a.Status().Attempt)
		a.Cancel(nil)
		result, err := a.Wait()
		require.ErrorIs(t, err, context.Canceled)
		require.Equal(t, spawn.Canceled, result.State)
		require.Equal(t, spawn.Canceled, a.Status().State)
		<-a.Done()
		again, _ := a.Wait()
		require.Equal(t, result, again)
		_, err = b.Wait()
		require.NoError(t, err, "others are not touched")
	})
}

func TestDo(t *testing.T) {
	play(t, limiter.Config{}, spawn.Config{}, func(s *scene) {
		value, err := spawn.Do(s.ctx, s.spawner, func(_ context.Context, a *spawn.Attempt) (string, error) {
			if a.Number() == 1 {
				return "half", rateLimited(0)
			}
			return "whole", nil
		})
		require.NoError(t, err)
		require.Equal(t, "whole", value)
		value, err = spawn.Do(s.ctx, s.spawner, func(context.Context, *spawn.Attempt) (string, error) { return "half", errOwn })
		require.ErrorIs(t, err, errOwn)
		require.Empty(t, value)
	})
}

func TestOnDeath_OnceWithEveryAttemptBeforeRunReturns(t *testing.T) {
	var s *scene
	returned := false
	config := spawn.Config{OnDeath: func(d spawn.Death) {
		if returned {
			panic("too late")
		}
		s.spawner.Roster()
		s.limiter.Status()
	}}
	play(t, limiter.Config{}, config, func(in *scene) {
		s = in
		result, err := s.spawner.Run(s.ctx, spawn.Worker{ID: "w", Run: func(_ context.Context, a *spawn.Attempt) error {
			time.Sleep(time.Second)
			return fmt.Errorf("try %d: %w", a.Number(), transient())
		}})
		returned = true
		require.Len(t, s.deaths, 1)
		death := s.deaths[0]
		require.Equal(t, result, death.Result)
		require.Same(t, err, death.Err)
		require.Len(t, death.Attempts, 4)
		for i, a := range death.Attempts {
			require.Equal(t, i+1, a.Number)
			require.ErrorContains(t, a.Err, fmt.Sprint("try ", i+1))
			require.Equal(t, retry.Transient, a.Verdict.Class)
			require.Equal(t, time.Second, a.End.Sub(a.Start))
		}
		last := s.events[len(s.events)-1]
		require.Equal(t, spawn.Dead, last.State)
		require.Equal(t, 4, last.Attempt)
	})
}

func TestHooks_PanicIsContainedAndLogged(t *testing.T) {
	var log bytes.Buffer
	config := spawn.Config{
		OnDeath: func(spawn.Death) { panic("death") },
		OnEvent: func(spawn.Event) { panic("event") },
		Logger:  slog.New(slog.NewTextHandler(&log, nil)),
	}
	play(t, limiter.Config{Budget: 1}, config, func(s *scene) {
		result, err := s.launch("w", func(context.Context, *spawn.Attempt) error { return errOwn }).Wait()
		require.ErrorIs(t, err, errOwn)
		require.Equal(t, spawn.Dead, result.State)
		_, err = s.spawner.Run(s.ctx, spawn.Worker{Run: napping(0), OnEvent: func(spawn.Event) { panic("worker event") }})
		require.NoError(t, err)
		s.free()
		for _, hook := range []string{"Config.OnDeath panicked", "Config.OnEvent panicked", "Worker.OnEvent panicked"} {
			require.Contains(t, log.String(), hook)
		}
		require.NotContains(t, log.String(), errOwn.Error(), "never an error's body")
	})
}

func TestHooks_GoexitLeavesNothingBehind(t *testing.T) {
	for _, state := range []spawn.State{spawn.Queued, spawn.Running, spawn.BackingOff, spawn.Dead} {
		t.Run(state.String(), func(t *testing.T) {
			config := spawn.Config{OnEvent: func(e spawn.Event) {
				if e.ID == "w" && e.State == state {
					runtime.Goexit() // as require does in a hook
				}
			}}
			play(t, limiter.Config{Budget: 1}, config, func(s *scene) {
				w := s.launch("w", func(context.Context, *spawn.Attempt) error { return transient() })
				_, err := w.Wait()
				require.ErrorIs(t, err, spawn.ErrGoexit)
				require.True(t, w.Status().State.Terminal())
				s.free()
				require.NoError(t, s.spawner.Drain(s.ctx))
			})
		})
	}
}

func TestHooks_MayCallTheSpawner(t *testing.T) {
	var s *scene
	config := spawn.Config{OnDeath: func(d spawn.Death) {
		if d.ID == "w" {
			_, err := s.spawner.Run(s.ctx, spawn.Worker{ID: "successor", Run: napping(time.Second)})
			s.check(err)
		}
	}}
	play(t, limiter.Config{Budget: 1}, config, func(in *scene) {
		s = in
		_, err := s.launch("w", func(context.Context, *spawn.Attempt) error { return errOwn }).Wait()
		require.ErrorIs(t, err, errOwn)
		require.Equal(t, time.Second, s.now())
	})
}

func TestEvents_InOrderForOneWorker(t *testing.T) {
	var own []spawn.State
	play(t, limiter.Config{}, spawn.Config{}, func(s *scene) {
		up := s.upstream(0, stormUntil(1, rateLimited(0)))
		_, err := s.spawner.Run(s.ctx, spawn.Worker{ID: "w", Run: up.work, OnEvent: func(e spawn.Event) { own = append(own, e.State) }})
		require.NoError(t, err)
		want := []spawn.State{spawn.Queued, spawn.Running, spawn.BackingOff, spawn.Running, spawn.Succeeded}
		require.Equal(t, want, s.states("w"))
		require.Equal(t, want, own)
		backing := s.events[2]
		require.Equal(t, 1, backing.Attempt)
		require.Equal(t, retry.RateLimited, backing.Verdict.Class)
		require.Error(t, backing.Err)
		require.Equal(t, 3.0, s.clock(backing.Until))
		require.Equal(t, 2, s.events[3].Attempt)
	})
}

func TestLogger_DeathsParkedAndRetries(t *testing.T) {
	var log bytes.Buffer
	config := spawn.Config{Logger: slog.New(slog.NewJSONHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))}
	play(t, limiter.Config{}, config, func(s *scene) {
		_, _ = s.launch("dies", func(context.Context, *spawn.Attempt) error {
			return fmt.Errorf("key sk-secret: %w", transient())
		}).Wait()
		_, _ = s.launch("parks", func(context.Context, *spawn.Attempt) error { return exhausted(0) }).Wait()
	})
	var levels []string
	for line := range strings.Lines(log.String()) {
		var record map[string]any
		require.NoError(t, json.Unmarshal([]byte(line), &record))
		levels = append(levels, fmt.Sprint(record["worker"], " ", record["level"], " ", record["msg"]))
	}
	require.Equal(t, []string{
		"dies DEBUG holdoff: worker backing_off",
		"dies DEBUG holdoff: worker backing_off",
		"dies DEBUG holdoff: worker backing_off",
		"dies ERROR holdoff: worker dead",
		"parks WARN holdoff: worker parked",
	}, levels)
	require.NotContains(t, log.String(), "sk-secret")
}

func TestLogger_ThatPanics(t *testing.T) {
	play(t, limiter.Config{Budget: 1}, spawn.Config{Logger: slog.New(panicking{})}, func(s *scene) {
		_, err := s.launch("w", func(context.Context, *spawn.Attempt) error { return errOwn }).Wait()
		require.ErrorIs(t, err, errOwn)
		s.free()
	})
}

type panicking struct{ slog.Handler }

func (panicking) Enabled(context.Context, slog.Level) bool { panic("logger") }

func TestRoster_TheLivingAndTheLastHundred(t *testing.T) {
	play(t, limiter.Config{}, spawn.Config{}, func(s *scene) {
		alive := s.launch("alive", napping(time.Hour))
		for i := range 250 {
			_, err := s.launch(fmt.Sprint("w", i), napping(time.Millisecond)).Wait()
			require.NoError(t, err)
		}
		roster := s.spawner.Roster()
		require.Len(t, roster, 101)
		require.Equal(t, "alive", roster[0].ID, "in order of arrival")
		require.Equal(t, spawn.Running, roster[0].State)
		require.Equal(t, "w150", roster[1].ID)
		require.Equal(t, "w249", roster[100].ID)
		require.Equal(t, spawn.Succeeded, roster[100].State)
		alive.Cancel(nil)
		_, _ = alive.Wait()
	})
}

func TestRoster_JSON(t *testing.T) {
	play(t, limiter.Config{}, spawn.Config{}, func(s *scene) {
		w := s.launch("w", func(_ context.Context, a *spawn.Attempt) error {
			if a.Number() == 1 {
				return rateLimited(0)
			}
			return nil
		})
		s.at(1)
		text, err := json.Marshal(s.spawner.Roster())
		require.NoError(t, err)
		require.JSONEq(t, `[{"id":"w","state":"backing_off","since":"2000-01-01T00:00:00Z","attempt":1,"until":"2000-01-01T00:00:03Z"}]`, string(text))
		_, _ = w.Wait()
		text, err = json.Marshal(s.spawner.Roster())
		require.NoError(t, err)
		require.JSONEq(t, `[{"id":"w","state":"succeeded","since":"2000-01-01T00:00:03Z","attempt":2}]`, string(text))
	})
}

func TestState_Strings(t *testing.T) {
	require.Equal(t, "backing_off", spawn.BackingOff.String())
	require.Equal(t, "State(99)", spawn.State(99).String())
	require.Equal(t, "State(-1)", spawn.State(-1).String())
	for state := spawn.Queued; state <= spawn.Parked; state++ {
		require.Equal(t, state >= spawn.Succeeded, state.Terminal())
	}
}

func TestQueueFull_TurnsAwayNewWorkOnly(t *testing.T) {
	play(t, limiter.Config{Budget: 1, MaxWaiting: 1}, spawn.Config{}, func(s *scene) {
		retried := s.launch("retried", func(_ context.Context, a *spawn.Attempt) error {
			if a.Number() == 1 {
				return transient()
			}
			return nil
		})
		s.at(0)
		holder := s.launch("holder", napping(10*time.Second))
		s.at(1)
		waiting := s.launch("waiting", napping(0))
		s.at(2)
		result, err := s.launch("turned away", napping(0)).Wait()
		require.Equal(t, spawn.Canceled, result.State)
		var blocked *limiter.BlockedError
		require.ErrorAs(t, err, &blocked)
		require.Equal(t, limiter.ReasonQueueFull, blocked.Reason)
		results, _ := wait(retried, holder, waiting)
		require.Equal(t, map[spawn.State]int{spawn.Succeeded: 3}, ended(results))
		require.Empty(t, s.deaths)
	})
}

func TestQueueFull_ALastRetryIsNotNew(t *testing.T) {
	play(t, limiter.Config{MaxWaiting: 1}, spawn.Config{Policy: retry.Policy{MaxRetries: 1}}, func(s *scene) {
		up := s.upstream(time.Second, stormUntil(30, rateLimited(0)))
		results, _ := wait(up.launch(4)...)
		require.Equal(t, map[spawn.State]int{spawn.Succeeded: 4}, ended(results))
	})
}

// A stepClock is a fake clock with one time, in the year 2000, that moves only
// when told. It stands for those that users bring.
type stepClock struct {
	mu    sync.Mutex
	now   time.Time
	after []fakeTimer
}

type fakeTimer struct {
	at time.Time
	c  chan time.Time
}

func newStepClock() *stepClock { return &stepClock{now: time.Unix(946684800, 0)} }

func (c *stepClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *stepClock) After(d time.Duration) <-chan time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	timer := fakeTimer{c.now.Add(d), make(chan time.Time, 1)}
	if d <= 0 {
		timer.c <- c.now
	} else {
		c.after = append(c.after, timer)
	}
	return timer.c
}

// step moves the clock on second by second, and lets all that happens happen.
func (c *stepClock) step(d time.Duration) {
	synctest.Wait()
	for ; d > 0; d -= time.Second {
		c.mu.Lock()
		c.now = c.now.Add(time.Second)
		kept := c.after[:0]
		for _, timer := range c.after {
			if timer.at.After(c.now) {
				kept = append(kept, timer)
			} else {
				timer.c <- c.now
			}
		}
		c.after = kept
		c.mu.Unlock()
		synctest.Wait()
	}
}

func TestFakeClock_LadderAndPause(t *testing.T) {
	clock := newStepClock()
	play(t, limiter.Config{Clock: clock}, spawn.Config{Clock: clock}, func(s *scene) {
		calls := []float64{}
		start := clock.Now()
		w := s.launch("w", func(context.Context, *spawn.Attempt) error {
			calls = append(calls, clock.Now().Sub(start).Seconds())
			return rateLimited(0)
		})
		clock.step(60 * time.Second)
		result, err := w.Wait()
		require.ErrorIs(t, err, retry.RateLimited)
		require.Equal(t, []float64{0, 3, 9, 21}, calls)
		require.Equal(t, 21*time.Second, result.Attempts[3].End.Sub(start))
		require.Zero(t, s.now(), "no real time has passed")
	})
}

func TestFakeClock_MaxElapsed(t *testing.T) {
	clock := newStepClock()
	config := spawn.Config{Clock: clock, Policy: retry.Policy{MaxElapsed: 100 * time.Second}}
	play(t, limiter.Config{Budget: 1, Clock: clock}, config, func(s *scene) {
		slot, err := s.limiter.TryAcquire()
		require.NoError(t, err)
		defer slot.Release()
		queued := s.launch("queued", napping(0))
		clock.step(99 * time.Second)
		require.Equal(t, spawn.Queued, queued.Status().State)
		time.Sleep(time.Hour) // real time is not what it counts
		synctest.Wait()
		require.Equal(t, spawn.Queued, queued.Status().State)
		clock.step(time.Second)
		_, err = queued.Wait()
		require.ErrorIs(t, err, retry.ErrElapsed)

		s.limiter.ReportRateLimited(300 * time.Second)
		result, err := s.launch("in vain", napping(0)).Wait()
		require.ErrorIs(t, err, retry.ErrElapsed)
		require.Equal(t, clock.Now().Add(300*time.Second), result.RetryAt)
	})
}

// N, as a spawner shows it.

func TestN1_N4_ThePauseIsVisibleAndHooksMayAsk(t *testing.T) {
	var s *scene
	config := spawn.Config{OnEvent: func(e spawn.Event) {
		if e.State == spawn.BackingOff {
			st := s.limiter.Status()
			if st.Reason != limiter.ReasonRateLimited || st.BlockedUntil.IsZero() {
				s.Errorf("the pause is not shown: %+v", st)
			}
			s.spawner.Roster()
			ctx, cancel := context.WithCancel(s.ctx)
			cancel()
			if _, err := s.limiter.Acquire(ctx); err == nil {
				s.Errorf("acquired with an ended context")
			}
		}
	}}
	play(t, limiter.Config{Name: "provider"}, config, func(in *scene) {
		s = in
		up := s.upstream(0, stormUntil(1, rateLimited(0)))
		w := s.launch("w", up.work)
		s.at(1)
		fresh := s.launch("new", up.work)
		s.at(2)
		st := s.limiter.Status()
		require.Equal(t, "provider", st.Name)
		require.Equal(t, limiter.ReasonRateLimited, st.Reason)
		require.Equal(t, 0.0, s.clock(st.Since))
		require.Equal(t, 60.0, s.blockedUntil())
		require.Equal(t, 1, st.Waiting)
		line := s.status("w")
		require.Equal(t, spawn.BackingOff, line.State)
		require.Equal(t, 3.0, s.clock(line.Until))
		require.Equal(t, retry.RateLimited, line.Verdict.Class)
		require.Error(t, line.Err)
		require.Equal(t, spawn.Queued, s.status("new").State)
		results, _ := wait(w, fresh)
		require.Equal(t, map[spawn.State]int{spawn.Succeeded: 2}, ended(results))
	})
}

func TestN6_EveryMethodAtOnce(t *testing.T) {
	play(t, limiter.Config{Budget: 4, Pause: time.Second}, spawn.Config{RetryBudget: 1000}, func(s *scene) {
		up := s.upstream(10*time.Millisecond, func(c callTo) error {
			switch c.number % 7 {
			case 1:
				return rateLimited(0)
			case 3:
				return transient()
			}
			return nil
		})
		done := make(chan struct{})
		for i := range 64 {
			go func() {
				defer func() { done <- struct{}{} }()
				for n := range 5 {
					h := s.spawner.Start(s.ctx, spawn.Worker{ID: fmt.Sprint("w", i), NoRepeat: n == 1, Run: func(ctx context.Context, a *spawn.Attempt) error {
						for range 3 {
							if err := a.Wait(ctx); err != nil {
								return err
							}
							if err := up.call(ctx, a.WorkerID()); err != nil {
								a.Report(err)
								return err
							}
							a.Progress()
						}
						return s.child(ctx, "", up.work)
					}})
					h.Status()
					s.spawner.Roster()
					if n == 4 {
						h.Cancel(nil)
					}
					result, _ := h.Wait()
					if !result.State.Terminal() {
						s.Errorf("%s is %v", result.ID, result.State)
					}
				}
			}()
		}
		for range 64 {
			<-done
		}
		require.NoError(t, s.spawner.Drain(s.ctx))
		s.free()
	})
}
