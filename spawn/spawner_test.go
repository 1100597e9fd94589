package spawn_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
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
