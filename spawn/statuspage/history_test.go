package statuspage

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdoff-go/holdoff/limiter"
)

var day = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func at(s int) time.Time { return day.Add(time.Duration(s) * time.Second) }

func TestHistoryIsBounded(t *testing.T) {
	var tr tracks
	for i := range 10 * maxSamples {
		tr.add("busy", sample{Time: at(i), Budget: i}, at(-3600))
	}
	require.Len(t, tr["busy"], maxSamples)
	require.Equal(t, 10*maxSamples-1, tr["busy"][maxSamples-1].Budget, "the last")
	require.Equal(t, 9*maxSamples, tr["busy"][0].Budget)

	for i := range 3 * maxTracks {
		tr.add(fmt.Sprint("key-", i), sample{Time: at(i)}, at(-3600))
	}
	require.Len(t, tr, maxTracks)
	require.Contains(t, tr, fmt.Sprint("key-", 3*maxTracks-1))
	require.NotContains(t, tr, "key-0")
}

func TestHistoryForgetsWhatIsOver(t *testing.T) {
	var tr tracks
	for i := range 10 {
		tr.add("l", sample{Time: at(10 * i), Budget: i}, at(10*i-35))
	}
	// The sample before the window says what the budget was when it began.
	require.Equal(t, []sample{{Time: at(50), Budget: 5}, {Time: at(60), Budget: 6}, {Time: at(70), Budget: 7}, {Time: at(80), Budget: 8}, {Time: at(90), Budget: 9}}, tr["l"])
	require.Equal(t, []sample{{Time: at(65), Budget: 6}, {Time: at(70), Budget: 7}, {Time: at(80), Budget: 8}, {Time: at(90), Budget: 9}}, tr.since("l", at(65)))
	require.Empty(t, tr.since("another", at(0)))
}

func TestEventsOfOneMomentAreOneChange(t *testing.T) {
	page, err := New(Config{})
	require.NoError(t, err)
	page.OnLimiterEvent(limiter.Event{Time: at(0), Status: limiter.Status{Name: "l", Budget: 16}})
	page.OnLimiterEvent(limiter.Event{Time: at(5), Status: limiter.Status{Name: "l", Budget: 16, BlockedUntil: at(60)}})
	page.OnLimiterEvent(limiter.Event{Time: at(5), Status: limiter.Status{Name: "l", Budget: 8, BlockedUntil: at(60)}})
	require.Equal(t, []sample{{Time: at(0), Budget: 16}, {Time: at(5), Budget: 8, Paused: true}}, page.tracks["l"])
}

func TestChart(t *testing.T) {
	c := draw([]sample{
		{Time: at(0), Budget: 16}, {Time: at(300), Budget: 8, Paused: true}, {Time: at(360), Budget: 8}, {Time: at(600), Budget: 12},
	})
	require.Equal(t, "M0.0 0.0H300.0V40.0H360.0V40.0H600.0V20.0", c.Line)
	require.Equal(t, c.Line+"V80H0.0Z", c.Area)
	require.Equal(t, []band{{"300.0", "60.0"}}, c.Pauses)
	require.Equal(t, "Budget over the last 10:00: now 12, between 8 and 16", c.Label)

	require.Nil(t, draw(nil))
	lone := draw([]sample{{Time: at(0), Budget: 4, Paused: true}})
	require.Equal(t, "M600.0 0.0", lone.Line)
	require.Equal(t, "2:00", lone.From)
	require.Equal(t, []band{{"600.0", "1.0"}}, lone.Pauses, "a pause that has just begun is seen")
}

func TestMinutes(t *testing.T) {
	for _, c := range []struct {
		d    time.Duration
		up   bool
		want string
	}{
		{0, true, "0:00"}, {-time.Hour, true, "0:00"}, {time.Millisecond, true, "0:01"}, {time.Millisecond, false, "0:00"},
		{59*time.Second + 1, true, "1:00"}, {65 * time.Second, true, "1:05"}, {time.Hour + 61*time.Second, false, "1:01:01"},
		{25 * time.Hour, true, "25:00:00"},
	} {
		require.Equal(t, c.want, minutes(c.d, c.up), "%v", c.d)
	}
}
