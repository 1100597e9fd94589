package compat

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/jonboulle/clockwork"
	k8sclock "k8s.io/utils/clock/testing"

	"github.com/holdoff-go/holdoff/limiter"
)

// A Spawner stands for your own: it launches a worker when the limiter lets it,
// and says what became of it.
type Spawner struct {
	limiter *limiter.Limiter
	call    func(worker string) error // what a worker does upstream
}

var errTooMany = errors.New("429 too many requests")

func (s *Spawner) Spawn(worker string) string {
	slot, err := s.limiter.TryAcquire()
	var blocked *limiter.BlockedError
	if errors.As(err, &blocked) {
		return fmt.Sprintf("%s held off: %s", worker, blocked.Reason)
	}
	defer slot.Release()
	if err := s.call(worker); err != nil {
		slot.ReportRateLimited(0)
		return worker + " refused"
	}
	slot.ReportSuccess()
	return worker + " done"
}

// refuseFirst refuses n calls.
func refuseFirst(n int) func(string) error {
	return func(string) error {
		if n--; n >= 0 {
			return errTooMany
		}
		return nil
	}
}

// Testing your own spawner with the fake clock of github.com/jonboulle/clockwork.
func Example_clockwork() {
	clock := clockwork.NewFakeClock()
	l, err := limiter.New(limiter.Config{Clock: clock})
	if err != nil {
		panic(err)
	}
	s := &Spawner{limiter: l, call: refuseFirst(1)}

	fmt.Println(s.Spawn("a"))
	fmt.Println(s.Spawn("b"))
	clock.Advance(time.Minute)
	fmt.Println(s.Spawn("b"))
	// Output:
	// a refused
	// b held off: rate_limited
	// b done
}

// Testing your own spawner with the mock clock of github.com/benbjohnson/clock.
func Example_benbjohnson() {
	clock := clock.NewMock()
	l, err := limiter.New(limiter.Config{Clock: clock})
	if err != nil {
		panic(err)
	}
	s := &Spawner{limiter: l, call: refuseFirst(2)}

	fmt.Println(s.Spawn("a"))
	clock.Add(time.Minute)
	fmt.Println(s.Spawn("a"))
	// The second refusal has doubled the pause.
	fmt.Println(l.Status().BlockedUntil.Sub(clock.Now()))
	clock.Add(2 * time.Minute)
	fmt.Println(s.Spawn("a"))
	// Output:
	// a refused
	// a refused
	// 2m0s
	// a done
}

// Testing your own spawner with the fake clock of k8s.io/utils/clock/testing, when
// it waits: whoever is shown as waiting has set the clock's timer already.
func Example_k8s() {
	clock := k8sclock.NewFakeClock(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))
	l, err := limiter.New(limiter.Config{Clock: clock})
	if err != nil {
		panic(err)
	}
	l.ReportRateLimited(30 * time.Second)

	launched := make(chan time.Time)
	go func() {
		slot, err := l.Acquire(context.Background())
		if err != nil {
			panic(err)
		}
		defer slot.Release()
		launched <- clock.Now()
	}()
	for l.Status().Waiting == 0 {
		runtime.Gosched()
	}
	clock.Step(30 * time.Second)
	fmt.Println((<-launched).Format(time.TimeOnly))
	// Output: 12:00:30
}
