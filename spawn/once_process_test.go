package spawn_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdoff-go/holdoff/limiter"
	"github.com/holdoff-go/holdoff/spawn"
)

// A fileEffects is an EffectStore that outlives the process: a file an effect.
type fileEffects struct {
	dir  string
	step func() // between one thing done and the next; nil: nothing

	mu sync.Mutex // within this process: there is one at a time
}

func (f *fileEffects) path(e spawn.Effect) string {
	sum := sha256.Sum256([]byte(e.Worker + "\x00" + e.Key))
	return filepath.Join(f.dir, hex.EncodeToString(sum[:8])+".json")
}

func (f *fileEffects) read(e spawn.Effect) (stored spawn.Effect, err error) {
	text, err := os.ReadFile(f.path(e))
	if err != nil {
		return stored, err
	}
	return stored, json.Unmarshal(text, &stored)
}

// write is atomic: a file is there whole, or not.
func (f *fileEffects) write(e spawn.Effect) error {
	text, err := json.Marshal(e)
	if err != nil {
		return err
	}
	if err := os.WriteFile(f.path(e)+".new", text, 0o600); err != nil {
		return err
	}
	f.stepped()
	return os.Rename(f.path(e)+".new", f.path(e))
}

func (f *fileEffects) stepped() {
	if f.step != nil {
		f.step()
	}
}

func (f *fileEffects) Begin(_ context.Context, intent spawn.Effect) (spawn.Effect, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.stepped()
	stored, err := f.read(intent)
	if !errors.Is(err, fs.ErrNotExist) {
		return stored, err
	}
	err = f.write(intent)
	f.stepped()
	return intent, err
}

func (f *fileEffects) Settle(_ context.Context, e spawn.Effect) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.stepped()
	defer f.stepped()
	stored, err := f.read(e)
	switch {
	case errors.Is(err, fs.ErrNotExist) && e.State == spawn.EffectReleased:
		return nil
	case err != nil:
		return err
	case stored.Intent != e.Intent:
		return fmt.Errorf("the intent is %s, not %s", stored.Intent, e.Intent)
	case e.State == spawn.EffectReleased:
		return os.Remove(f.path(e))
	default:
		return f.write(e)
	}
}

// The environment of a child: where its files are, and before which of its steps
// it is killed.
const (
	effectsDir  = "HOLDOFF_TEST_EFFECTS_DIR"
	effectsDies = "HOLDOFF_TEST_EFFECTS_DIES"
)

const (
	childEffects  = 6
	exitUndecided = 3
)

// sink is where the effects go: a line each.
func sink(dir string) string { return filepath.Join(dir, "sink") }

// workWithEffects is the child: one worker with some effects, in a process that
// is killed before the given step. It returns the exit code.
func workWithEffects(dir string) int {
	dies, _ := strconv.Atoi(os.Getenv(effectsDies))
	steps := 0
	step := func() {
		if steps++; steps == dies {
			self, err := os.FindProcess(os.Getpid())
			if err == nil {
				err = self.Kill()
			}
			if err != nil {
				panic(err)
			}
			select {} // until the kill arrives
		}
	}
	gate, err := limiter.New(limiter.Config{})
	if err != nil {
		panic(err)
	}
	s, err := spawn.New(spawn.Config{Limiter: gate, Effects: &fileEffects{dir: dir, step: step}})
	if err != nil {
		panic(err)
	}
	_, err = s.Run(context.Background(), spawn.Worker{ID: "w", Run: func(ctx context.Context, a *spawn.Attempt) error {
		for i := range childEffects {
			n, err := spawn.Once(ctx, a, fmt.Sprint("send ", i), func(context.Context) (int, error) {
				step()
				f, err := os.OpenFile(sink(dir), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
				if err != nil {
					return 0, err
				}
				_, err = fmt.Fprintf(f, "send %d\n", i)
				err = errors.Join(err, f.Close())
				step()
				return i + 100, err
			})
			if err != nil {
				return err
			}
			if n != i+100 && n != 0 { // 0: of a decision without a result
				return fmt.Errorf("effect %d came to %d", i, n)
			}
		}
		return nil
	}})
	undecided, ok := errors.AsType[*spawn.EffectError](err)
	switch {
	case err == nil:
		return 0
	case ok && errors.Is(err, spawn.ErrNeedsDecision):
		if err := json.NewEncoder(os.Stdout).Encode(undecided.Effect); err != nil {
			panic(err)
		}
		return exitUndecided
	default:
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
}

// A childRun is one life of the child.
type childRun struct {
	killed    bool
	undecided *spawn.Effect
}

func runChild(t *testing.T, dir string, dies int) childRun {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), effectsDir+"="+dir, effectsDies+"="+strconv.Itoa(dies))
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err == nil {
		return childRun{}
	}
	exit, ok := errors.AsType[*exec.ExitError](err)
	require.True(t, ok, err)
	if exit.ExitCode() == exitUndecided {
		var e spawn.Effect
		require.NoError(t, json.Unmarshal(out, &e))
		return childRun{undecided: &e}
	}
	require.Empty(t, stderr.String())
	return childRun{killed: true}
}

