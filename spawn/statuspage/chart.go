package statuspage

import (
	"fmt"
	"strings"
	"time"
)

// The chart's size in its own units; the style sheet stretches it.
const (
	chartWidth  = 600
	chartHeight = 80
)

// minSpan keeps the first minute from looking like an era.
const minSpan = 2 * time.Minute

// A chart is a limiter's budget over time, as an inline SVG has it.
type chart struct {
	Line, Area string // paths
	Pauses     []band
	Max        int
	Label      string // for who does not see it
	From       string // how long ago it begins
}

// A band is a time that was paused.
type band struct{ X, Width string }

// draw returns the chart of samples, of which the last is now; nil without any.
func draw(samples []sample) *chart {
	if len(samples) == 0 {
		return nil
	}
	now := samples[len(samples)-1].Time
	span := max(now.Sub(samples[0].Time), minSpan)
	low, high := samples[0].Budget, samples[0].Budget
	for _, s := range samples {
		low, high = min(low, s.Budget), max(high, s.Budget)
	}
	c := &chart{Max: high, From: minutes(span, false)}
	c.Label = fmt.Sprintf("Budget over the last %s: now %d, between %d and %d", c.From, samples[len(samples)-1].Budget, low, high)
	x := func(t time.Time) float64 {
		return chartWidth * (1 - float64(now.Sub(t))/float64(span))
	}
	y := func(budget int) float64 {
		return chartHeight * (1 - float64(budget)/float64(max(high, 1)))
	}
	var line strings.Builder
	fmt.Fprintf(&line, "M%.1f %.1f", x(samples[0].Time), y(samples[0].Budget))
	var pauseFrom time.Time
	for i, s := range samples {
		if i > 0 {
			fmt.Fprintf(&line, "H%.1fV%.1f", x(s.Time), y(s.Budget))
		}
		last := i == len(samples)-1
		if s.Paused && pauseFrom.IsZero() {
			pauseFrom = s.Time
		}
		if !pauseFrom.IsZero() && (!s.Paused || last) {
			from := x(pauseFrom)
			c.Pauses = append(c.Pauses, band{fmt.Sprintf("%.1f", from), fmt.Sprintf("%.1f", max(x(s.Time)-from, 1))})
			pauseFrom = time.Time{}
		}
	}
	c.Line = line.String()
	c.Area = fmt.Sprintf("%sV%dH%.1fZ", c.Line, chartHeight, x(samples[0].Time))
	return c
}
