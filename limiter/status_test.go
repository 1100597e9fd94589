package limiter_test

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdoff-go/holdoff/limiter"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// The JSON of Status is an interface: tools read it. blocked_until is null when
// nothing is paused, and never during a pause.
func TestStatus_JSON(t *testing.T) {
	var got bytes.Buffer
	show := func(s *scene, title string) {
		st := s.l.Status()
		data, err := json.MarshalIndent(st, "", "  ")
		require.NoError(s, err)
		got.WriteString("# " + title + "\n")
		got.Write(data)
		got.WriteString("\n")

		var back limiter.Status
		require.NoError(s, json.Unmarshal(data, &back))
		require.Equal(s, zulu(st), zulu(back))
	}
	play(t, base(), func(s *scene) {
		show(s, "nothing is paused")
		slots := s.takeAll(8)
		s.ask(limiter.Normal)
		show(s, "the budget is used up, one waits")
		s.at(1.5)
		slots[0].ReportRateLimited(0)
		show(s, "an assumed pause")
		s.l.ReportOverloaded(90 * time.Second)
		show(s, "a stated pause")
		s.l.Hold("deploy")
		show(s, "a hold in a pause")
		s.at(92)
		show(s, "the hold after it")
		s.l.Resume("deployed")
		show(s, "resumed")
	})
	golden := filepath.Join("testdata", "status.golden")
	if *update {
		require.NoError(t, os.MkdirAll("testdata", 0o755))
		require.NoError(t, os.WriteFile(golden, got.Bytes(), 0o644))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	require.Equal(t, string(want), got.String())

	var st limiter.Status
	require.Error(t, json.Unmarshal([]byte(`{"budget":"many"}`), &st))
}

// zulu is st with plain instants, for comparison.
func zulu(st limiter.Status) limiter.Status {
	st.Since, st.BlockedUntil = st.Since.Round(0).UTC(), st.BlockedUntil.Round(0).UTC()
	return st
}

// Group N of the scenarios: status, callbacks, configuration.

func TestN1_PauseIsVisible(t *testing.T) {
	for name, c := range map[string]struct {
		report func(*limiter.Limiter)
		reason limiter.Reason
		until  float64
	}{
		"assumed":    {func(l *limiter.Limiter) { l.ReportRateLimited(0) }, limiter.ReasonRateLimited, 65},
		"stated":     {func(l *limiter.Limiter) { l.ReportRateLimited(time.Hour) }, limiter.ReasonRateLimited, 3605},
		"overloaded": {func(l *limiter.Limiter) { l.ReportOverloaded(0) }, limiter.ReasonOverloaded, 15},
	} {
		t.Run(name, func(t *testing.T) {
			play(t, base(), func(s *scene) {
				s.at(5)
				c.report(s.l)
				s.askAll(3, limiter.Normal)
				s.at(6)
				st := s.l.Status()
				require.Equal(s, "upstream", st.Name)
				require.Equal(s, c.reason, st.Reason)
				require.Equal(s, 5.0, st.Since.Sub(s.start).Seconds())
				require.Equal(s, c.until, s.blockedUntil())
				require.Equal(s, 3, st.Waiting)
			})
		})
	}
}

// N3: what Status shows is what callers get, under random operations.
func TestN3_DisplayIsTruth(t *testing.T) {
	for seed := range uint64(30) {
		cfg := base()
		cfg.Budget = 3
		if seed%3 == 0 {
			cfg.Pace = 1
		}
		play(t, cfg, func(s *scene) {
			r := rand.New(rand.NewPCG(seed, 0))
			var slots []*limiter.Slot
			var callers []*caller
			for range 300 {
				switch n := r.IntN(12); n {
				case 0, 1, 2:
					callers = append(callers, s.ask(limiter.Priority(n)))
				case 3:
					s.l.ReportRateLimited(time.Duration(r.IntN(3)) * 10 * time.Second)
				case 4:
					s.l.ReportSuccess()
				case 5:
					s.l.Hold("hold")
				case 6:
					s.l.Resume("resume")
				case 7:
					require.NoError(s, s.l.SetBudget(1+r.IntN(3)))
				case 8:
					s.at(s.now() + float64(r.IntN(80)))
				default:
					if len(slots) == 0 {
						break
					}
					slot := slots[r.IntN(len(slots))]
					switch n {
					case 9:
						slot.ReportRateLimited(0)
					case 10:
						slot.ReportSuccess()
					}
					slot.Release()
				}
				synctest.Wait()
				for _, c := range callers {
					if c.back() && c.slot != nil {
						slots = append(slots, c.slot)
						c.slot = nil
					}
				}

				st := s.l.Status()
				if st.Reason == limiter.ReasonRateLimited {
					require.True(s, st.BlockedUntil.After(time.Now()), "never a null end during a pause")
				}
				if slot, err := s.l.TryAcquire(); err == nil {
					require.Equal(s, limiter.ReasonNone, st.Reason)
					require.Zero(s, st.BlockedUntil)
					slots = append(slots, slot)
				} else {
					require.Equal(s, st.Reason, err.(*limiter.BlockedError).Reason)
				}
			}
		})
	}
}

func TestN7_WaitingQueueIsBounded(t *testing.T) {
	cfg := base()
	cfg.MaxWaiting = 100
	play(t, cfg, func(s *scene) {
		s.l.ReportRateLimited(0)
		waiters := s.askAll(100, limiter.Normal)
		require.Equal(s, 100, waiting(waiters...))
		last := s.ask(limiter.Normal)
		require.True(s, last.back())
		var blocked *limiter.BlockedError
		require.ErrorAs(s, last.err, &blocked)
		require.Equal(s, limiter.ReasonQueueFull, blocked.Reason)
		require.NotErrorIs(s, last.err, context.DeadlineExceeded)
		require.EqualError(s, last.err, "limiter upstream: its queue is full; try again later or raise MaxWaiting")
		require.Equal(s, 2, waiting(s.ask(limiter.Resumed), s.askAll(2, limiter.Emergency)[1]))
		waiters[7].cancel()
		synctest.Wait()
		require.False(s, s.ask(limiter.Normal).back(), "there is room again")
	})
}
