package limiter_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/holdoff-go/holdoff/limiter"
)

// A worker takes a slot, makes its call, says what came of it, and gives the slot
// back.
func ExampleLimiter_Acquire() {
	l, err := limiter.New(limiter.Config{Name: "openai"})
	if err != nil {
		panic(err)
	}
	work := func(ctx context.Context) error {
		slot, err := l.Acquire(ctx)
		if err != nil {
			return err
		}
		defer slot.Release()
		// ... call the upstream, and report what it answers:
		slot.ReportSuccess()
		return nil
	}
	fmt.Println(work(context.Background()))
	// Output: <nil>
}

// A deadline that ends before the gate can open fails at once, not when it ends.
func ExampleLimiter_Acquire_deadline() {
	l, err := limiter.New(limiter.Config{})
	if err != nil {
		panic(err)
	}
	l.ReportRateLimited(time.Hour)

	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	_, err = l.Acquire(ctx)
	var blocked *limiter.BlockedError
	if errors.As(err, &blocked) {
		fmt.Println(blocked.Reason, blocked.Wanted.Round(time.Minute))
	}
	fmt.Println(errors.Is(err, context.DeadlineExceeded))
	// Output:
	// rate_limited 1h0m0s
	// true
}

// Work that was refused comes back ahead of new work, and urgent work before all.
func ExampleLimiter_AcquireAs() {
	l, err := limiter.New(limiter.Config{})
	if err != nil {
		panic(err)
	}
	l.ReportRateLimited(0) // assumes a pause of 60 s: new work waits

	_, err = l.TryAcquire()
	fmt.Println("new:", err != nil)
	slot, err := l.AcquireAs(context.Background(), limiter.Emergency) // once a pause, as its next probe
	fmt.Println("emergency:", err)
	slot.ReportSuccess() // the upstream says yes again
	slot.Release()
	_, err = l.TryAcquire()
	fmt.Println("new:", err)
	// Output:
	// new: true
	// emergency: <nil>
	// new: <nil>
}

// A scheduler that may not wait asks, and is told why not and until when.
func ExampleLimiter_TryAcquire() {
	l, err := limiter.New(limiter.Config{Budget: 1})
	if err != nil {
		panic(err)
	}
	slot, _ := l.TryAcquire()

	_, err = l.TryAcquire()
	var blocked *limiter.BlockedError
	if errors.As(err, &blocked) {
		fmt.Println(blocked.Reason)
	}
	slot.ReportRateLimited(30 * time.Second) // Retry-After: 30
	_, err = l.TryAcquire()
	if errors.As(err, &blocked) {
		fmt.Println(blocked.Reason, blocked.Until.Sub(l.Status().Since).Round(time.Second))
	}
	// Output:
	// budget
	// rate_limited 30s
}

// A worker of many turns asks before each of them, and reports each.
func ExampleSlot_Wait() {
	l, err := limiter.New(limiter.Config{})
	if err != nil {
		panic(err)
	}
	ctx := context.Background()
	slot, err := l.Acquire(ctx)
	if err != nil {
		panic(err)
	}
	defer slot.Release()
	for turn := range 3 {
		call, err := slot.Wait(ctx)
		if err != nil {
			panic(err)
		}
		fmt.Println("turn", turn)
		call.ReportSuccess()
	}
	// Output:
	// turn 0
	// turn 1
	// turn 2
}

// Wait on the Limiter is for work whose slot is not at hand, or that has none.
func ExampleLimiter_Wait() {
	l, err := limiter.New(limiter.Config{})
	if err != nil {
		panic(err)
	}
	l.ReportRateLimited(time.Hour)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	_, err = l.Wait(ctx)
	fmt.Println(errors.Is(err, context.DeadlineExceeded))
	// Output: true
}

// The plain hooks fit the callbacks of a spawner that knows nothing of slots.
func ExampleLimiter_ReportRateLimited() {
	l, err := limiter.New(limiter.Config{})
	if err != nil {
		panic(err)
	}
	onTurnEnd := func(status int, retryAfter time.Duration) {
		switch status {
		case 429:
			l.ReportRateLimited(retryAfter)
		case 503, 529:
			l.ReportOverloaded(retryAfter)
		case 200:
			l.ReportSuccess()
		}
	}
	maySpawn := func() bool { return l.Status().Reason == limiter.ReasonNone }

	onTurnEnd(429, 0)
	fmt.Println(maySpawn())
	onTurnEnd(200, 0) // a turn of another worker was accepted
	fmt.Println(maySpawn())
	// Output:
	// false
	// true
}

// An operator holds the gate, and opens it again.
func ExampleLimiter_Hold() {
	l, err := limiter.New(limiter.Config{})
	if err != nil {
		panic(err)
	}
	l.Hold("database migration")
	_, err = l.TryAcquire()
	fmt.Println(err)
	fmt.Println(l.Status().Hold)
	l.Resume("migrated")
	_, err = l.TryAcquire()
	fmt.Println(err)
	// Output:
	// limiter is blocked (hold)
	// database migration
	// <nil>
}

func ExampleLimiter_SetBudget() {
	l, err := limiter.New(limiter.Config{Budget: 8})
	if err != nil {
		panic(err)
	}
	fmt.Println(l.SetBudget(2), l.Status().Budget)
	fmt.Println(l.SetBudget(0))
	// Output:
	// <nil> 2
	// limiter: budget is 0: it must be at least 1; to stop admissions use Hold
}

// The JSON of Status, for tools and dashboards: null means that nothing is paused.
func ExampleLimiter_Status() {
	l, err := limiter.New(limiter.Config{Name: "openai"})
	if err != nil {
		panic(err)
	}
	data, err := json.Marshal(l.Status())
	if err != nil {
		panic(err)
	}
	fmt.Println(string(data))
	// Output:
	// {"name":"openai","reason":"","since":null,"blocked_until":null,"storm":false,"hold":"","budget":16,"in_flight":0,"waiting":0}
}

// Tower is the Config of the tower that this library began with: a refusal pauses
// for 60 s and takes one slot from what is in flight.
func ExampleTower() {
	l, err := limiter.New(limiter.Tower())
	if err != nil {
		panic(err)
	}
	for range 5 {
		if _, err := l.TryAcquire(); err != nil {
			panic(err)
		}
	}
	l.ReportRateLimited(0)
	st := l.Status()
	fmt.Println(st.Reason, st.BlockedUntil.Sub(st.Since), st.Budget, st.InFlight)
	// Output: rate_limited 1m0s 4 5
}

// New checks the Config: what makes no sense is an error, and zero is the default.
func ExampleNew() {
	_, err := limiter.New(limiter.Config{Budget: -5})
	fmt.Println(err)

	logger := slog.New(slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{
		ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Value.Kind() == slog.KindTime {
				return slog.Attr{} // for this example's output
			}
			return a
		},
	}))
	l, err := limiter.New(limiter.Config{Name: "openai", Logger: logger})
	if err != nil {
		panic(err)
	}
	l.ReportRateLimited(0)
	l.ReportSuccess()
	// Output:
	// limiter: Config.Budget is -5: it must be at least 1, or 0 for 16
	// level=WARN msg="holdoff: pause_opened" limiter=openai reason=rate_limited budget=16 in_flight=0 waiting=0
	// level=INFO msg="holdoff: pause_ended" limiter=openai reason=rate_limited budget=16 in_flight=0 waiting=0
}
