package clock

import (
	"math"
	"time"
)

// slack is how far wall and monotonic time may drift apart between two looks
// before a Line takes it for a step. Clock discipline slews by at most 500 ppm,
// 1.8 s an hour; what is below slack is noise, not a host that slept.
const slack = 2 * time.Second

// A Line is time as a limiter lives through it: it starts at zero, never goes
// back, and advances by whichever of the clock's two times went further. So a
// wall clock that is set back lengthens no wait, and a host that slept finds
// the waits it slept through over. A wall clock set forward looks like sleep
// and may end a wait early.
//
// A Line is not safe for concurrent use; its owner's lock guards it.
type Line struct {
	clock   Clock
	reader  Reader // nil when the clock has one time only
	elapsed time.Duration
	jumps   int
	last    Reading
}

// NewLine starts a line at c's present.
func NewLine(c Clock) *Line {
	l := &Line{clock: c}
	l.reader, _ = c.(Reader)
	if l.reader != nil {
		l.last = l.reader.Read()
	} else {
		l.last = Reading{Wall: c.Now()}
	}
	return l
}

func (l *Line) read() Reading {
	if l.reader != nil {
		return l.reader.Read()
	}
	now := l.clock.Now()
	return Reading{Wall: now, Mono: now.Sub(l.last.Wall) + l.last.Mono}
}

// Now looks at the clock and returns the time on the line.
func (l *Line) Now() time.Duration {
	r := l.read()
	mono := r.Mono - l.last.Mono
	wall := r.Wall.Round(0).Sub(l.last.Wall.Round(0))
	l.last = r
	step := max(mono, 0)
	if wall > mono+slack {
		step = wall
	}
	if step != mono {
		l.jumps++
	}
	if l.elapsed += step; l.elapsed < 0 {
		l.elapsed = math.MaxInt64 // two steps of centuries
	}
	return l.elapsed
}

// Jumps returns how often the line has gone on by something else than what a
// wait on the clock measures. A wait that was begun before the last jump ends
// at another time than it was meant to.
func (l *Line) Jumps() int { return l.jumps }

// At returns the time of day at which the line will read t, judged by the last
// look at the clock.
func (l *Line) At(t time.Duration) time.Time {
	return l.last.Wall.Add(t - l.elapsed)
}
