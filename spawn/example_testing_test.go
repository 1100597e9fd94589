package spawn_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdoff-go/holdoff/limiter"
	"github.com/holdoff-go/holdoff/spawn"
)

// testAgent is a test of a spawner of your own. In a testing/synctest bubble, and
// with no Clock in the configs, it lives through a pause of an hour in no time.
func testAgent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate, err := limiter.New(limiter.Config{})
		if err != nil {
			t.Fatal(err)
		}
		s, err := spawn.New(spawn.Config{Limiter: gate})
		if err != nil {
			t.Fatal(err)
		}

		start := time.Now()
		fullUntil := start.Add(time.Hour) // the upstream's window
		h := s.Start(t.Context(), spawn.Worker{
			ID: "agent",
			Run: func(context.Context, *spawn.Attempt) error {
				if time.Now().Before(fullUntil) {
					return tooManyRequests{time.Until(fullUntil)}
				}
				return nil
			},
		})

		time.Sleep(30 * time.Minute)
		synctest.Wait() // until all that happens by now has happened
		if st := h.Status(); st.State != spawn.BackingOff || !st.Until.Equal(fullUntil) {
			t.Errorf("after half an hour: %+v", st)
		}

		result, err := h.Wait()
		if err != nil || result.Total != 2 || !time.Now().Equal(fullUntil) {
			t.Errorf("after %v: %+v, %v", time.Since(start), result, err)
		}
	})
}

// tooManyRequests is an error as a provider's SDK returns it.
type tooManyRequests struct{ after time.Duration }

func (e tooManyRequests) Error() string             { return "429 Too Many Requests" }
func (e tooManyRequests) StatusCode() int           { return 429 }
func (e tooManyRequests) RetryAfter() time.Duration { return e.after }

// Testing a spawner of your own.
func Example_testing() {
	// In a test file of yours: func TestAgent(t *testing.T).
	_ = testAgent
}
