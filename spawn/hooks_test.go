package spawn_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdoff-go/holdoff/limiter"
	"github.com/holdoff-go/holdoff/retry"
	"github.com/holdoff-go/holdoff/spawn"
)

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
	fail := func(context.Context, *spawn.Attempt) error { return fmt.Errorf("%w: %w", errOwn, transient()) }
	cases := map[string]struct {
		at       string // the hook that ends its goroutine, as require does
		end      spawn.State
		attempts int
		deaths   int
	}{
		"queued":      {"queued", spawn.Canceled, 0, 0},
		"running":     {"running", spawn.Canceled, 0, 0},
		"classifier":  {"classifier", spawn.Canceled, 1, 0},
		"backing off": {"backing_off", spawn.Canceled, 1, 0},
		"death":       {"death", spawn.Dead, 4, 1},
		"dead":        {"dead", spawn.Dead, 4, 1},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			hook := func(at string) {
				if at == c.at {
					runtime.Goexit()
				}
			}
			var ends, deaths []string
			config := spawn.Config{
				OnEvent: func(e spawn.Event) {
					if e.State.Terminal() {
						ends = append(ends, e.State.String())
					}
					hook(e.State.String())
				},
				OnDeath: func(d spawn.Death) {
					deaths = append(deaths, d.State.String())
					hook("death")
				},
				Policy: retry.Policy{Classifier: retry.ClassifierFunc(func(context.Context, error) retry.Verdict {
					hook("classifier")
					return retry.Verdict{Class: retry.Transient}
				})},
			}
			play(t, limiter.Config{Budget: 1}, config, func(s *scene) {
				w := s.launch("w", fail)
				result, err := w.Wait()
				require.Equal(t, c.end, result.State)
				require.Equal(t, c.end, w.Status().State)
				require.Equal(t, []string{c.end.String()}, ends, "one end, and told once")
				require.Len(t, deaths, c.deaths)
				require.Equal(t, c.attempts, result.Total)
				require.Equal(t, c.attempts > 0, errors.Is(err, errOwn), "the worker's own error is kept")
				require.Equal(t, c.end == spawn.Canceled, errors.Is(err, spawn.ErrGoexit))
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
