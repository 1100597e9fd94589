package compat

import (
	"testing"
	"testing/synctest"

	"pgregory.net/rapid"
)

// checkInBubble is rapid.Check with a bubble for each run.
func checkInBubble(t *testing.T, run func(rt *rapid.T)) {
	rapid.Check(t, func(rt *rapid.T) {
		// rapid ends a failed run by a panic, which must not leave the bubble's
		// goroutine.
		var ended any
		synctest.Test(t, func(*testing.T) {
			defer func() { ended = recover() }()
			run(rt)
		})
		switch {
		case rt.Failed():
			rt.FailNow() // by a line of its own, or a run that lacks data would look like this to rapid's shrinking
		case ended != nil:
			panic(ended)
		}
	})
}

// from draws from rt.
func from(rt *rapid.T) source {
	return func(what string, n int) int { return rapid.IntRange(0, n-1).Draw(rt, what) }
}

// TestModel_Rapid drives the limiter and the model through random steps.
func TestModel_Rapid(t *testing.T) {
	checkInBubble(t, func(rt *rapid.T) { drive(rt, from(rt), 60) })
}

// FuzzModel drives them by bytes.
func FuzzModel(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte("a storm of ninety seconds, and then some quiet"))
	f.Add([]byte{5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 7, 0, 1, 0, 14, 3, 1, 10, 0, 1, 14, 7, 0, 4, 0, 15, 3, 0, 2, 1, 0})
	f.Fuzz(func(t *testing.T, data []byte) {
		synctest.Test(t, func(t *testing.T) {
			steps := len(data) / 3
			drive(t, func(_ string, n int) int {
				if len(data) == 0 {
					return 0
				}
				b := data[0]
				data = data[1:]
				return int(b) % n
			}, min(steps, 100))
		})
	})
}
