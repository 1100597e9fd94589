package spawn_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdoff-go/holdoff/limiter"
	"github.com/holdoff-go/holdoff/retry"
	"github.com/holdoff-go/holdoff/spawn"
)

// P10: a worker sends a message, and is then refused.
func TestP10_AMessageIsSentThenRefused(t *testing.T) {
	const (
		none     = "no effect"
		declared = "declared"
		saved    = "declared, and a checkpoint since"
		resaved  = "a checkpoint, and declared since"
		once     = "through Once"
	)
	for _, c := range []struct {
		mode       string
		idempotent bool
		attempts   int
		sent       int
	}{
		{none, false, 2, 0},
		{none, true, 2, 0},
		{declared, false, 1, 1},
		{declared, true, 2, 2},
		{saved, false, 2, 1},
		{saved, true, 2, 1},
		{resaved, false, 1, 1},
		{once, false, 2, 1},
		{once, true, 2, 1},
	} {
		for name, refusal := range map[string]error{
			"a 429": rateLimited(0), "a 500": transient(),
			"a quota": exhausted(60), "a long wait": rateLimited(7200), // would be Parked
		} {
			t.Run(fmt.Sprintf("%s, idempotent %t, then %s", c.mode, c.idempotent, name), func(t *testing.T) {
				play(t, limiter.Config{}, spawn.Config{MaxInlineWait: time.Hour}, func(s *scene) {
					sink := 0
					send := func(context.Context) error { sink++; return nil }
					work := func(ctx context.Context, a *spawn.Attempt) error {
						switch c.mode {
						case declared:
							a.Declare("message")
							s.check(send(ctx))
						case saved:
							if a.Checkpoint() == nil {
								a.Declare("message")
								s.check(send(ctx))
								a.Save("sent")
							}
						case resaved:
							a.Save("about to send")
							a.Declare("message")
							s.check(send(ctx))
						case once:
							if err := a.Once(ctx, "message", send); err != nil {
								return err
							}
						}
						if a.Number() == 1 {
							return refusal
						}
						return nil
					}
					resume := spawn.Resume{Times: 1} // for what would be Parked
					h := s.spawner.Start(s.ctx, spawn.Worker{ID: "w", Idempotent: c.idempotent, Resume: resume, Run: work})
					result, err := h.Wait()
					require.Equal(t, c.attempts, result.Total)
					require.Equal(t, c.sent, sink)
					if c.attempts == 2 {
						require.NoError(t, err)
						require.Equal(t, spawn.Succeeded, result.State)
						return
					}
					require.Equal(t, spawn.Dead, result.State)
					require.ErrorIs(t, err, spawn.ErrNeedsDecision)
					require.NotErrorIs(t, err, spawn.ErrParked)
					require.ErrorIs(t, err, refusal, "its cause is there too")
					require.Len(t, s.deaths, 1)
					require.Equal(t, []spawn.Effect{{
						Worker: "w", Key: "message", Attempt: "w#1", Time: s.start, State: spawn.EffectDeclared,
					}}, s.deaths[0].Effects, "the trace")
					s.at(24 * 3600)
					require.Equal(t, 1, sink)
				})
			})
		}
	}
}

func TestP10_OnceInFlightInAnotherAttempt(t *testing.T) {
	for name, classifier := range map[string]retry.Classifier{
		"the standard classifier":        nil,
		"one that knows nothing of that": retry.ClassifierFunc(func(_ context.Context, err error) (v retry.Verdict) { return v }),
	} {
		t.Run(name, func(t *testing.T) {
			play(t, limiter.Config{}, spawn.Config{Policy: retry.Policy{Classifier: classifier}}, func(s *scene) {
				sink := 0
				var inFlight []error
				result, err := s.launch("w", func(ctx context.Context, a *spawn.Attempt) error {
					send := func() (string, error) {
						return spawn.Once(ctx, a, "message", func(context.Context) (string, error) {
							time.Sleep(5 * time.Second)
							sink++
							return "sent", nil
						})
					}
					if a.Number() == 1 {
						go func() { _, _ = send() }() // left behind
						synctest.Wait()
						_, err := send()
						return err
					}
					v, err := send()
					if err != nil {
						inFlight = append(inFlight, err)
						return err
					}
					require.Equal(t, "sent", v)
					return nil
				}).Wait()
				require.NoError(t, err)
				require.Equal(t, 1, sink)
				require.Equal(t, []retry.Class{retry.Transient, retry.Transient, retry.Unknown}, classes(result), "at 0, 3 and 9 s")
				require.Len(t, inFlight, 1)
				require.ErrorIs(t, inFlight[0], spawn.ErrInFlight)
				require.EqualError(t, inFlight[0], `spawn: the effect is in flight: effect "message", in_flight in w#1`)
			})
		})
	}
}

