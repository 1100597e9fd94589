package compat

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdoff-go/holdoff/limiter"
	"github.com/holdoff-go/holdoff/retry"
	"github.com/holdoff-go/holdoff/spawn"
)

type spawnStory struct {
	sceneSetup
	act func(s *scene)
}

// TestSpawner_OnFakeClocks runs the spawner's main stories on each fake clock,
// with no adapter. All goroutines rest whenever the clock is moved.
func TestSpawner_OnFakeClocks(t *testing.T) {
	for name, newFake := range fakes {
		for story, c := range spawnStories {
			t.Run(name+"/"+story, func(t *testing.T) { playScene(t, newFake, c.sceneSetup, c.act) })
		}
	}
}

var spawnStories = map[string]spawnStory{
	"H12 a lone worker has four attempts": {sceneSetup{answer: always(tooMany(0))}, func(s *scene) {
		w := s.launch(spawn.Worker{ID: "w"})
		s.at(20.99)
		s.anHourElsewhere()
		require.Equal(s, spawn.BackingOff, w.Status().State)
		s.at(21)
		result, err := s.ended(w)
		require.ErrorIs(s, err, retry.RateLimited)
		require.Equal(s, spawn.Dead, result.State)
		require.Equal(s, []float64{0, 3, 9, 21}, s.times("w"))
		require.Equal(s, []string{
			"queued at 0",
			"running at 0", "backing_off at 0 until 3",
			"running at 3", "backing_off at 3 until 9",
			"running at 9", "backing_off at 9 until 21",
			"running at 21", "dead at 21",
		}, s.told("w"))
		require.Equal(s, []string{"w"}, s.deathsToldOf())
		require.Len(s, s.deaths[0].Attempts, 4)
		for i, at := range []float64{0, 3, 9, 21} {
			require.Equal(s, at, s.seconds(result.Attempts[i].Start))
			require.Equal(s, at, s.seconds(result.Attempts[i].End))
		}
	}},
	"A1 the first refusal is no death": {sceneSetup{answer: func(c sceneCall) error {
		if c.worker == "w" && c.number == 1 {
			return tooMany(0)
		}
		return nil
	}}, func(s *scene) {
		w := s.launch(spawn.Worker{ID: "w"})
		s.at(1)
		require.Equal(s, 60.0, s.blockedUntil())
		fresh := s.launch(spawn.Worker{ID: "new"})
		s.at(2.99)
		require.Equal(s, []float64{0}, s.times(""), "new work waits")
		s.at(3)
		require.Equal(s, []float64{0, 3}, s.times("w"))
		require.Equal(s, []float64{3}, s.times("new"), "the probe has cleared the pause")
		require.Zero(s, s.blockedUntil())
		require.Equal(s, map[spawn.State]int{spawn.Succeeded: 2}, s.allEnded(w, fresh))
		require.Empty(s, s.deathsToldOf())
	}},
	"A1 60 s stated": {sceneSetup{answer: before(1, tooMany(time.Minute))}, func(s *scene) {
		w := s.launch(spawn.Worker{ID: "w"})
		s.at(59.99)
		require.Equal(s, []float64{0}, s.times("w"))
		s.at(60)
		require.Equal(s, []float64{0, 60}, s.times("w"), "the later of the ladder and the stated time, not their sum")
		result, err := s.ended(w)
		require.NoError(s, err)
		require.Equal(s, 2, result.Total)
	}},
	"H12 four workers outlive three minutes": {sceneSetup{
		latency: time.Second, answer: before(185, tooMany(0)),
	}, func(s *scene) {
		s.leap(5)
		var fleet []*spawn.Handle
		for i, ms := range []time.Duration{10, 30, 70, 150} {
			fleet = append(fleet, s.launch(spawn.Worker{ID: fmt.Sprint("w", i), Run: s.windDown(ms * time.Millisecond)}))
		}
		s.at(10)
		require.Equal(s, []float64{5, 5, 5, 5}, s.times("")[:4])
		fleet = append(fleet, s.launch(spawn.Worker{ID: "fifth"}))
		s.at(184.99)
		require.Empty(s, s.times("fifth"))
		require.Empty(s, s.deathsToldOf())
		s.at(300)
		require.Equal(s, map[spawn.State]int{spawn.Succeeded: 5}, s.allEnded(fleet...))
		accepted := 0.0
		refused := 0
		for _, c := range s.seen()[4:] {
			switch {
			case c.refused:
				refused++
			case accepted == 0:
				accepted = c.at
			}
		}
		require.LessOrEqual(s, refused, 8)
		require.GreaterOrEqual(s, s.times("fifth")[0], accepted+1, "once a probe has been answered")
	}},
	"C3 MaxElapsed ends before the wait that would pass it": {sceneSetup{
		spawner: spawn.Config{Policy: retry.Policy{MaxElapsed: 15 * time.Second}}, answer: always(tooMany(0)),
	}, func(s *scene) {
		w := s.launch(spawn.Worker{ID: "w"})
		s.at(8.99)
		require.Equal(s, spawn.BackingOff, w.Status().State)
		s.at(9)
		result, err := s.ended(w)
		require.ErrorIs(s, err, retry.ErrElapsed)
		require.ErrorIs(s, err, retry.RateLimited)
		require.Equal(s, spawn.Dead, result.State)
		require.Equal(s, 3, result.Total)
		s.at(30)
		require.Equal(s, []float64{0, 3, 9}, s.times(""))
	}},
	"C3 MaxElapsed ends the wait for a slot": {sceneSetup{
		limiter: limiter.Config{Budget: 1}, spawner: spawn.Config{Policy: retry.Policy{MaxElapsed: 15 * time.Second}}, answer: always(nil),
	}, func(s *scene) {
		slot, err := s.limiter.TryAcquire()
		require.NoError(s, err)
		defer slot.Release()
		w := s.launch(spawn.Worker{ID: "w"})
		s.at(14.99)
		s.anHourElsewhere()
		require.Equal(s, spawn.Queued, w.Status().State)
		s.at(15)
		result, err := s.ended(w)
		require.ErrorIs(s, err, retry.ErrElapsed)
		require.Equal(s, spawn.Dead, result.State)
		require.Zero(s, result.Total)
		require.Zero(s, s.limiter.Status().Waiting)
	}},
	"D3 longer than MaxInlineWait is parked": {sceneSetup{
		spawner: spawn.Config{MaxInlineWait: 2 * time.Minute}, answer: before(3600, tooMany(time.Hour)),
	}, func(s *scene) {
		result, err := s.ended(s.launch(spawn.Worker{ID: "w"}))
		require.ErrorIs(s, err, spawn.ErrParked)
		require.ErrorIs(s, err, retry.RateLimited)
		require.Equal(s, spawn.Parked, result.State)
		require.Equal(s, 3600.0, s.seconds(result.RetryAt))
		require.Equal(s, []string{"queued at 0", "running at 0", "parked at 0 until 3600"}, s.told("w"))
		require.Equal(s, 3600.0, s.blockedUntil(), "the fleet holds off all the same")
		s.leap(3599)
		require.Equal(s, []float64{0}, s.times(""))
		resumed := s.launch(spawn.Worker{ID: "w"})
		s.at(3599.99)
		require.Equal(s, []float64{0}, s.times(""))
		s.at(3600)
		require.Equal(s, map[spawn.State]int{spawn.Succeeded: 1}, s.allEnded(resumed))
		require.Equal(s, []float64{0, 3600}, s.times("w"))
		require.Empty(s, s.deathsToldOf())
	}},
	"G12 no slot is held in back-off": {sceneSetup{
		limiter: limiter.Config{Budget: 1}, answer: func(c sceneCall) error {
			if c.worker == "a" && c.at < 4 {
				return tooMany(0)
			}
			return nil
		},
	}, func(s *scene) {
		a := s.launch(spawn.Worker{ID: "a"})
		require.Zero(s, s.limiter.Status().InFlight)
		s.at(4)
		require.Equal(s, []float64{0, 3}, s.times("a"))
		require.Zero(s, s.limiter.Status().InFlight)
		roster := s.spawner.Roster()
		require.Len(s, roster, 1)
		require.Equal(s, spawn.BackingOff, roster[0].State)
		require.Equal(s, 9.0, s.seconds(roster[0].Until))
		require.Equal(s, 3.0, s.seconds(roster[0].Since))
		s.at(5)
		urgent := s.launch(spawn.Worker{ID: "urgent", Priority: limiter.Emergency})
		require.Equal(s, []float64{5}, s.times("urgent"))
		s.at(9)
		require.Equal(s, map[spawn.State]int{spawn.Succeeded: 2}, s.allEnded(a, urgent))
		require.Equal(s, []float64{0, 3, 9}, s.times("a"))
	}},
	"H4 back-off heeds cancellation": {sceneSetup{
		limiter: limiter.Config{Budget: 100}, spawner: spawn.Config{Policy: retry.Policy{Initial: 12 * time.Second}}, answer: always(transient()),
	}, func(s *scene) {
		var fleet []*spawn.Handle
		for i := range 100 {
			fleet = append(fleet, s.launch(spawn.Worker{ID: fmt.Sprint("w", i)}))
		}
		s.at(0.1)
		for _, h := range fleet {
			require.Equal(s, spawn.BackingOff, h.Status().State)
			require.Equal(s, 12.0, s.seconds(h.Status().Until))
		}
		s.cancel()
		s.at(0.1) // the clock stands still
		require.Equal(s, map[spawn.State]int{spawn.Canceled: 100}, s.allEnded(fleet...))
		for _, h := range fleet {
			_, err := h.Wait()
			require.ErrorIs(s, err, context.Canceled)
			require.ErrorIs(s, err, retry.Canceled)
		}
		require.NoError(s, s.spawner.Drain(context.Background()))
		s.leap(60)
		require.Len(s, s.times(""), 100)
		require.Empty(s, s.deathsToldOf())
	}},
	"L10 the fleet has a retry budget": {sceneSetup{
		limiter: limiter.Config{Budget: 50}, spawner: spawn.Config{RetryBudget: 10}, answer: firstOnly(transient()),
	}, func(s *scene) {
		var fleet []*spawn.Handle
		for i := range 50 {
			fleet = append(fleet, s.launch(spawn.Worker{ID: fmt.Sprint("w", i)}))
		}
		require.Equal(s, map[spawn.State]int{spawn.Dead: 40}, s.allEnded(fleet[10:]...), "at once")
		for _, h := range fleet[10:] {
			result, err := h.Wait()
			require.Equal(s, 1, result.Total)
			require.ErrorIs(s, err, spawn.ErrRetryBudget)
			require.ErrorIs(s, err, retry.Transient)
		}
		s.at(60)
		require.Equal(s, map[spawn.State]int{spawn.Succeeded: 10}, s.allEnded(fleet[:10]...))
		require.Len(s, s.times(""), 60)
		for _, at := range s.times("")[50:] {
			require.Equal(s, 3.0, at)
		}
		require.Zero(s, s.pauses)
	}},
	"Progress: refusals in a row start anew": {sceneSetup{answer: thriceOfFour}, func(s *scene) {
		w := s.launch(spawn.Worker{ID: "w", Run: twoTurns(s, (*spawn.Attempt).Progress)})
		s.at(42)
		result, err := s.ended(w)
		require.NoError(s, err)
		require.Equal(s, 7, result.Total)
		require.Equal(s, []float64{0, 3, 9, 21, 21, 24, 30, 42}, s.times("w"))
		require.Equal(s, 2, s.pauses)
	}},
	"Progress: a success that is only reported starts nothing anew": {sceneSetup{answer: thriceOfFour}, func(s *scene) {
		w := s.launch(spawn.Worker{ID: "w", Run: twoTurns(s, func(a *spawn.Attempt) { a.Report(nil) })})
		s.at(21)
		result, err := s.ended(w)
		require.ErrorIs(s, err, retry.RateLimited)
		require.Equal(s, spawn.Dead, result.State)
		require.Equal(s, []float64{0, 3, 9, 21, 21}, s.times("w"))
	}},
	"a quota that resets soon is waited for without a slot": {sceneSetup{answer: before(600, exhausted(10*time.Minute))}, func(s *scene) {
		w := s.launch(spawn.Worker{ID: "w"})
		require.Equal(s, spawn.BackingOff, w.Status().State)
		require.Zero(s, s.limiter.Status().InFlight)
		s.at(1)
		other := s.launch(spawn.Worker{ID: "other"})
		s.leap(599.99)
		require.Equal(s, []float64{0}, s.times(""), "nobody calls with a used-up credential")
		s.at(600)
		require.Equal(s, map[spawn.State]int{spawn.Succeeded: 2}, s.allEnded(w, other))
		require.Equal(s, []float64{0, 600}, s.times("w"))
		require.Equal(s, []float64{600}, s.times("other"))
		require.Zero(s, s.pauses, "the limiter is told nothing")
	}},
	"Drain waits for what runs, and for nothing else": {sceneSetup{
		limiter: limiter.Config{Budget: 2}, answer: always(transient()),
	}, func(s *scene) {
		backing := s.launch(spawn.Worker{ID: "backing"})
		runs := s.launch(spawn.Worker{ID: "runs", Run: s.hold(20 * time.Second)})
		fails := s.launch(spawn.Worker{ID: "fails", Run: func(ctx context.Context, _ *spawn.Attempt) error {
			if err := s.sleep(ctx, 4*time.Second); err != nil {
				return err
			}
			return transient()
		}})
		queued := s.launch(spawn.Worker{ID: "queued"})
		s.at(1)
		drained := s.drain(s.ctx)
		_, err := s.ended(s.launch(spawn.Worker{ID: "late"}))
		require.ErrorIs(s, err, spawn.ErrDraining)
		for _, h := range []*spawn.Handle{backing, queued} {
			result, err := s.ended(h)
			require.Equal(s, spawn.Canceled, result.State)
			require.ErrorIs(s, err, spawn.ErrDraining)
		}
		s.at(4)
		result, err := s.ended(fails)
		require.Equal(s, spawn.Canceled, result.State, "what would be retried is not")
		require.ErrorIs(s, err, spawn.ErrDraining)
		s.at(19.99)
		require.Empty(s, drained)
		s.at(20)
		require.Len(s, drained, 1)
		require.NoError(s, <-drained)
		require.Equal(s, map[spawn.State]int{spawn.Succeeded: 1}, s.allEnded(runs))
		require.Empty(s, s.deathsToldOf())
	}},
	"Drain names the stragglers": {sceneSetup{answer: always(nil)}, func(s *scene) {
		slow := s.launch(spawn.Worker{ID: "slow", Run: s.hold(time.Hour)})
		quick := s.launch(spawn.Worker{ID: "quick", Run: s.hold(5 * time.Second)})
		ctx, cancel := context.WithCancel(s.ctx)
		drained := s.drain(ctx)
		s.at(5)
		require.Empty(s, drained)
		cancel()
		s.at(5)
		require.Len(s, drained, 1)
		var stragglers *spawn.StragglersError
		require.ErrorAs(s, <-drained, &stragglers)
		require.Equal(s, []string{"slow"}, stragglers.IDs)
		require.Equal(s, map[spawn.State]int{spawn.Succeeded: 1, spawn.Canceled: 1}, s.allEnded(quick, slow))
		_, err := slow.Wait()
		require.ErrorIs(s, err, spawn.ErrDraining)
	}},
}

