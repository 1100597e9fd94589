// Package readme_test compiles and runs the README's snippets.
package readme_test

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdoff-go/holdoff/fleet"
	"github.com/holdoff-go/holdoff/limiter"
	"github.com/holdoff-go/holdoff/limiter/httplimit"
	"github.com/holdoff-go/holdoff/retry"
	"github.com/holdoff-go/holdoff/spawn"
)

type task struct{ ID string }

func runAgent(context.Context, task) error { return nil }

// Ten lines that hold an existing spawner off.
func holdOff(ctx context.Context, tasks []task) error {
	gate, err := limiter.New(limiter.Config{Name: "openai"})
	if err != nil {
		return err
	}
	spawner, err := spawn.New(spawn.Config{Limiter: gate, OnDeath: func(d spawn.Death) { log.Print(d.Err) }})
	if err != nil {
		return err
	}
	for _, t := range tasks {
		spawner.Start(ctx, spawn.Worker{ID: t.ID, Run: func(ctx context.Context, a *spawn.Attempt) error {
			return runAgent(ctx, t) // what your spawner calls today
		}})
	}
	return spawner.Drain(ctx) // nil when all have ended
}

func TestReadme_tenLines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		require.NoError(t, holdOff(t.Context(), []task{{"a"}, {"b"}, {"c"}}))
	})
}

func TestReadme_transport(t *testing.T) {
	gate, err := limiter.New(limiter.Config{})
	require.NoError(t, err)
	client := &http.Client{Transport: &httplimit.Transport{Limiter: gate}}
	require.NotNil(t, client)
}

func TestReadme_patience(t *testing.T) {
	policy := retry.Policy{MaxRetries: retry.Unlimited, MaxElapsed: 6 * time.Hour}
	require.NoError(t, policy.Validate())
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
		gate, _ := limiter.New(limiter.Config{})
		spawner, _ := spawn.New(spawn.Config{Limiter: gate})
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
