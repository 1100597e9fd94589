package main

import (
	"fmt"
	"time"

	"github.com/holdoff-go/holdoff/internal/clock"
	"github.com/holdoff-go/holdoff/limiter"
)

// A fastClock runs a number of times faster than life. holdoff, the provider
// and the workers all live by it, so that the whole scene is sped up and no
// single setting is: the limiter still pauses for its 60 s.
type fastClock struct {
	start time.Time
	scale float64
}

// newClock returns the tower's clock: the real one at scale 1.
func newClock(scale float64) limiter.Clock {
	if scale == 1 {
		return clock.Real{}
	}
	return fastClock{start: time.Now(), scale: scale}
}

func (c fastClock) Now() time.Time {
	return c.start.Add(time.Duration(float64(time.Since(c.start)) * c.scale))
}

func (c fastClock) After(d time.Duration) <-chan time.Time {
	return time.After(time.Duration(float64(d) / c.scale))
}

// minutes writes a time since the start of a run as 1:05.
func minutes(d time.Duration) string {
	s := int(max(d, 0).Round(time.Second) / time.Second)
	return fmt.Sprintf("%d:%02d", s/60, s%60)
}
