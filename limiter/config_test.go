package limiter_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/time/rate"

	"github.com/holdoff-go/holdoff/limiter"
)

// F2 and N8 of the scenarios: a value that makes no sense is an error that names
// field and value.
func TestConfig_F2_N8_ValuesThatMakeNoSense(t *testing.T) {
	for _, c := range []struct {
		cfg  limiter.Config
		want string
	}{
		{limiter.Config{Budget: -5}, "limiter: Config.Budget is -5: it must be at least 1, or 0 for 16"},
		{limiter.Config{Budget: math.MinInt}, "Config.Budget is -"},
		{limiter.Config{Floor: -1}, "Config.Floor is -1"},
		{limiter.Config{Floor: 17}, "Config.Floor is 17: it must not be above Budget, which is 16"},
		{limiter.Config{Budget: 2, Floor: 3}, "Config.Floor is 3"},
		{limiter.Config{MaxAssumedPause: -1}, "Config.MaxAssumedPause is -1ns"},
		{limiter.Config{MaxAssumedPause: time.Second}, "Config.MaxAssumedPause is 1s: it must not be below Pause, which is 1m0s"},
		{limiter.Config{Pause: time.Hour, MaxAssumedPause: time.Minute}, "Config.MaxAssumedPause is 1m0s"},
		{limiter.Config{MaxPause: -time.Second}, "Config.MaxPause is -1s"},
		{limiter.Config{ProbeAfter: time.Hour}, "Config.ProbeAfter is 1h0m0s: it must not be above Pause, which is 1m0s"},
		{limiter.Config{Pace: -1}, "Config.Pace is -1"},
		{limiter.Config{Pace: rate.Limit(math.NaN())}, "Config.Pace is NaN"},
		{limiter.Config{Pace: rate.Limit(math.Inf(-1))}, "Config.Pace is -Inf"},
		{limiter.Config{Pace: 1, Burst: -2}, "Config.Burst is -2"},
		{limiter.Config{Burst: 2}, "Config.Burst is 2: it has no meaning without Pace"},
		{limiter.Config{MaxWaiting: -5}, "Config.MaxWaiting is -5"},
	} {
		l, err := limiter.New(c.cfg)
		require.Nil(t, l)
		require.ErrorContains(t, err, c.want)
	}
}

// What is negative, or extreme, and has a meaning.
func TestConfig_ValuesAtTheEdges(t *testing.T) {
	for name, cfg := range map[string]limiter.Config{
		"zero":                      {},
		"negative means off":        {Pause: -1, ProbeAfter: -1, Recover: -1, Grow: -1},
		"a long pause":              {Pause: time.Hour},
		"a short pause":             {Pause: time.Millisecond},
		"a late probe, no pause":    {Pause: -1, ProbeAfter: 2 * time.Hour},
		"the largest":               {Budget: math.MaxInt, Floor: math.MaxInt, Pause: math.MaxInt64, MaxPause: math.MaxInt64, ProbeAfter: math.MaxInt64, Recover: math.MaxInt64, Grow: math.MaxInt, MaxWaiting: math.MaxInt},
		"an infinite pace":          {Pace: rate.Inf, Burst: 1},
		"a pace of once in an age":  {Pace: rate.Limit(math.SmallestNonzeroFloat64)},
		"a pace beyond nanoseconds": {Pace: math.MaxFloat64, Burst: math.MaxInt},
	} {
		t.Run(name, func(t *testing.T) {
			play(t, cfg, func(s *scene) {
				slot := s.take()
				for range 100 { // doublings beyond what fits
					slot.ReportRateLimited(0)
					s.l.ReportRateLimited(0)
					s.l.ReportOverloaded(time.Millisecond)
					st := s.l.Status()
					require.GreaterOrEqual(s, st.Budget, 1)
					if !st.BlockedUntil.IsZero() {
						require.True(s, st.BlockedUntil.After(time.Now()))
					}
					s.askFor(limiter.Emergency, 0.5)
					s.askFor(limiter.Resumed, 0.5)
					s.at(s.now() + 1)
				}
				slot.Release()
				s.l.Resume("")
				s.at(s.now() + 1)
				st := s.l.Status()
				if cfg.Pace != math.SmallestNonzeroFloat64 {
					require.Equal(s, limiter.ReasonNone, st.Reason)
					s.take()
				}
			})
		})
	}
}

func TestConfig_N8_ZeroIsTheDefault(t *testing.T) {
	play(t, limiter.Config{}, func(s *scene) {
		require.Equal(s, 16, s.l.Status().Budget)
		s.take().ReportRateLimited(0)
		require.Equal(s, 60.0, s.blockedUntil())
		require.Equal(s, 1, s.l.Status().Budget)
		require.Equal(s, 1000, waiting(s.askAll(1000, limiter.Normal)...), "unlimited")
	})
}
