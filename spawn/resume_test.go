package spawn_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdoff-go/holdoff/limiter"
	"github.com/holdoff-go/holdoff/retry"
	"github.com/holdoff-go/holdoff/spawn"
)

// hourly refuses each call for an hour more, which is too long to wait inline.
func hourly(callTo) error { return rateLimited(3600) }

var impatient = spawn.Config{MaxInlineWait: time.Minute}

func TestM10_NoResumeThatNobodyAskedFor(t *testing.T) {
	for name, refusal := range map[string]error{
		"a long stated wait": rateLimited(3600), "a quota": exhausted(3600), "a quota without a reset": exhausted(0),
	} {
		t.Run(name, func(t *testing.T) {
			play(t, limiter.Config{}, impatient, func(s *scene) {
				up := s.upstream(0, func(callTo) error { return refusal })
				result, err := s.launch("w", up.work).Wait()
				require.ErrorIs(t, err, spawn.ErrParked)
				require.Equal(t, spawn.Parked, result.State)
				require.Zero(t, s.now())
				s.at(24 * 3600)
				require.Equal(t, []float64{0}, up.times(""), "launches = 0")
				require.Equal(t, spawn.Parked, s.status("w").State)
			})
		})
	}
}

func TestM10_AsOftenAndAsLongAsAllowed(t *testing.T) {
	for name, c := range map[string]struct {
		times int
		until float64 // 0: any time
		calls []float64
		ended float64
	}{
		"once":                       {1, 0, []float64{0, 3600}, 3600},
		"twice":                      {2, 0, []float64{0, 3600, 7200}, 7200},
		"once, until then exactly":   {1, 3600, []float64{0, 3600}, 3600},
		"often, until T":             {9, 8000, []float64{0, 3600, 7200}, 7200},
		"once, but it is too late":   {1, 3599, []float64{0}, 0},
		"for a time that has passed": {1, -5, []float64{0}, 0},
	} {
		for quota, refusal := range map[string]error{"stated": rateLimited(3600), "quota": exhausted(3600)} {
			t.Run(name+", "+quota, func(t *testing.T) {
				play(t, limiter.Config{}, impatient, func(s *scene) {
					up := s.upstream(0, func(callTo) error { return refusal })
					resume := spawn.Resume{Times: c.times}
					if c.until != 0 {
						resume.Until = s.start.Add(seconds(c.until))
					}
					h := s.spawner.Start(s.ctx, spawn.Worker{ID: "w", Resume: resume, Run: up.work})
					if len(c.calls) > 1 {
						s.at(1)
						line := s.status("w")
						require.Equal(t, spawn.BackingOff, line.State)
						require.Equal(t, 3600.0, s.clock(line.Until))
						require.Zero(t, s.limiter.Status().InFlight, "without a slot")
					}
					result, err := h.Wait()
					require.ErrorIs(t, err, spawn.ErrParked)
					require.Equal(t, spawn.Parked, result.State)
					require.Equal(t, seconds(c.ended), s.now())
					s.at(24 * 3600)
					require.Equal(t, c.calls, up.times(""))
					terminal := 0
					for _, st := range s.states("w") {
						if st.Terminal() {
							terminal++
						}
					}
					require.Equal(t, 1, terminal)
				})
			})
		}
	}
}

func TestM10_TheGateMayHoldItUpUntilItIsTooLate(t *testing.T) {
	play(t, limiter.Config{Budget: 1}, impatient, func(s *scene) {
		up := s.upstream(0, hourly)
		resume := spawn.Resume{Times: 1, Until: s.start.Add(2 * time.Hour)}
		h := s.spawner.Start(s.ctx, spawn.Worker{ID: "w", Resume: resume, Run: up.work})
		s.at(1)
		s.limiter.Hold("maintenance")
		s.at(7201)
		s.limiter.Resume("over")
		result, err := h.Wait()
		require.ErrorIs(t, err, spawn.ErrParked)
		require.ErrorIs(t, err, retry.RateLimited)
		require.Equal(t, spawn.Parked, result.State)
		require.Equal(t, []float64{0}, up.times(""), "none after T")
		s.free()
	})
}

