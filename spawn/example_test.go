package spawn_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/holdoff-go/holdoff/limiter"
	"github.com/holdoff-go/holdoff/retry"
	"github.com/holdoff-go/holdoff/spawn"
)

// newSpawner has its waits in milliseconds, so that the examples end at once.
func newSpawner(onDeath func(spawn.Death)) *spawn.Spawner {
	gate, err := limiter.New(limiter.Config{Pause: 50 * time.Millisecond})
	if err != nil {
		panic(err)
	}
	s, err := spawn.New(spawn.Config{
		Limiter: gate,
		Policy:  retry.Policy{Initial: time.Millisecond, Max: 4 * time.Millisecond},
		OnDeath: onDeath,
	})
	if err != nil {
		panic(err)
	}
	return s
}

func ExampleSpawner_Run() {
	s := newSpawner(nil)
	result, err := s.Run(context.Background(), spawn.Worker{
		ID: "researcher",
		Run: func(_ context.Context, a *spawn.Attempt) error {
			if a.Number() == 1 {
				return fmt.Errorf("429: %w", retry.RateLimited) // as a provider's SDK would
			}
			return nil
		},
	})
	fmt.Println(result.State, "with attempt", result.Total, err)
	// Output: succeeded with attempt 2 <nil>
}

func ExampleSpawner_Start() {
	s := newSpawner(nil)
	var fleet []*spawn.Handle
	for i := range 3 {
		fleet = append(fleet, s.Start(context.Background(), spawn.Worker{
			ID:  fmt.Sprint("agent-", i),
			Run: func(context.Context, *spawn.Attempt) error { return nil },
		}))
	}
	for _, h := range fleet {
		result, err := h.Wait()
		fmt.Println(result.ID, result.State, err)
	}
	// Output:
	// agent-0 succeeded <nil>
	// agent-1 succeeded <nil>
	// agent-2 succeeded <nil>
}

func ExampleDo() {
	s := newSpawner(nil)
	answer, err := spawn.Do(context.Background(), s, func(_ context.Context, a *spawn.Attempt) (string, error) {
		if a.Number() < 3 {
			return "", retry.Overloaded
		}
		return "42", nil
	})
	fmt.Println(answer, err)
	// Output: 42 <nil>
}

// A framework's callback knows nothing but the context. It tells the fleet of a
// refusal that the framework will absorb by retrying the step itself.
func ExampleFromContext() {
	s := newSpawner(nil)
	onStepError := func(ctx context.Context, err error) {
		if a, ok := spawn.FromContext(ctx); ok {
			fmt.Println(a.ID(), "was told:", a.Report(err).Class)
		}
	}
	_, err := s.Run(context.Background(), spawn.Worker{
		ID: "agent",
		Run: func(ctx context.Context, _ *spawn.Attempt) error {
			onStepError(ctx, retry.RateLimited) // from deep inside the framework
			return nil
		},
	})
	fmt.Println(err)
	// Output:
	// agent#1 was told: rate_limited
	// <nil>
}

// A worker of many turns asks before each call, and says when one is done for
// good: its refusals in a row start anew, and an attempt goes on where the last
// one stopped.
func ExampleAttempt_Progress() {
	s := newSpawner(nil)
	calls, turn := 0, 0
	result, err := s.Run(context.Background(), spawn.Worker{
		Run: func(ctx context.Context, a *spawn.Attempt) error {
			for turn < 10 {
				if err := a.Wait(ctx); err != nil {
					return err
				}
				if calls++; calls%2 == 0 {
					return retry.RateLimited
				}
				turn++
				a.Progress()
			}
			return nil
		},
	})
	fmt.Println(turn, "turns in", result.Total, "attempts:", result.State, err)
	// Output: 10 turns in 10 attempts: succeeded <nil>
}

func ExampleSpawner_Drain() {
	s := newSpawner(nil)
	started := make(chan struct{})
	h := s.Start(context.Background(), spawn.Worker{
		ID: "deaf",
		Run: func(ctx context.Context, _ *spawn.Attempt) error {
			close(started)
			<-ctx.Done()
			return ctx.Err()
		},
	})
	<-started
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
	defer cancel()
	fmt.Println(s.Drain(ctx))
	result, err := h.Wait()
	fmt.Println(result.State, errors.Is(err, spawn.ErrDraining))
	// Output:
	// spawn: 1 still running when the drain ended: deaf
	// canceled true
}

// The death path runs once, when the classifier and the policy have spoken, and
// knows every attempt.
func ExampleConfig_onDeath() {
	s := newSpawner(func(d spawn.Death) {
		fmt.Println(d.ID, "died after", d.Total, "attempts")
		for _, a := range d.Attempts {
			fmt.Println(a.ID, a.Verdict.Class)
		}
	})
	_, err := s.Run(context.Background(), spawn.Worker{
		ID:  "agent",
		Run: func(context.Context, *spawn.Attempt) error { return retry.Transient },
	})
	fmt.Println(errors.Is(err, retry.Transient))
	// Output:
	// agent died after 4 attempts
	// agent#1 transient
	// agent#2 transient
	// agent#3 transient
	// agent#4 transient
	// true
}
