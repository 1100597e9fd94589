package spawn_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdoff-go/holdoff/limiter"
	"github.com/holdoff-go/holdoff/retry"
	"github.com/holdoff-go/holdoff/spawn"
)

var update = flag.Bool("update", false, "write the golden files anew")

const (
	turnTime = 20 * time.Second // an accepted call
	longCall = 10 * time.Minute // that of a worker of one turn that is in a long call
	longTurn = time.Minute      // the first of a worker of 300 turns that is
)

// What a fleet is doing when the storm begins.
const (
	allInFlight = "all in flight"
	oneInFlight = "one in flight, the rest queued"
	longCalls   = "one refused, the rest in long calls"
)

// A storm is one cell of the table.
type storm struct {
	workers int
	doing   string
	turns   int
	stated  time.Duration
	length  time.Duration
	policy  retry.Policy
}

// An outcome is what came of it. The times count from the storm's end; negative
// is never.
type outcome struct {
	died    int
	refused int
	first   time.Duration // the first accepted call that began in the storm or after
	back    time.Duration // the budget is no less than the fleet again
}

func (o outcome) String() string {
	text := func(d time.Duration) string {
		switch {
		case d < 0:
			return "–"
		case d < 3*time.Minute:
			return fmt.Sprintf("%d s", int(d.Seconds()))
		default:
			return fmt.Sprintf("%d min", int(d.Minutes()))
		}
	}
	return fmt.Sprintf("%d, %d, %s, %s", o.died, o.refused, text(o.first), text(o.back))
}

// A sky is the upstream of a storm.
type sky struct {
	storm
	begins time.Time

	mu sync.Mutex
	outcome
}

