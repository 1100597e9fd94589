package clock

import (
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// oneTime is a clock with one time only, as most fakes are.
type oneTime struct{ now time.Time }

func (c *oneTime) Now() time.Time                       { return c.now }
func (c *oneTime) After(time.Duration) <-chan time.Time { return nil }

// twoTimes is a clock whose times can be told apart.
type twoTimes struct {
	oneTime
	mono time.Duration
}

func (c *twoTimes) Read() Reading { return Reading{Wall: c.now, Mono: c.mono} }

func TestLine_TwoTimes(t *testing.T) {
	for name, c := range map[string]struct {
		mono, wall time.Duration // how far each goes
		line       time.Duration
		jumps      int
	}{
		"together":                  {10 * time.Second, 10 * time.Second, 10 * time.Second, 0},
		"the host slept":            {time.Second, time.Hour, time.Hour, 1},
		"the wall was set forward":  {0, time.Hour, time.Hour, 1},
		"the wall was set back":     {10 * time.Second, -time.Hour, 10 * time.Second, 0},
		"the wall is slewed":        {time.Hour, time.Hour + 1800*time.Millisecond, time.Hour, 0},
		"the monotonic one is fast": {time.Hour, time.Hour - time.Second, time.Hour, 0},
		"nothing":                   {0, 0, 0, 0},
		"a monotonic one that lies": {-time.Second, 0, 0, 1},
	} {
		t.Run(name, func(t *testing.T) {
			clk := &twoTimes{oneTime: oneTime{time.Unix(1e9, 0)}, mono: time.Minute}
			l := NewLine(clk)
			require.Zero(t, l.Now())
			clk.mono += c.mono
			clk.now = clk.now.Add(c.wall)
			require.Equal(t, c.line, l.Now())
			require.Equal(t, c.jumps, l.Jumps())
			require.Equal(t, clk.now.Add(time.Minute), l.At(c.line+time.Minute), "the time of day follows the clock")
			require.Equal(t, c.line, l.Now(), "a second look changes nothing")
		})
	}
}

func TestLine_OneTime(t *testing.T) {
	clk := &oneTime{now: time.Unix(1e9, 0)}
	l := NewLine(clk)
	clk.now = clk.now.Add(10 * time.Second)
	require.Equal(t, 10*time.Second, l.Now())
	clk.now = clk.now.Add(-time.Hour)
	require.Equal(t, 10*time.Second, l.Now(), "it never goes back")
	require.Equal(t, 1, l.Jumps())
	clk.now = clk.now.Add(time.Second)
	require.Equal(t, 11*time.Second, l.Now())
}

func TestLine_Centuries(t *testing.T) {
	clk := &oneTime{} // the year 1
	l := NewLine(clk)
	last := l.Now()
	for range 10 {
		clk.now = clk.now.AddDate(250, 0, 0)
		now := l.Now()
		require.GreaterOrEqual(t, now, last)
		last = now
	}
	require.Equal(t, time.Duration(math.MaxInt64), last)
}

func TestReal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := Or(nil)
		require.Equal(t, Real{}, c)
		other := &oneTime{}
		require.Same(t, other, Or(other))

		l := NewLine(c)
		start := c.Now()
		<-c.After(time.Minute)
		require.Equal(t, time.Minute, c.Now().Sub(start))
		require.Equal(t, time.Minute, l.Now())
		require.Zero(t, l.Jumps())
		require.Equal(t, time.Hour, Until(start.Add(time.Minute+time.Hour)))
	})
}
