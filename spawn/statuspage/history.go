package statuspage

import (
	"slices"
	"time"

	"github.com/holdoff-go/holdoff/limiter"
)

const (
	maxSamples = 256 // of one limiter
	maxTracks  = 256 // limiters with a history; more would be more than are shown
)

// A sample is a limiter at the moment of one change.
type sample struct {
	Time     time.Time `json:"time"`
	Budget   int       `json:"budget"`
	InFlight int       `json:"in_flight"`
	Paused   bool      `json:"paused"`
}

func sampleOf(at time.Time, s limiter.Status) sample {
	return sample{Time: at, Budget: s.Budget, InFlight: s.InFlight, Paused: !s.BlockedUntil.IsZero()}
}

// tracks are the samples of limiters by name, oldest first. It is not safe for
// concurrent use.
type tracks map[string][]sample

// add appends s, and drops what is too much, or was over before from. The last
// sample before from stays: it says what the budget was then.
func (t *tracks) add(name string, s sample, from time.Time) {
	if *t == nil {
		*t = make(tracks)
	}
	track, known := (*t)[name]
	if !known && len(*t) >= maxTracks {
		t.dropStalest()
	}
	if n := len(track); n > 0 && !track[n-1].Time.Before(s.Time) {
		// Several events of one moment are one change.
		s.Time = track[n-1].Time
		track[n-1] = s
		return
	}
	old := 0
	for old+1 < len(track) && !track[old+1].Time.After(from) {
		old++
	}
	if len(track)-old >= maxSamples {
		old = len(track) - maxSamples + 1
	}
	(*t)[name] = append(slices.Delete(track, 0, old), s)
}

// dropStalest makes room for another limiter.
func (t *tracks) dropStalest() {
	var stalest string
	var last time.Time
	for name, track := range *t {
		if at := track[len(track)-1].Time; last.IsZero() || at.Before(last) {
			stalest, last = name, at
		}
	}
	delete(*t, stalest)
}

// since returns the samples of name from a time on, and before them one at that
// time if it is known what was then.
func (t tracks) since(name string, from time.Time) []sample {
	track := t[name]
	first := 0
	for first < len(track) && track[first].Time.Before(from) {
		first++
	}
	got := slices.Clone(track[first:])
	if first > 0 {
		before := track[first-1]
		before.Time = from
		got = slices.Insert(got, 0, before)
	}
	return got
}
