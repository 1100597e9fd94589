package limiter_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdoff-go/holdoff/limiter"
	"github.com/holdoff-go/holdoff/retry"
)

// The rows of the tower's table, by their ids: "acquire" is TryAcquire, "429" is
// the plain hook with nothing stated, "success" the plain hook.
func TestTowerParity(t *testing.T) {
	const (
		pause   = 60.0
		recover = 180.0
	)
	rows := []struct {
		id    string
		story func(s *scene)
	}{
		{"T-L1 fresh", func(s *scene) {
			st := s.l.Status()
			require.Equal(s, 16, st.Budget)
			require.Equal(s, 0, st.InFlight)
			require.Zero(s, st.BlockedUntil)
			require.Equal(s, limiter.ReasonNone, st.Reason)
		}},
		{"T-L2 a release too many", func(s *scene) {
			slots := s.takeAll(2)
			require.Equal(s, 2, s.l.Status().InFlight)
			for _, release := range []struct {
				slot *limiter.Slot
				left int
			}{{slots[0], 1}, {slots[1], 0}, {slots[1], 0}} {
				release.slot.Release()
				require.Equal(s, release.left, s.l.Status().InFlight)
			}
		}},
		{"T-L3 a refusal pauses and cuts", func(s *scene) {
			s.takeAll(3)
			s.at(7)
			s.l.ReportRateLimited(0)
			st := s.l.Status()
			require.Equal(s, 2, st.Budget)
			require.Equal(s, 3, st.InFlight)
			require.Equal(s, 7+pause, s.blockedUntil())
		}},
		{"T-L4 the pause ends at its boundary", func(s *scene) {
			s.l.ReportRateLimited(0)
			require.Equal(s, limiter.ReasonRateLimited, s.refused().Reason)
			s.at(pause - 0.000001)
			require.Equal(s, limiter.ReasonRateLimited, s.refused().Reason)
			s.at(pause)
			s.take()
		}},
		{"T-L5 a success clears the pause", func(s *scene) {
			s.l.ReportRateLimited(0)
			s.l.ReportSuccess()
			require.Zero(s, s.blockedUntil())
			s.take()
		}},
		{"T-L6 the budget holds after the pause", func(s *scene) {
			slot := s.take()
			s.l.ReportRateLimited(0)
			s.at(pause)
			require.Equal(s, limiter.ReasonBudget, s.refused().Reason)
			st := s.l.Status()
			require.Equal(s, 1, st.Budget)
			require.Equal(s, 1, st.InFlight)
			slot.Release()
			s.take()
		}},
		{"T-L7 quiet time gives the budget back", func(s *scene) {
			s.takeAll(2)
			s.l.ReportRateLimited(0)
			for i, budget := range []int{1, 2, 3} {
				s.at(float64(i) * recover)
				require.Equal(s, budget, s.l.Status().Budget)
			}
		}},
		{"T-L8 but not more than there was", func(s *scene) {
			s.take()
			s.l.ReportRateLimited(0)
			for i := range 20 {
				s.at(float64(i+1) * recover)
				require.Equal(s, min(2+i, 16), s.l.Status().Budget)
			}
		}},
		{"T-G2 cut to one less than in flight", func(s *scene) {
			s.takeAll(5)
			s.l.ReportRateLimited(0)
			require.Equal(s, 4, s.l.Status().Budget)
		}},
		{"T-G3 a refusal from outside the fleet cuts nothing", func(s *scene) {
			s.l.ReportRateLimited(0)
			require.Equal(s, 16, s.l.Status().Budget)
			require.Equal(s, pause, s.blockedUntil())
			s.at(pause)
			s.take()
			s.l.ReportRateLimited(0)
			require.Equal(s, 1, s.l.Status().Budget)
		}},
		{"T-G4 one cut in two seconds", func(s *scene) {
			s.takeAll(5)
			for _, step := range []struct {
				at     float64
				budget int
			}{{0, 4}, {1, 4}, {2.001, 3}, {4.002, 2}, {6.003, 1}, {8.004, 1}} {
				s.at(step.at)
				s.l.ReportRateLimited(0)
				require.Equal(s, step.budget, s.l.Status().Budget, "at %v", step.at)
			}
		}},
		{"T-G5 a refusal starts the quiet time anew", func(s *scene) {
			s.takeAll(5)
			s.l.ReportRateLimited(0)
			require.Equal(s, 4, s.l.Status().Budget)
			s.at(180.001)
			require.Equal(s, 5, s.l.Status().Budget)
			s.l.ReportRateLimited(0)
			require.Equal(s, 4, s.l.Status().Budget)
			s.at(180.001 + 179.999)
			require.Equal(s, 4, s.l.Status().Budget)
		}},
		{"T-G9 a call is refused and then succeeds", func(s *scene) {
			s.take()
			s.l.ReportRateLimited(0)
			s.at(3)
			s.l.ReportSuccess()
			st := s.l.Status()
			require.Equal(s, 1, st.Budget)
			require.Equal(s, 1, st.InFlight)
			require.Zero(s, st.BlockedUntil)
		}},
		{"T-G10 a quota is no business of the gate", func(s *scene) {
			slot := s.take()
			verdict := retry.Standard(nil).Classify(s.ctx, retry.Response(&http.Response{
				StatusCode: http.StatusTooManyRequests,
				Header:     http.Header{"Content-Type": {"application/json"}},
				Body: io.NopCloser(strings.NewReader(`{"error":{"type":"insufficient_quota","code":"insufficient_quota",` +
					`"message":"You exceeded your current quota, please check your plan and billing details."}}`)),
			}))
			switch verdict.Class { // as every caller does: only refusals are reported
			case retry.RateLimited:
				slot.ReportRateLimited(verdict.RetryAfter)
			case retry.Overloaded:
				slot.ReportOverloaded(verdict.RetryAfter)
			}
			require.Equal(s, retry.QuotaExhausted, verdict.Class)
			slot.Release()
			st := s.l.Status()
			require.Equal(s, 16, st.Budget)
			require.Equal(s, limiter.ReasonNone, st.Reason)
			require.Zero(s, st.BlockedUntil)
		}},

		// Where the limiter is deliberately better, under the same preset.
		{"better: reading Status changes nothing", func(s *scene) {
			s.takeAll(5)
			s.l.ReportRateLimited(0)
			s.at(200)
			first := s.l.Status()
			for range 100 {
				require.Equal(s, first, s.l.Status())
			}
			// An observer that reads at odd times shifts no step of the growth.
			for at := 200.0; at < 3*recover; at += 7 {
				s.at(at)
				s.l.Status()
			}
			s.at(3*recover - 0.001)
			require.Equal(s, 6, s.l.Status().Budget)
			s.at(3 * recover)
			require.Equal(s, 7, s.l.Status().Budget)
		}},
		{"better: an idle hour restores every missed step", func(s *scene) {
			s.take()
			s.l.ReportRateLimited(0)
			s.at(3600 - 0.001)
			require.Equal(s, 16, s.l.Status().Budget)
			s.l.ReportRateLimited(0)
			require.Equal(s, 1, s.l.Status().Budget)
			s.at(3600 - 0.001 + 1800)
			require.Equal(s, 11, s.l.Status().Budget)
		}},
		{"better: a later report never shortens the pause", func(s *scene) {
			s.l.ReportRateLimited(90 * time.Second)
			s.at(1)
			s.l.ReportRateLimited(5 * time.Second)
			s.l.ReportRateLimited(0)
			s.l.ReportOverloaded(0)
			require.Equal(s, 90.0, s.blockedUntil())
		}},
		{"better: a stated Retry-After is honoured", func(s *scene) {
			s.l.ReportRateLimited(seconds(7.5))
			require.Equal(s, 7.5, s.blockedUntil())
			s.l.ReportSuccess()
			require.Equal(s, 7.5, s.blockedUntil())
			s.at(7.5)
			s.take()
		}},
		{"better: a success from before the refusal clears nothing", func(s *scene) {
			old := s.take()
			s.at(1)
			s.take().ReportRateLimited(0)
			s.at(5)
			old.ReportSuccess()
			require.Equal(s, 61.0, s.blockedUntil())
		}},
		{"better: when a pause ends one probe goes first", func(s *scene) {
			s.l.ReportRateLimited(0)
			s.at(pause)
			probe := s.take()
			require.Equal(s, limiter.ReasonProbing, s.refused().Reason)
			probe.ReportSuccess()
			s.takeAll(2)
		}},
	}
	for _, row := range rows {
		t.Run(row.id, func(t *testing.T) { play(t, limiter.Tower(), row.story) })
	}
}

// The preset pauses for 60 s each time, however long the storm.
func TestTower_PausesDoNotGrow(t *testing.T) {
	play(t, limiter.Tower(), func(s *scene) {
		for i := range 10 {
			s.at(float64(i) * 60)
			probe := s.take()
			probe.ReportRateLimited(0)
			probe.Release()
			require.Equal(s, float64(i+1)*60, s.blockedUntil())
		}
	})
}
