package spawn_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdoff-go/holdoff/limiter"
	"github.com/holdoff-go/holdoff/retry"
	"github.com/holdoff-go/holdoff/spawn"
)

type receipt struct {
	Number int
	Lines  []string
}

func TestOnce_ReturnsItsStoredResult(t *testing.T) {
	play(t, limiter.Config{}, spawn.Config{}, func(s *scene) {
		paid := 0
		var got []receipt
		result, err := s.launch("w", func(ctx context.Context, a *spawn.Attempt) error {
			r, err := spawn.Once(ctx, a, "pay", func(context.Context) (receipt, error) {
				paid++
				return receipt{Number: 7, Lines: []string{"a", "b"}}, nil
			})
			if err != nil {
				return err
			}
			got = append(got, r)
			if a.Number() < 3 {
				return rateLimited(0)
			}
			return nil
		}).Wait()
		require.NoError(t, err)
		require.Equal(t, 1, paid)
		want := receipt{7, []string{"a", "b"}}
		require.Equal(t, []receipt{want, want, want}, got)
		require.Len(t, result.Effects, 1)
		e := result.Effects[0]
		require.Equal(t, "w", e.Worker)
		require.Equal(t, "pay", e.Key)
		require.Equal(t, "w#1", e.Attempt)
		require.Equal(t, spawn.EffectDone, e.State)
		require.Equal(t, s.start, e.Time)
		require.Empty(t, e.Result, "the trace does not repeat it")
	})
}

func TestOnce_WhatAnErrorOfTheEffectMeans(t *testing.T) {
	for name, c := range map[string]struct {
		err     func() error
		state   spawn.State
		effects int // tries in all
	}{
		"refused: tried again":            {func() error { return rateLimited(0) }, spawn.Succeeded, 2},
		"overloaded: tried again":         {overloaded, spawn.Succeeded, 2},
		"of its own: released":            {func() error { return errOwn }, spawn.Dead, 1},
		"a 500: in doubt":                 {transient, spawn.Dead, 1},
		"timed out: in doubt":             {func() error { return context.DeadlineExceeded }, spawn.Dead, 1},
		"said to be in doubt":             {func() error { return errors.Join(spawn.ErrNeedsDecision, rateLimited(0)) }, spawn.Dead, 1},
		"a 500, but certainly not done":   {func() error { return errors.Join(spawn.ErrNotDone, transient()) }, spawn.Succeeded, 2},
		"a panic: in doubt":               {func() error { panic("halfway") }, spawn.Dead, 1},
		"a Goexit: in doubt":              {func() error { runtime.Goexit(); return nil }, spawn.Dead, 1},
		"an error that panics when asked": {func() error { return (*halfFilled)(nil) }, spawn.Dead, 1},
	} {
		t.Run(name, func(t *testing.T) {
			play(t, limiter.Config{}, spawn.Config{}, func(s *scene) {
				tries := 0
				send := func(ctx context.Context, a *spawn.Attempt) error {
					return a.Once(ctx, "send", func(context.Context) error {
						if tries++; tries == 1 {
							return c.err()
						}
						return nil
					})
				}
				result, err := s.launch("w", send).Wait()
				require.Equal(t, c.state, result.State)
				require.Equal(t, c.effects, tries)
				if c.state == spawn.Succeeded {
					require.NoError(t, err)
					require.Len(t, result.Effects, 2)
					require.Equal(t, spawn.EffectReleased, result.Effects[0].State)
					require.Equal(t, spawn.EffectDone, result.Effects[1].State)
					return
				}
				require.Len(t, s.deaths, 1)
				require.Equal(t, 1, result.Total)
				require.Len(t, result.Effects, 1)

				// Once more, by a new run with the ID.
				result, err = s.launch("w", send).Wait()
				if name == "of its own: released" || name == "an error that panics when asked" {
					require.NoError(t, err)
					require.Equal(t, 2, tries)
					return
				}
				require.ErrorIs(t, err, spawn.ErrNeedsDecision)
				require.Equal(t, spawn.Dead, result.State)
				require.Equal(t, 1, tries, "never a second time")
				undecided, ok := errors.AsType[*spawn.EffectError](err)
				require.True(t, ok)
				require.Equal(t, "w#1", undecided.Effect.Attempt)
				require.Contains(t, undecided.Error(), `effect "send", in_flight in w#1`)

				// Until somebody has looked.
				undecided.Effect.State = spawn.EffectDone
				require.NoError(t, s.spawner.Decide(s.ctx, undecided.Effect))
				_, err = s.launch("w", send).Wait()
				require.NoError(t, err)
				require.Equal(t, 1, tries)
			})
		})
	}
}

