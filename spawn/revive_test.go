package spawn_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdoff-go/holdoff/limiter"
	"github.com/holdoff-go/holdoff/retry"
	"github.com/holdoff-go/holdoff/spawn"
)

func TestL3_NoFurtherLaunchWithoutAnExplicitRevive(t *testing.T) {
	play(t, limiter.Config{}, spawn.Config{}, func(s *scene) {
		n := 0
		first, err := s.launch("poison", func(_ context.Context, a *spawn.Attempt) error {
			n++
			require.Equal(t, n, a.Number(), "counted on")
			if last, _ := a.Checkpoint().(int); last != n-1 {
				return fmt.Errorf("checkpoint %d in launch %d", last, n)
			}
			a.Save(n)
			return errors.Join(fmt.Errorf("wedged, launch %d", n), transient())
		}).Wait()
		require.ErrorIs(t, err, retry.Transient)
		s.at(24 * 3600)
		require.Equal(t, 4, n)
		require.Len(t, s.deaths, 1)

		h, err := s.spawner.Revive(s.ctx, "poison")
		require.NoError(t, err)
		second, err := h.Wait()
		require.Equal(t, spawn.Dead, second.State)
		require.Equal(t, 8, n)
		require.Equal(t, 8, second.Total)
		var given *retry.Error
		require.ErrorAs(t, err, &given)
		require.Len(t, given.Causes, 8, "all of its life")
		require.Equal(t, 8, second.Checkpoint)
		require.Equal(t, 4, first.Total, "what the host had is not touched")
		require.Len(t, first.Attempts, 4)
		require.Len(t, s.deaths, 2)
		s.at(48 * 3600)
		require.Equal(t, 8, n)
		require.Len(t, s.spawner.Roster(), 1, "it is one worker")
		require.Equal(t, 8, s.status("poison").Attempt)
	})
}

func TestRevive_ThroughTheGateAsResumedWork(t *testing.T) {
	play(t, limiter.Config{Budget: 1}, spawn.Config{}, func(s *scene) {
		up := s.upstream(10*time.Second, func(c callTo) error {
			if c.worker == "w" && c.number == 1 {
				return badRequest()
			}
			return nil
		})
		_, err := s.launch("w", up.work).Wait()
		require.ErrorIs(t, err, retry.Fatal)
		running := s.launch("running", up.work)
		s.at(1)
		fresh := s.launch("fresh", up.work)
		s.at(2)
		revived, err := s.spawner.Revive(s.ctx, "w")
		require.NoError(t, err)
		s.at(3)
		line := s.status("w")
		require.Equal(t, spawn.Queued, line.State, "the one slot is taken")
		require.Equal(t, limiter.Resumed, line.Priority)
		require.Equal(t, 1, line.Attempt)
		require.Equal(t, "w", s.spawner.Roster()[0].ID, "its old place")
		results, _ := wait(running, fresh, revived)
		require.Equal(t, map[spawn.State]int{spawn.Succeeded: 3}, ended(results))
		require.Less(t, up.times("w")[1], up.times("fresh")[0], "ahead of new work")
		require.Equal(t, []spawn.State{
			spawn.Queued, spawn.Running, spawn.Dead, spawn.Queued, spawn.Running, spawn.Succeeded,
		}, s.states("w"))
	})
}

func TestRevive_BeforeTheLimitHasPassedParksAgain(t *testing.T) {
	play(t, limiter.Config{}, impatient, func(s *scene) {
		up := s.upstream(0, stormUntil(3600, exhausted(3600)))
		_, err := s.launch("w", up.work).Wait()
		require.ErrorIs(t, err, spawn.ErrParked)
		h, err := s.spawner.Revive(s.ctx, "w")
		require.NoError(t, err)
		result, err := h.Wait()
		require.ErrorIs(t, err, spawn.ErrParked)
		require.Equal(t, spawn.Parked, result.State)
		require.Equal(t, 1, result.Total)
		require.Equal(t, []float64{0}, up.times(""), "no call")
		s.at(3600)
		h, err = s.spawner.Revive(s.ctx, "w")
		require.NoError(t, err)
		_, err = h.Wait()
		require.NoError(t, err)
	})
}

func TestRevive_IsTheDecisionOnWhatWasDeclared(t *testing.T) {
	play(t, limiter.Config{}, spawn.Config{}, func(s *scene) {
		sent := 0
		_, err := s.launch("w", func(_ context.Context, a *spawn.Attempt) error {
			a.Declare("message")
			if sent++; sent < 3 {
				return rateLimited(0)
			}
			return nil
		}).Wait()
		require.ErrorIs(t, err, spawn.ErrNeedsDecision)
		for want := 2; want <= 3; want++ {
			require.Equal(t, want-1, sent)
			h, err := s.spawner.Revive(s.ctx, "w")
			require.NoError(t, err)
			result, err := h.Wait()
			require.Equal(t, want == 3, err == nil)
			require.Equal(t, want == 2, errors.Is(err, spawn.ErrNeedsDecision))
			require.Len(t, result.Effects, want)
		}
	})
}

func TestRevive_WhomItRefuses(t *testing.T) {
	play(t, limiter.Config{}, spawn.Config{}, func(s *scene) {
		refused := func(id string, want error) {
			t.Helper()
			_, err := s.spawner.Revive(s.ctx, id)
			require.ErrorIs(t, err, want)
		}
		refused("nobody", spawn.ErrNotRevivable)
		done := s.launch("done", napping(0))
		canceled := s.launch("canceled", napping(time.Hour))
		alive := s.launch("alive", napping(time.Hour))
		dead := s.launch("dead", func(context.Context, *spawn.Attempt) error { time.Sleep(time.Second); return errOwn })
		s.at(1)
		canceled.Cancel(nil)
		wait(done, canceled, dead)
		refused("done", spawn.ErrNotRevivable)
		refused("canceled", spawn.ErrNotRevivable)
		refused("alive", spawn.ErrDuplicate)

		h, err := s.spawner.Revive(s.ctx, "dead")
		require.NoError(t, err)
		refused("dead", spawn.ErrDuplicate)
		_, err = h.Wait()
		require.ErrorIs(t, err, errOwn)
		for i := range 100 {
			wait(s.launch(fmt.Sprint("later ", i), napping(0)))
		}
		refused("dead", spawn.ErrNotRevivable)
		alive.Cancel(nil)
		wait(alive)
		require.Len(t, s.spawner.Roster(), 100)
	})
}

func TestRevive_OfALongLifeKeepsTheHostsRecords(t *testing.T) {
	play(t, limiter.Config{}, spawn.Config{Policy: retry.Policy{MaxRetries: 40}}, func(s *scene) {
		before, err := s.launch("w", func(context.Context, *spawn.Attempt) error { return transient() }).Wait()
		require.Error(t, err)
		require.Equal(t, 41, before.Total)
		numbers := func(r spawn.Result) (ns []int) {
			for _, a := range r.Attempts {
				ns = append(ns, a.Number)
			}
			return ns
		}
		was := numbers(before)
		h, err := s.spawner.Revive(s.ctx, "w")
		require.NoError(t, err)
		after, _ := h.Wait()
		require.Equal(t, was, numbers(before))
		require.Equal(t, 82, after.Total)
		require.Equal(t, 82, numbers(after)[31])
	})
}