func TestDeclare_ByAGoroutineThatWasLeftBehind(t *testing.T) {
	play(t, limiter.Config{}, spawn.Config{}, func(s *scene) {
		result, err := s.launch("w", func(_ context.Context, a *spawn.Attempt) error {
			if a.Number() == 1 {
				go func() {
					time.Sleep(time.Second)
					a.Save("late")
					a.Declare("message")
				}()
			}
			return transient()
		}).Wait()
		require.ErrorIs(t, err, spawn.ErrNeedsDecision)
		require.Equal(t, 1, result.Total, "it is not repeated after the back-off")
		require.Equal(t, "w#1", result.Effects[0].Attempt)
		require.Equal(t, "late", result.Checkpoint, "no later attempt has begun")
		s.free()
	})
}

func TestDeclare_ACanceledRunSaysSo(t *testing.T) {
	play(t, limiter.Config{}, spawn.Config{}, func(s *scene) {
		h := s.launch("w", func(ctx context.Context, a *spawn.Attempt) error {
			a.Declare("message")
			<-ctx.Done()
			return ctx.Err()
		})
		s.at(1)
		h.Cancel(nil)
		result, err := h.Wait()
		require.Equal(t, spawn.Canceled, result.State)
		require.ErrorIs(t, err, context.Canceled)
		require.ErrorIs(t, err, spawn.ErrNeedsDecision)
		require.Empty(t, s.deaths)
	})
}

func TestDeclare_NothingStandsInTheWayOfSuccessOrOfADeath(t *testing.T) {
	play(t, limiter.Config{}, spawn.Config{}, func(s *scene) {
		for _, c := range []error{nil, errOwn, badRequest()} {
			result, err := s.launch("w", func(_ context.Context, a *spawn.Attempt) error { a.Declare("x"); return c }).Wait()
			require.ErrorIs(t, err, c)
			require.NotErrorIs(t, err, spawn.ErrNeedsDecision)
			require.Len(t, result.Effects, 1)
		}
	})
}

func TestM1_RefusedBeforeAnyWorkBegan(t *testing.T) {
	// What an earlier attempt declared and saved is no reason, nor is it one that
	// the refusals go on.
	play(t, limiter.Config{}, spawn.Config{}, func(s *scene) {
		effects := 0
		result, err := s.launch("w", func(_ context.Context, a *spawn.Attempt) error {
			done, _ := a.Checkpoint().(int)
			if a.Number() > 1 && a.Number() < 4 {
				return rateLimited(0) // before any work began
			}
			if done == 0 {
				a.Declare("effect")
				effects++
				a.Save(1)
				return transient()
			}
			return nil
		}).Wait()
		require.NoError(t, err)
		require.Equal(t, 4, result.Total)
		require.Equal(t, 1, effects)
		require.Equal(t, 1, result.Checkpoint)
	})
}

func TestM1_NoRepeatCountsItsEffect(t *testing.T) {
	play(t, limiter.Config{}, spawn.Config{}, func(s *scene) {
		effects := 0
		result, err := s.spawner.Run(s.ctx, spawn.Worker{NoRepeat: true, Run: func(context.Context, *spawn.Attempt) error {
			effects++
			return transient()
		}})
		require.ErrorIs(t, err, retry.Transient)
		require.Equal(t, 1, effects)
		require.Equal(t, 1, result.Total)

		_, err = s.spawner.Run(s.ctx, spawn.Worker{NoRepeat: true, Idempotent: true, Run: napping(0)})
		require.ErrorContains(t, err, "Worker.NoRepeat and Worker.Idempotent")
	})
}

func TestM3_TheTraceNamesTheAttempt(t *testing.T) {
	play(t, limiter.Config{}, spawn.Config{}, func(s *scene) {
		result, err := s.launch("w", func(ctx context.Context, a *spawn.Attempt) error {
			s.check(a.Once(ctx, fmt.Sprint("effect ", a.Number()), func(context.Context) error { return nil }))
			if a.Number() < 3 {
				return errors.Join(errors.New(a.ID()), transient())
			}
			return nil
		}).Wait()
		require.NoError(t, err)
		require.Len(t, result.Effects, 3)
		for i, e := range result.Effects {
			require.Equal(t, result.Attempts[i].ID, e.Attempt)
			require.Equal(t, "w", e.Worker)
		}
	})
}

func TestEffects_TheTraceIsBounded(t *testing.T) {
	play(t, limiter.Config{}, spawn.Config{}, func(s *scene) {
		result, err := s.launch("w", func(ctx context.Context, a *spawn.Attempt) error {
			var group sync.WaitGroup
			for i := range 100 {
				group.Go(func() {
					s.check(a.Once(ctx, fmt.Sprint("once ", i), func(context.Context) error { return nil }))
				})
			}
			group.Wait()
			for i := range 20 {
				a.Declare(fmt.Sprint("last ", i))
			}
			return nil
		}).Wait()
		require.NoError(t, err)
		require.Len(t, result.Effects, 32)
		require.Equal(t, spawn.EffectDone, result.Effects[15].State)
		for i, e := range result.Effects[16:] {
			require.Equal(t, fmt.Sprint("last ", i+4), e.Key)
		}
	})
}
