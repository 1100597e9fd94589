package swarm_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdoff-go/holdoff/limiter"
	"github.com/holdoff-go/holdoff/spawn"
	"github.com/holdoff-go/holdoff/spawn/swarm"
)

func newSpawner() *spawn.Spawner {
	l, err := limiter.New(limiter.Config{})
	if err != nil {
		panic(err)
	}
	s, err := spawn.New(spawn.Config{Limiter: l})
	if err != nil {
		panic(err)
	}
	return s
}

// One call an input, results in their order.
func ExampleRun() {
	ctx, spawner := context.Background(), newSpawner()
	files := []string{"go.mod", "main.go", "README.md"}

	summarize := func(ctx context.Context, a *spawn.Attempt, file string) (string, error) {
		if file == "main.go" {
			return "", errors.New("it does not compile")
		}
		return strings.ToUpper(file), nil
	}
	for i, r := range swarm.Run(ctx, spawner, slices.All(files), summarize) {
		if r.Err != nil {
			fmt.Printf("%s: %s, %v\n", files[i], r.Run.State, r.Err)
			continue
		}
		fmt.Println(r.Value)
	}
	// Output:
	// GO.MOD
	// main.go: dead, unknown after 1 attempt: it does not compile
	// README.MD
}

type task struct{ Name, Prompt string }

// A cap, a start in a burst of five and then one each 700 ms, events, and a store
// that lets the second run start only what is missing.
func ExampleNew() {
	ctx := context.Background()
	tasks := []task{{"a", "…"}, {"b", "…"}, {"c", "…"}}
	inputs := swarm.Keyed(slices.Values(tasks), func(t task) string { return t.Name })
	cfg := swarm.Config[string, int]{
		Spawner: newSpawner(),
		Cap:     20,
		Burst:   5,
		Pace:    700 * time.Millisecond,
		Total:   len(tasks),
		Store:   &swarm.Memory[string, int]{},
		OnEvent: func(e swarm.Event[string]) {
			if e.Kind == swarm.EventSuspended {
				fmt.Printf("%s is suspended until %v\n", e.Key, e.Until)
			}
		},
	}
	for run := range 2 {
		sw, err := swarm.New(cfg, inputs, func(_ context.Context, _ *spawn.Attempt, t task) (int, error) {
			if run == 0 && t.Name == "b" {
				return 0, errors.New("no such file")
			}
			return len(t.Prompt), nil
		})
		if err != nil {
			fmt.Println(err)
			return
		}
		for name, r := range sw.Results(ctx) {
			fmt.Println(name, r.Value, r.Stored, r.Err)
		}
		fmt.Println(sw.Progress().Done, "done")
	}
	// Output:
	// a 3 false <nil>
	// b 0 false unknown after 1 attempt: no such file
	// c 3 false <nil>
	// 2 done
	// a 3 true <nil>
	// b 3 false <nil>
	// c 3 true <nil>
	// 3 done
}

// A fileStore keeps results as lines of JSON in one file. A crash may tear its
// last line, which is then no result.
type fileStore[Out any] struct {
	mu     sync.Mutex
	file   *os.File
	values map[string]Out
}

type line[Out any] struct {
	Key   string
	Value Out
}

func openStore[Out any](path string) (*fileStore[Out], error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	s := &fileStore[Out]{file: f, values: make(map[string]Out)}
	lines := bufio.NewReader(f)
	for {
		text, err := lines.ReadBytes('\n')
		var l line[Out]
		if json.Unmarshal(text, &l) == nil {
			s.values[l.Key] = l.Value
		}
		if err != nil {
			return s, nil // the end
		}
	}
}

func (s *fileStore[Out]) Load(_ context.Context, key string) (Out, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	value, ok := s.values[key]
	return value, ok, nil
}

func (s *fileStore[Out]) Save(_ context.Context, key string, value Out) error {
	text, err := json.Marshal(line[Out]{key, value})
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.values[key] = value
	// The newline first: it parts this line from one that was torn.
	_, err = fmt.Fprintf(s.file, "\n%s", text)
	return err
}

// A Store in a file outlives the process.
func ExampleStore() {
	path := filepath.Join(os.TempDir(), fmt.Sprintf("holdoff-swarm-%d.jsonl", os.Getpid()))
	defer os.Remove(path)
	for range 2 {
		store, err := openStore[string](path)
		if err != nil {
			fmt.Println(err)
			return
		}
		sw, err := swarm.New(swarm.Config[string, string]{Spawner: newSpawner(), Store: store},
			letters("x", "y"), func(_ context.Context, _ *spawn.Attempt, in string) (string, error) {
				return in + in, nil
			})
		if err != nil {
			fmt.Println(err)
			return
		}
		for key, r := range sw.Results(context.Background()) {
			fmt.Println(key, r.Value, r.Stored)
		}
		_ = store.file.Close()
	}
	// Output:
	// x xx false
	// y yy false
	// x xx true
	// y yy true
}

func TestFileStore_SurvivesATornLine(t *testing.T) {
	path := filepath.Join(t.TempDir(), "results.jsonl")
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, limiter.Config{}, spawn.Config{})
		run := func(keys ...string) (ran int) {
			before := len(f.made())
			store, err := openStore[string](path)
			require.NoError(t, err)
			defer store.file.Close()
			sw := newSwarm(t, swarm.Config[string, string]{Spawner: f.spawner, Store: store}, letters(keys...), f.calling(time.Second, nil))
			keys, all := collect(sw.Results(t.Context()))
			for i, r := range all {
				require.NoError(t, r.Err)
				require.Equal(t, "done "+keys[i], r.Value)
			}
			return len(f.made()) - before
		}
		require.Equal(t, 2, run("a", "b"))

		// Given a process that died in the middle of its last write
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(path, text[:len(text)-4], 0o600))

		// then one result is missing, and is had again, once.
		require.Equal(t, 2, run("a", "b", "c"), "one torn, and a new one")
		require.Zero(t, run("a", "b", "c"))
	})
}