// thriceOfFour refuses three calls, and accepts one.
func thriceOfFour(c sceneCall) error {
	if c.number%4 != 0 {
		return tooMany(0)
	}
	return nil
}

// twoTurns is a worker of two calls, and goes on where it was. It tells accepted
// of the ones that are.
func twoTurns(s *scene, accepted func(*spawn.Attempt)) func(context.Context, *spawn.Attempt) error {
	turns := 0
	return func(ctx context.Context, a *spawn.Attempt) error {
		for ; turns < 2; turns++ {
			if err := a.Wait(ctx); err != nil {
				return err
			}
			if err := s.call(ctx, a.WorkerID()); err != nil {
				return err
			}
			accepted(a)
		}
		return nil
	}
}

// windDown is a worker of one call that tells of a refusal at once, and returns
// after d. With a d of its own for each worker, no two waits end at one instant:
// benbjohnson's After fires what is due already and then sleeps, and the limiter
// calls it under its lock. In a bubble a sleep does not end while anybody is kept
// from a lock.
func (s *scene) windDown(d time.Duration) func(context.Context, *spawn.Attempt) error {
	return func(ctx context.Context, a *spawn.Attempt) error {
		err := s.work(ctx, a)
		if err == nil {
			return nil
		}
		a.Report(err)
		if stopped := s.sleep(ctx, d); stopped != nil {
			return stopped
		}
		return err
	}
}

// drain drains the spawner; what that comes to is in the channel.
func (s *scene) drain(ctx context.Context) <-chan error {
	drained := make(chan error, 1)
	go func() { drained <- s.spawner.Drain(ctx) }()
	return drained
}