func TestOnce_CanceledMidwayIsInDoubt(t *testing.T) {
	play(t, limiter.Config{}, spawn.Config{}, func(s *scene) {
		sent := 0
		send := func(ctx context.Context, a *spawn.Attempt) error {
			return a.Once(ctx, "send", func(ctx context.Context) error {
				sent++
				<-ctx.Done()
				return ctx.Err()
			})
		}
		h := s.launch("w", send)
		s.at(1)
		h.Cancel(nil)
		result, err := h.Wait()
		require.Equal(t, spawn.Canceled, result.State)
		require.ErrorIs(t, err, spawn.ErrNeedsDecision, "whoever runs it again must know")
		require.Equal(t, spawn.EffectInFlight, result.Effects[0].State)

		result, err = s.launch("w", send).Wait()
		require.ErrorIs(t, err, spawn.ErrNeedsDecision)
		require.Equal(t, spawn.Dead, result.State)
		require.Equal(t, 1, sent)

		ctx, cancel := context.WithCancel(s.ctx)
		cancel()
		_, err = s.launch("early", func(_ context.Context, a *spawn.Attempt) error {
			err := a.Once(ctx, "send", func(context.Context) error { sent++; return nil })
			require.ErrorIs(t, err, context.Canceled)
			return nil
		}).Wait()
		require.NoError(t, err)
		require.Equal(t, 1, sent)
	})
}

func TestOnce_AKeyIsOfItsWorkerAndOfItsRun(t *testing.T) {
	play(t, limiter.Config{}, spawn.Config{}, func(s *scene) {
		var sent atomic.Int64
		send := func(ctx context.Context, a *spawn.Attempt) error {
			for _, key := range []string{"x", "y", "x"} {
				if err := a.Once(ctx, key, func(context.Context) error { sent.Add(1); return nil }); err != nil {
					return err
				}
			}
			return nil
		}
		results, _ := wait(s.launch("a", send), s.launch("b", send))
		require.Equal(t, map[spawn.State]int{spawn.Succeeded: 2}, ended(results))
		require.EqualValues(t, 4, sent.Load())
		_, err := s.launch("a", send).Wait()
		require.NoError(t, err)
		require.EqualValues(t, 6, sent.Load(), "what has succeeded is over: the ID's next run is another one")
	})
}

func TestOnce_FromManyGoroutinesAtOnce(t *testing.T) {
	play(t, limiter.Config{}, spawn.Config{}, func(s *scene) {
		var sent, values, inFlight atomic.Int64
		_, err := s.launch("w", func(ctx context.Context, a *spawn.Attempt) error {
			var group sync.WaitGroup
			for range 64 {
				group.Go(func() {
					v, err := spawn.Once(ctx, a, "send", func(context.Context) (int64, error) {
						time.Sleep(time.Second)
						return sent.Add(1), nil
					})
					switch {
					case err == nil && v == 1:
						values.Add(1)
					case errors.Is(err, spawn.ErrInFlight):
						inFlight.Add(1)
					default:
						t.Errorf("%d, %v", v, err)
					}
				})
			}
			group.Wait()
			return nil
		}).Wait()
		require.NoError(t, err)
		require.EqualValues(t, 1, sent.Load())
		require.EqualValues(t, 1, values.Load())
		require.EqualValues(t, 63, inFlight.Load())
	})
}