func (s *sky) call(ctx context.Context, latency time.Duration) error {
	s.mu.Lock()
	var err error
	switch at := time.Since(s.begins); {
	case at < 0:
	case at < s.length:
		err, latency = rateLimited(s.stated.Seconds()), 50*time.Millisecond
		s.refused++
	case s.first < 0:
		s.first = at - s.length
	}
	s.mu.Unlock()
	select {
	case <-time.After(latency):
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// worker is one of the fleet, whose first call takes so long when it is accepted.
func (s *sky) worker(first time.Duration) func(context.Context, *spawn.Attempt) error {
	done := 0
	return func(ctx context.Context, a *spawn.Attempt) error {
		for gated := true; done < s.turns; gated = false { // the attempt is leave for its first call
			if !gated {
				if err := a.Wait(ctx); err != nil {
					return err
				}
			}
			latency := turnTime
			if done == 0 {
				latency = first
			}
			if err := s.call(ctx, latency); err != nil {
				return err
			}
			done++
			a.Progress()
		}
		return nil
	}
}

// live lives through the storm.
func (c storm) live(t *testing.T) outcome {
	t.Helper()
	s := &sky{storm: c, outcome: outcome{first: -1, back: -1}}
	synctest.Test(t, func(t *testing.T) {
		l, err := limiter.New(limiter.Config{})
		require.NoError(t, err)
		spawner, err := spawn.New(spawn.Config{Limiter: l, Policy: c.policy})
		require.NoError(t, err)
		start := time.Now()
		s.begins = start.Add(time.Second)
		long := longCall
		if c.turns > 1 {
			long = longTurn
		}
		var fleet sync.WaitGroup
		errs := make([]error, c.workers)
		for i := range c.workers {
			at, first := time.Second+time.Duration(i)*1100*time.Microsecond, turnTime
			switch {
			case c.doing == oneInFlight && i > 0:
				at += time.Second
			case c.doing == longCalls && i > 0:
				at, first = at-time.Second, long
			}
			fleet.Go(func() {
				time.Sleep(at)
				_, errs[i] = spawner.Run(t.Context(), spawn.Worker{Run: s.worker(first)})
			})
		}
		time.Sleep(time.Until(s.begins.Add(c.length)))
		for l.Status().Budget < c.workers {
			time.Sleep(time.Second)
		}
		back := time.Since(s.begins) - c.length
		fleet.Wait()
		for _, err := range errs {
			if err != nil {
				require.ErrorIs(t, err, retry.RateLimited)
				s.died++
			}
		}
		if s.died < c.workers {
			s.back = max(back, s.first)
		}
	})
	return s.outcome
}

// TestStormTable lives through all storms of the table and prints it:
//
//	go test -run TestStormTable -v ./spawn
func TestStormTable(t *testing.T) {
	var table strings.Builder
	table.WriteString(stormsIntro)
	stated := []time.Duration{0, time.Second, 5 * time.Second, 30 * time.Second}
	row := func(c storm) {
		fmt.Fprintf(&table, "| %d | %s | %v |", c.workers, c.doing, c.length)
		for _, c.stated = range stated {
			o := c.live(t)
			fmt.Fprintf(&table, " %v |", o)
			if c.workers >= 4 && c.length <= 330*time.Second || c.policy.MaxRetries == retry.Unlimited {
				require.Zero(t, o.died, "%+v: %v", c, o)
			}
		}
		table.WriteByte('\n')
	}
	for _, turns := range []int{1, 300} {
		fmt.Fprintf(&table, "\n## Workers of %s, default policy\n\n%s", count(turns, "turn"), stormsHead)
		for _, workers := range []int{1, 4, 6, 16} {
			for _, doing := range []string{allInFlight, oneInFlight, longCalls} {
				for _, length := range []time.Duration{time.Minute, 330 * time.Second, 15 * time.Minute} {
					if workers > 1 || doing == allInFlight { // one worker has no rest
						row(storm{workers: workers, doing: doing, turns: turns, length: length})
					}
				}
			}
		}
	}
	for _, turns := range []int{1, 300} {
		fmt.Fprintf(&table, "\n## Workers of %s, the recipe\n\n%s", count(turns, "turn"), stormsHead)
		for _, workers := range []int{1, 4} {
			for _, length := range []time.Duration{15 * time.Minute, time.Hour} {
				policy := retry.Policy{MaxRetries: retry.Unlimited, MaxElapsed: 6 * time.Hour}
				row(storm{workers: workers, doing: allInFlight, turns: turns, length: length, policy: policy})
			}
		}
	}
	if testing.Verbose() {
		fmt.Print(table.String())
	}
	golden(t, "storms.md", table.String())
}

func TestStorm_EachFurtherWorkerIsWorthTwoMinutes(t *testing.T) {
	for workers := 4; workers <= 8; workers++ {
		length := 330*time.Second + time.Duration(workers-4)*2*time.Minute
		for _, stated := range []time.Duration{0, time.Second, 5 * time.Second, 30 * time.Second} {
			c := storm{workers: workers, doing: allInFlight, turns: 1, stated: stated, length: length}
			require.Zero(t, c.live(t).died, "%+v", c)
		}
	}
}

func count(n int, noun string) string {
	if n == 1 {
		return "one " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(got), 0o644))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, strings.ReplaceAll(string(want), "\r\n", "\n"), got, "run the test with -update if that is meant")
}

const stormsHead = `| workers | when it begins | storm | nothing stated | Retry-After: 1 | Retry-After: 5 | Retry-After: 30 |
|---|---|---|---|---|---|---|
`

const stormsIntro = `# Who dies of a storm

A storm is a time in which the upstream refuses every call that begins. This
table is what a fleet makes of storms of several lengths under one limiter and
one spawner with their defaults. It is computed in virtual time, and checked, by

    go test -run TestStormTable -v ./spawn

Each cell holds four figures:

1. how many workers died,
2. how many calls were refused in all,
3. when, after the end of the storm, the first call was made that was accepted,
4. when, after the end of the storm, the budget was no less than the fleet again.

An accepted call takes 20 s, a refusal 50 ms. A long call takes 10 min where a
worker has one turn, and 1 min where it has 300; a worker of 300 turns asks
Attempt.Wait before each further one and tells Attempt.Progress after it.

What to read from it:

- A fleet of four or more loses nobody in 5½ min, whatever it was doing and
  whatever the upstream states. Each further worker is worth about 2 min.
- A worker alone makes four attempts, 21 s in all where no longer time is stated,
  and then dies. It has nobody to share the probing with. One that the others
  leave alone, because they have ended, is a worker alone too.
- For longer storms, and for a worker alone, there is a recipe: retries without
  number within a time,

      retry.Policy{MaxRetries: retry.Unlimited, MaxElapsed: 6 * time.Hour}

- A worker that is refused while the others are in long calls may have to wait
  for one of them: the refusal has cut the budget, and no probe goes above it.
`