func sent(t *testing.T, dir string) []string {
	t.Helper()
	text, err := os.ReadFile(sink(dir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	require.NoError(t, err)
	return strings.Fields(strings.ReplaceAll(string(text), "send ", ""))
}

// lifeAfterDeath lets the child die before the steps given, each in a life of its
// own, decides what is in doubt by a look at the sink, as an operator would, and
// lets it run to its end.
func lifeAfterDeath(t *testing.T, deaths ...int) (decisions int) {
	t.Helper()
	dir := t.TempDir()
	gate, err := limiter.New(limiter.Config{})
	require.NoError(t, err)
	operator, err := spawn.New(spawn.Config{Limiter: gate, Effects: &fileEffects{dir: dir}})
	require.NoError(t, err)
	for life := 0; ; life++ {
		require.Less(t, life, 100, "it makes no way")
		dies := 0
		if life < len(deaths) {
			dies = deaths[life]
		}
		run := runChild(t, dir, dies)
		lines := sent(t, dir)
		seen := map[string]bool{}
		for _, line := range lines {
			require.False(t, seen[line], "effect %s was had twice: %v", line, lines)
			seen[line] = true
		}
		switch {
		case run.undecided != nil:
			decisions++
			e := *run.undecided
			require.Equal(t, spawn.EffectInFlight, e.State)
			again := runChild(t, dir, 0)
			require.NotNil(t, again.undecided, "it stays in doubt")
			require.Equal(t, lines, sent(t, dir))
			e.State = spawn.EffectReleased
			if seen[strings.TrimPrefix(e.Key, "send ")] {
				e.State = spawn.EffectDone
			}
			require.NoError(t, operator.Decide(t.Context(), e))
		case !run.killed:
			require.Equal(t, []string{"0", "1", "2", "3", "4", "5"}, lines)
			return decisions
		}
	}
}

func TestOnce_ProcessKilledAtEachPoint(t *testing.T) {
	// The steps of the first effect and the first of the second.
	for step, decisions := range []int{
		0, // before anything
		0, // with an intent half written
		1, // with the intent, before the effect is begun: nobody can know that
		1, // as the effect begins
		1, // when it was had
		1, // before its end is written
		1, // with its end half written
		0, // with its end
		0, // as the second begins
	} {
		t.Run(fmt.Sprint("step ", step+1), func(t *testing.T) {
			t.Parallel()
			require.Equal(t, decisions, lifeAfterDeath(t, step+1))
		})
	}
}

func TestOnce_ProcessKilledAtRandomPoints(t *testing.T) {
	for range 3 {
		seed := rand.Uint64()
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			random := rand.New(rand.NewPCG(seed, 0))
			deaths := make([]int, 6)
			for i := range deaths {
				deaths[i] = 1 + random.IntN(20)
			}
			lifeAfterDeath(t, deaths...)
		})
	}
}
