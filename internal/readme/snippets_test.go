// Package readme_test compiles and runs the README's snippets.
package readme_test

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdoff-go/holdoff/fleet"
	"github.com/holdoff-go/holdoff/limiter"
	"github.com/holdoff-go/holdoff/limiter/httplimit"
	"github.com/holdoff-go/holdoff/retry"
	"github.com/holdoff-go/holdoff/spawn"
	"github.com/holdoff-go/holdoff/spawn/swarm"
)

type task struct{ ID string }

// A host's own functions, as the snippets call them.
type host struct {
	runAgent func(context.Context, task) error
	done     func(task, error)
}

// Ten lines that put an existing spawner behind a limiter.
func tenLines(ctx context.Context, h host, tasks []task) error {
	runAgent := h.runAgent

	lim, err := limiter.New(limiter.Config{Name: "openai"})
	if err != nil {
		return err
	}
	spawner, err := spawn.New(spawn.Config{Limiter: lim})
	if err != nil {
		return err
	}

	var wg sync.WaitGroup
	for _, t := range tasks {
		wg.Go(func() {
			work := func(ctx context.Context, a *spawn.Attempt) error { return runAgent(ctx, t) }
			_, err := spawner.Run(ctx, spawn.Worker{ID: t.ID, Run: work})
			h.done(t, err)
		})
	}
	wg.Wait()
	return nil
}

// More tasks than the budget has slots, and a storm of a minute and a half.
func TestReadme_tenLines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var tasks []task
		for i := range 40 {
			tasks = append(tasks, task{fmt.Sprint("task-", i)})
		}
		var mu sync.Mutex
		start, calls, finished := time.Now(), 0, map[string]bool{}
		h := host{
			runAgent: func(context.Context, task) error {
				time.Sleep(50 * time.Millisecond)
				mu.Lock()
				calls++
				mu.Unlock()
				if time.Since(start) < 90*time.Second {
					return &retry.ResponseError{StatusCode: http.StatusTooManyRequests}
				}
				time.Sleep(4 * time.Second)
				return nil
			},
			done: func(done task, err error) {
				mu.Lock()
				defer mu.Unlock()
				require.NoError(t, err)
				finished[done.ID] = true
			},
		}
		require.NoError(t, tenLines(t.Context(), h, tasks))
		require.Len(t, finished, len(tasks))
		require.Less(t, calls, len(tasks)+16+10, "those in flight when it began, and the probes")
	})
}

// Turns of an agent, which keeps what it has got.
type turns struct{ left, calls int }
type turn struct{ of *turns }

func (p *turns) Next() *turn {
	if p.left == 0 {
		return nil
	}
	return &turn{p}
}

func (p *turns) Keep(*turn) { p.left-- }

func (t *turn) Call(context.Context) error {
	if t.of.calls++; t.of.calls%5 == 0 {
		return retry.RateLimited
	}
	return nil
}

func manyTurns(ctx context.Context, a *spawn.Attempt, progress *turns) error {
	for turn := progress.Next(); turn != nil; turn = progress.Next() {
		if err := a.Wait(ctx); err != nil { // before each call
			return err
		}
		if err := turn.Call(ctx); err != nil {
			return err // classified, reported, and tried again where that makes sense
		}
		progress.Keep(turn)
		a.Progress() // accepted, and not to be repeated
	}
	return nil
}

// A worker of 100 turns that is refused at every fifth call outlives them all.
func TestReadme_manyTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lim, err := limiter.New(limiter.Config{})
		require.NoError(t, err)
		spawner, err := spawn.New(spawn.Config{Limiter: lim})
		require.NoError(t, err)
		progress := &turns{left: 100}
		_, err = spawner.Run(t.Context(), spawn.Worker{Run: func(ctx context.Context, a *spawn.Attempt) error {
			return manyTurns(ctx, a, progress)
		}})
		require.NoError(t, err)
		require.Zero(t, progress.left)
		require.Equal(t, 124, progress.calls)
	})
}

func TestReadme_transport(t *testing.T) {
	lim, err := limiter.New(limiter.Config{})
	require.NoError(t, err)
	t.Run("inside a worker", func(t *testing.T) {
		client := &http.Client{Transport: &httplimit.Transport{Limiter: lim}}
		require.NotNil(t, client)
	})
	t.Run("without spawn", func(t *testing.T) {
		client := &http.Client{Transport: &httplimit.Transport{Limiter: lim, Acquire: true, Retry: &retry.Policy{}}}
		require.NotNil(t, client)
	})
}

func TestReadme_patience(t *testing.T) {
	lim, err := limiter.New(limiter.Config{})
	require.NoError(t, err)
	patient := spawn.Config{Limiter: lim, Policy: retry.Policy{MaxRetries: retry.Unlimited, MaxElapsed: 6 * time.Hour}}
	_, err = spawn.New(patient)
	require.NoError(t, err)
}

func TestReadme_classifier(t *testing.T) {
	myProvider := retry.ClassifierFunc(func(_ context.Context, err error) retry.Verdict {
		if err.Error() == "the pool is drained" {
			return retry.Verdict{Class: retry.Overloaded, RetryAfter: 5 * time.Second}
		}
		return retry.Verdict{} // not known here: ask the next one
	})
	policy := retry.Policy{Classifier: retry.First(myProvider, retry.Standard(nil))}
	require.NoError(t, policy.Validate())
	v := retry.Ask(t.Context(), policy.Classifier, fmt.Errorf("the pool is drained"))
	require.Equal(t, retry.Overloaded, v.Class)
}

func TestReadme_fleet(t *testing.T) {
	guard, err := fleet.New(fleet.Config{
		Caps:   fleet.Caps{HourlyBudget: 10 * fleet.Dollar, Instances: 20},
		Window: fleet.Window{Launches: 3, Per: 15 * time.Minute},
	})
	require.NoError(t, err)
	require.NotNil(t, guard)
}

// The test of one's own spawner: a storm of a minute takes it no time.
func TestReadme_testing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lim, _ := limiter.New(limiter.Config{})
		spawner, _ := spawn.New(spawn.Config{Limiter: lim})
		start := time.Now()
		result, err := spawner.Run(t.Context(), spawn.Worker{Run: func(context.Context, *spawn.Attempt) error {
			if time.Since(start) < 5*time.Second {
				return retry.RateLimited
			}
			return nil
		}})
		require.NoError(t, err)
		require.Equal(t, 3, result.Total) // at 0, 3 and 9 s
	})
}

func TestReadme_swarm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lim, err := limiter.New(limiter.Config{})
		require.NoError(t, err)
		spawner, err := spawn.New(spawn.Config{Limiter: lim})
		require.NoError(t, err)
		ctx, files := t.Context(), []string{"a", "b"}
		summarize := func(_ context.Context, _ *spawn.Attempt, file string) (string, error) { return file, nil }
		for i, r := range swarm.Run(ctx, spawner, slices.All(files), summarize) {
			if r.Err != nil {
				log.Printf("%s: %v", files[i], r.Err) // the others went on
				continue
			}
			fmt.Println(r.Value)
		}
	})
}