func TestOnce_ValuesThatCannotBeStoredOrRead(t *testing.T) {
	play(t, limiter.Config{}, spawn.Config{}, func(s *scene) {
		sent := 0
		_, err := s.launch("w", func(ctx context.Context, a *spawn.Attempt) error {
			_, err := spawn.Once(ctx, a, "send", func(context.Context) (chan int, error) {
				sent++
				return make(chan int), nil
			})
			return err
		}).Wait()
		require.ErrorIs(t, err, spawn.ErrNeedsDecision, "it was had, and its value is lost")
		require.ErrorContains(t, err, "its result cannot be stored")
		require.Equal(t, 1, sent)

		_, err = s.launch("other", func(ctx context.Context, a *spawn.Attempt) error {
			if err := a.Once(ctx, "send", func(context.Context) error { return nil }); err != nil {
				return err
			}
			_, err := spawn.Once(ctx, a, "send", func(context.Context) (int, error) { sent++; return 1, nil })
			return err
		}).Wait()
		require.ErrorContains(t, err, `the stored result of effect "send" is no int`)
		require.Equal(t, 1, sent)

		_, err = s.launch("none", func(ctx context.Context, a *spawn.Attempt) error { return a.Once(ctx, "send", nil) }).Wait()
		require.ErrorContains(t, err, `the function of effect "send" is nil`)
	})
}

// A shakyStore fails as it is told to, after it has done what it was asked.
type shakyStore struct {
	fileEffects
	begin, settle atomic.Int64 // how many fail yet
}

var errStore = errors.New("the store is away")

func (s *shakyStore) Begin(ctx context.Context, e spawn.Effect) (spawn.Effect, error) {
	stored, err := s.fileEffects.Begin(ctx, e)
	if s.begin.Add(-1) >= 0 {
		return spawn.Effect{}, errStore
	}
	return stored, err
}

func (s *shakyStore) Settle(ctx context.Context, e spawn.Effect) error {
	if s.settle.Add(-1) >= 0 {
		return errStore
	}
	return s.fileEffects.Settle(ctx, e)
}

func TestOnce_AStoreThatFailsDoublesNothing(t *testing.T) {
	for name, c := range map[string]struct {
		begin, settle int64
		effect        error // of its first try
		attempts      int
		tries         int
	}{
		"the answer to Begin is lost":             {begin: 2, attempts: 3, tries: 1},
		"the end of an effect is not stored":      {settle: 2, attempts: 3, tries: 1},
		"the end of a failed effect is not":       {settle: 1, effect: rateLimited(0), attempts: 3, tries: 2},
		"and the store for a successful one, too": {begin: 1, settle: 1, attempts: 3, tries: 1},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			store := &shakyStore{fileEffects: fileEffects{dir: dir}}
			store.begin.Store(c.begin)
			store.settle.Store(c.settle)
			play(t, limiter.Config{}, spawn.Config{Effects: store}, func(s *scene) {
				tries, value := 0, 0
				result, err := s.launch("w", func(ctx context.Context, a *spawn.Attempt) (err error) {
					value, err = spawn.Once(ctx, a, "send", func(context.Context) (int, error) {
						if tries++; tries == 1 && c.effect != nil {
							return 0, c.effect
						}
						return 42, nil
					})
					return err
				}).Wait()
				require.NoError(t, err)
				require.Equal(t, c.tries, tries)
				require.Equal(t, c.attempts, result.Total)
				require.Equal(t, 42, value)
			})
		})
	}
	t.Run("for ever", func(t *testing.T) {
		store := &shakyStore{fileEffects: fileEffects{dir: t.TempDir()}}
		store.settle.Store(1000)
		play(t, limiter.Config{}, spawn.Config{Effects: store}, func(s *scene) {
			sent := 0
			send := func(ctx context.Context, a *spawn.Attempt) error {
				return a.Once(ctx, "send", func(context.Context) error { sent++; return nil })
			}
			_, err := s.launch("w", send).Wait()
			require.ErrorIs(t, err, errStore)
			require.ErrorIs(t, err, retry.Transient)
			require.Equal(t, 1, sent)
			store.settle.Store(0)
			_, err = s.launch("w", send).Wait()
			require.NoError(t, err, "this process still knows")
			require.Equal(t, 1, sent)
		})
	})
}

