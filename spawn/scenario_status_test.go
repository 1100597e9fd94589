package spawn_test

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

// Scenarios N, as a spawner shows them: status, callbacks.

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
