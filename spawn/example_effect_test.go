package spawn_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/holdoff-go/holdoff/retry"
	"github.com/holdoff-go/holdoff/spawn"
)

// A message is sent, then comes a refusal. The next attempt gets the receipt that
// the first one got, and sends nothing.
func ExampleOnce() {
	s := newSpawner(nil)
	result, err := s.Run(context.Background(), spawn.Worker{
		ID: "agent",
		Run: func(ctx context.Context, a *spawn.Attempt) error {
			receipt, err := spawn.Once(ctx, a, "send report", func(context.Context) (string, error) {
				fmt.Println("sending")
				return "receipt 7", nil
			})
			if err != nil {
				return err
			}
			fmt.Println(a.ID(), "has", receipt)
			if a.Number() == 1 {
				return retry.RateLimited
			}
			return nil
		},
	})
	fmt.Println(result.State, err)
	// Output:
	// sending
	// agent#1 has receipt 7
	// agent#2 has receipt 7
	// succeeded <nil>
}

// An effect without a value.
func ExampleAttempt_Once() {
	s := newSpawner(nil)
	_, err := s.Run(context.Background(), spawn.Worker{
		Run: func(ctx context.Context, a *spawn.Attempt) error {
			for range 3 {
				err := a.Once(ctx, "push branch", func(context.Context) error {
					fmt.Println("pushing")
					return nil
				})
				if err != nil {
					return err
				}
			}
			return nil
		},
	})
	fmt.Println(err)
	// Output:
	// pushing
	// <nil>
}

// A worker that had an effect by itself is not run again blindly: somebody looks
// at the trace, and revives it or does not.
func ExampleAttempt_Declare() {
	s := newSpawner(func(d spawn.Death) {
		for _, e := range d.Effects {
			fmt.Println(e.Attempt, "had the effect", e.Key)
		}
	})
	sent := false
	_, err := s.Run(context.Background(), spawn.Worker{
		ID: "agent",
		Run: func(_ context.Context, a *spawn.Attempt) error {
			if !sent {
				a.Declare("email")
				sent = true
				return retry.RateLimited
			}
			return nil
		},
	})
	fmt.Println(errors.Is(err, spawn.ErrNeedsDecision))
	h, err := s.Revive(context.Background(), "agent")
	if err != nil {
		panic(err)
	}
	result, err := h.Wait()
	fmt.Println(result.State, "with attempt", result.Total, err)
	// Output:
	// agent#1 had the effect email
	// true
	// succeeded with attempt 2 <nil>
}

// An effect ended in a timeout: nobody knows whether it was had. An operator looks,
// says so, and revives the worker.
func ExampleSpawner_Decide() {
	ctx := context.Background()
	s := newSpawner(nil)
	_, err := s.Run(ctx, spawn.Worker{
		ID: "agent",
		Run: func(ctx context.Context, a *spawn.Attempt) error {
			receipt, err := spawn.Once(ctx, a, "pay", func(context.Context) (string, error) {
				return "", context.DeadlineExceeded
			})
			if err == nil {
				fmt.Println("paid,", receipt)
			}
			return err
		},
	})
	doubt, ok := errors.AsType[*spawn.EffectError](err)
	fmt.Println(ok, errors.Is(err, spawn.ErrNeedsDecision), doubt.Effect.Key)

	effect := doubt.Effect
	effect.State, effect.Result = spawn.EffectDone, []byte(`"receipt 7"`)
	if err := s.Decide(ctx, effect); err != nil {
		panic(err)
	}
	h, err := s.Revive(ctx, "agent")
	if err != nil {
		panic(err)
	}
	_, err = h.Wait()
	fmt.Println(err)
	// Output:
	// true true pay
	// paid, receipt 7
	// <nil>
}

// The attempt after a refusal goes on where the one before it stopped, and what it
// had put out is kept as unverified.
func ExampleAttempt_Save() {
	s := newSpawner(nil)
	result, err := s.Run(context.Background(), spawn.Worker{
		ID: "writer",
		Run: func(_ context.Context, a *spawn.Attempt) error {
			chapter, _ := a.Checkpoint().(int)
			for chapter < 3 {
				if chapter == 2 && a.Number() == 1 {
					return retry.RateLimited
				}
				chapter++
				a.Partial(fmt.Sprint("chapter ", chapter))
				a.Save(chapter)
			}
			return nil
		},
	})
	for _, u := range result.Partial {
		fmt.Println(u.Attempt, u.Chunk)
	}
	fmt.Println(result.Checkpoint, err)
	// Output:
	// writer#1 chapter 1
	// writer#1 chapter 2
	// writer#2 chapter 3
	// 3 <nil>
}

// A worker has died of something that a person can mend. It goes on where it was.
func ExampleSpawner_Revive() {
	ctx := context.Background()
	s := newSpawner(nil)
	mended := false
	result, err := s.Run(ctx, spawn.Worker{
		ID: "agent",
		Run: func(_ context.Context, a *spawn.Attempt) error {
			if !mended {
				a.Save("turn 12")
				return errors.New("no space left on device")
			}
			fmt.Println(a.ID(), "goes on at", a.Checkpoint())
			return nil
		},
	})
	fmt.Println(result.State, err != nil)

	mended = true
	h, err := s.Revive(ctx, "agent")
	if err != nil {
		panic(err)
	}
	result, err = h.Wait()
	fmt.Println(result.State, err)
	// Output:
	// dead true
	// agent#2 goes on at turn 12
	// succeeded <nil>
}

// The worker may wait for two resets by itself, and for none after this week.
func ExampleResume() {
	s := newSpawner(nil)
	_, err := s.Run(context.Background(), spawn.Worker{
		Resume: spawn.Resume{Times: 2, Until: time.Now().AddDate(0, 0, 7)},
		Run:    func(context.Context, *spawn.Attempt) error { return nil },
	})
	fmt.Println(err)
	// Output: <nil>
}