func TestOnce_AMadeUpIDIsNoIDInAnotherProcess(t *testing.T) {
	send := func(_ context.Context, a *spawn.Attempt) (int, error) {
		return spawn.Once(context.Background(), a, "send", func(context.Context) (int, error) { return 1, nil })
	}
	play(t, limiter.Config{}, spawn.Config{}, func(s *scene) {
		v, err := spawn.Do(s.ctx, s.spawner, send)
		require.NoError(t, err, "in memory it is one")
		require.Equal(t, 1, v)
	})
	play(t, limiter.Config{}, spawn.Config{Effects: &fileEffects{dir: t.TempDir()}}, func(s *scene) {
		_, err := spawn.Do(s.ctx, s.spawner, send)
		require.ErrorContains(t, err, "Worker.ID is empty")
		h, err := s.spawner.Revive(s.ctx, "worker-1")
		require.NoError(t, err)
		_, err = h.Wait()
		require.ErrorContains(t, err, "Worker.ID is empty", "nor when it is revived")
	})
}

func TestDecide_RefusesWhatMakesNoSense(t *testing.T) {
	play(t, limiter.Config{}, spawn.Config{}, func(s *scene) {
		sent := 0
		var inDoubt spawn.Effect
		h := s.launch("w", func(ctx context.Context, a *spawn.Attempt) error {
			v, err := spawn.Once(ctx, a, "send", func(ctx context.Context) (int, error) {
				sent++
				time.Sleep(time.Second)
				return 0, context.DeadlineExceeded
			})
			if e, ok := errors.AsType[*spawn.EffectError](err); ok {
				inDoubt = e.Effect
			}
			if err == nil && v != 5 {
				return fmt.Errorf("not the value of the decision: %d", v)
			}
			return err
		})
		synctest.Wait()
		running := spawn.Effect{Worker: "w", Key: "send", Intent: "some", State: spawn.EffectReleased}
		require.ErrorIs(t, s.spawner.Decide(s.ctx, running), spawn.ErrInFlight)
		_, err := h.Wait()
		require.ErrorIs(t, err, spawn.ErrNeedsDecision)

		declared := spawn.Effect{Worker: "w", Key: "send", State: spawn.EffectDone}
		require.ErrorContains(t, s.spawner.Decide(s.ctx, declared), "has no Intent")
		require.ErrorContains(t, s.spawner.Decide(s.ctx, inDoubt), "Effect.State is in_flight")
		stale := inDoubt
		stale.State, stale.Intent = spawn.EffectReleased, "another"
		require.ErrorContains(t, s.spawner.Decide(s.ctx, stale), "no intent another")
		inDoubt.State, inDoubt.Result = spawn.EffectDone, []byte("{")
		require.ErrorContains(t, s.spawner.Decide(s.ctx, inDoubt), "no JSON")

		inDoubt.Result = []byte("5")
		require.NoError(t, s.spawner.Decide(s.ctx, inDoubt))
		revived, err := s.spawner.Revive(s.ctx, "w")
		require.NoError(t, err)
		_, err = revived.Wait()
		require.NoError(t, err)
		require.Equal(t, 1, sent)
	})
}

func TestEffect_JSONReadsBackAsItWas(t *testing.T) {
	for state := spawn.EffectInFlight; state <= spawn.EffectDeclared; state++ {
		e := spawn.Effect{
			Worker: "w", Key: "pay", Attempt: "w#2", Time: time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC),
			State: state, Intent: "i-1", Result: []byte(`{"Number":7}`),
		}
		text, err := json.Marshal(e)
		require.NoError(t, err)
		require.Contains(t, string(text), `"result":{"Number":7}`, "for people to read")
		var back spawn.Effect
		require.NoError(t, json.Unmarshal(text, &back))
		require.Equal(t, e, back)
	}
	var e spawn.Effect
	require.ErrorContains(t, json.Unmarshal([]byte(`{"state":"gone"}`), &e), `no state of an effect: "gone"`)
	require.Equal(t, "EffectState(-1)", spawn.EffectState(-1).String())
}