func TestResume_ComesBackAheadOfNewWorkWithALadderOfItsOwn(t *testing.T) {
	play(t, limiter.Config{Budget: 1}, impatient, func(s *scene) {
		var order []string
		up := s.upstream(time.Second, func(c callTo) error {
			order = append(order, c.worker)
			switch {
			case c.worker == "w" && c.number <= 3:
				return transient()
			case c.worker == "w" && c.number == 4:
				return exhausted(3600)
			case c.worker == "w" && c.number <= 7:
				return transient()
			}
			return nil
		})
		h := s.spawner.Start(s.ctx, spawn.Worker{ID: "w", Resume: spawn.Resume{Times: 1}, Run: up.work})
		result, err := h.Wait()
		require.NoError(t, err)
		require.Equal(t, 8, result.Total, "four and four")
		require.Greater(t, s.now(), time.Hour)
	})
	play(t, limiter.Config{Budget: 1}, impatient, func(s *scene) {
		up := s.upstream(10*time.Second, func(c callTo) error {
			if c.worker == "w" && c.number == 1 {
				return exhausted(3600)
			}
			return nil
		})
		h := s.spawner.Start(s.ctx, spawn.Worker{ID: "w", Resume: spawn.Resume{Times: 1}, Run: up.work})
		s.at(3590)
		slot, err := s.limiter.TryAcquire()
		require.NoError(t, err)
		s.at(3599)
		s.at(3600)
		fresh := s.launch("fresh", up.work)
		s.at(3605)
		slot.Release()
		results, _ := wait(h, fresh)
		require.Equal(t, map[spawn.State]int{spawn.Succeeded: 2}, ended(results))
		require.Equal(t, 3605.0, up.times("w")[1])
		require.Equal(t, []float64{3615}, up.times("fresh"))
	})
}

func TestResume_NotPastADeadlineOrMaxElapsed(t *testing.T) {
	t.Run("deadline", func(t *testing.T) {
		play(t, limiter.Config{}, impatient, func(s *scene) {
			ctx, cancel := context.WithTimeout(s.ctx, 30*time.Minute)
			defer cancel()
			result, err := s.spawner.Run(ctx, spawn.Worker{Resume: spawn.Resume{Times: 5}, Run: s.upstream(0, hourly).work})
			require.ErrorIs(t, err, spawn.ErrParked)
			require.Equal(t, spawn.Parked, result.State)
			require.Zero(t, s.now())
		})
	})
	t.Run("MaxElapsed", func(t *testing.T) {
		config := impatient
		config.Policy.MaxElapsed = 90 * time.Minute
		play(t, limiter.Config{}, config, func(s *scene) {
			result, err := s.spawner.Run(s.ctx, spawn.Worker{Resume: spawn.Resume{Times: 5}, Run: s.upstream(0, hourly).work})
			require.ErrorIs(t, err, spawn.ErrParked)
			require.Equal(t, 2, result.Total)
			require.Equal(t, time.Hour, s.now())
		})
	})
}

func TestResume_AWaitWithoutAnAttemptDoesNotCount(t *testing.T) {
	play(t, limiter.Config{Budget: 1}, impatient, func(s *scene) {
		up := s.upstream(0, func(c callTo) error {
			if c.at < 7200 {
				return exhausted(7200 - c.at)
			}
			return nil
		})
		_, err := s.launch("first", func(context.Context, *spawn.Attempt) error { return exhausted(600) }).Wait()
		require.ErrorIs(t, err, spawn.ErrParked)
		var handles []*spawn.Handle
		for _, id := range []string{"a", "b"} {
			handles = append(handles, s.spawner.Start(s.ctx, spawn.Worker{ID: id, Resume: spawn.Resume{Times: 1}, Run: up.work}))
		}
		s.at(1)
		require.Equal(t, spawn.BackingOff, s.status("a").State, "it has not been tried, and waits as well")
		results, _ := wait(handles...)
		require.Equal(t, map[spawn.State]int{spawn.Parked: 1, spawn.Succeeded: 1}, ended(results))
		require.Equal(t, []float64{600, 7200}, up.times(""), "one finds that the quota is still used up; the other waits on")
	})
}

func TestH10_ParkedResumesGetErrDraining(t *testing.T) {
	play(t, limiter.Config{}, impatient, func(s *scene) {
		up := s.upstream(0, func(callTo) error { return exhausted(3600) })
		waits := s.spawner.Start(s.ctx, spawn.Worker{ID: "waits", Resume: spawn.Resume{Times: 3}, Run: up.work})
		s.at(1)
		_, err := s.launch("parked", up.work).Wait()
		require.ErrorIs(t, err, spawn.ErrParked)
		s.at(2)
		require.NoError(t, s.spawner.Drain(s.ctx))
		require.Equal(t, seconds(2), s.now(), "at once")
		result, err := waits.Wait()
		require.Equal(t, spawn.Canceled, result.State)
		require.ErrorIs(t, err, spawn.ErrDraining)
		_, err = s.spawner.Revive(s.ctx, "parked")
		require.ErrorIs(t, err, spawn.ErrDraining)
		s.at(24 * 3600)
		require.Equal(t, []float64{0}, up.times(""))
	})
}

func TestResume_ThatMakesNoSense(t *testing.T) {
	play(t, limiter.Config{}, spawn.Config{}, func(s *scene) {
		_, err := s.spawner.Run(s.ctx, spawn.Worker{Resume: spawn.Resume{Times: -1}, Run: napping(0)})
		require.ErrorContains(t, err, "Worker.Resume.Times is -1")
		_, err = s.spawner.Run(s.ctx, spawn.Worker{Resume: spawn.Resume{Until: s.start}, Run: napping(0)})
		require.ErrorContains(t, err, "Worker.Resume.Until is set, and Times is 0")
	})
}
