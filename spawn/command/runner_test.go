package command_test

import (
	"bytes"
	"context"
	"errors"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdoff-go/holdoff/limiter"
	"github.com/holdoff-go/holdoff/retry"
	"github.com/holdoff-go/holdoff/spawn"
	"github.com/holdoff-go/holdoff/spawn/command"
)

// classOf is what the standard classifier makes of err.
func classOf(t *testing.T, err error) retry.Class {
	return retry.Standard(nil).Classify(t.Context(), err).Class
}

func TestRun_Ends(t *testing.T) {
	for role, tt := range map[string]struct {
		exit   int
		class  retry.Class
		stdout string
	}{
		"works":           {0, 0, "the artefact\n"},
		"is refused":      {75, retry.RateLimited, ""},
		"hides a 429":     {0, retry.RateLimited, `{"type":"turn.started"}` + "\n" + record429 + "\n"},
		"fails on a 429":  {1, retry.RateLimited, ""},
		"talks":           {0, 0, "the artefact: " + strings.Repeat(chat+"\n", 50) + "\n"},
		"talks and fails": {1, retry.Unknown, strings.Repeat(chat+"\n", 50) + "\n"},
		"no such role":    {2, retry.Unknown, ""},
	} {
		t.Run(role, func(t *testing.T) {
			out, err := command.Runner{Record: command.JSON}.Run(t.Context(), agent(role))
			require.Equal(t, tt.stdout, string(out))
			if tt.exit == 0 && tt.class == 0 {
				require.NoError(t, err)
				return
			}
			var failure *retry.ProcessError
			require.ErrorAs(t, err, &failure)
			require.Equal(t, tt.exit, failure.ExitCode)
			require.Equal(t, tt.class, classOf(t, err))
		})
	}
	t.Run("without a Record, none is looked for", func(t *testing.T) {
		_, err := command.Runner{}.Run(t.Context(), agent("hides a 429"))
		require.NoError(t, err)
	})
	t.Run("not started", func(t *testing.T) {
		_, err := command.Runner{}.Run(t.Context(), exec.Command("/no/such/agent"))
		require.ErrorContains(t, err, "command: ")
		require.NotErrorIs(t, err, retry.RateLimited)
		require.Equal(t, retry.Unknown, classOf(t, err))
	})
	t.Run("the context has ended", func(t *testing.T) {
		over := errors.New("over")
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(over)
		cmd := agent("works")
		_, err := command.Runner{}.Run(ctx, cmd)
		require.ErrorIs(t, err, over)
		require.Nil(t, cmd.Process)
	})
}

func TestRun_KeepsTheEndOfStderr(t *testing.T) {
	var all bytes.Buffer
	cmd := agent("floods")
	cmd.Stderr = &all
	_, err := command.Runner{}.Run(t.Context(), cmd)
	var failure *retry.ProcessError
	require.ErrorAs(t, err, &failure)
	require.Len(t, failure.Stderr, 64<<10)
	require.True(t, bytes.HasSuffix(failure.Stderr, []byte("line 99999 of the log\n")))
	require.True(t, bytes.HasSuffix(all.Bytes(), failure.Stderr), "the caller's writer has all of it")
	require.Greater(t, all.Len(), 1<<20)
}

func TestRun_WritesToTheCallersStdout(t *testing.T) {
	for name, r := range map[string]command.Runner{"alone": {}, "and looks for a record": {Record: command.JSON}} {
		t.Run(name, func(t *testing.T) {
			var live bytes.Buffer
			cmd := agent("works")
			cmd.Stdout = &live
			out, err := r.Run(t.Context(), cmd)
			require.NoError(t, err)
			require.Equal(t, "the artefact\n", live.String())
			require.Equal(t, r.Record != nil, len(out) > 0)
		})
	}
}

// A writerFunc cannot be compared, as a *bytes.Buffer can.
type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

func TestRun_OneWriterForBoth(t *testing.T) {
	var b bytes.Buffer
	cmd := agent("says it twice")
	cmd.Stdout, cmd.Stderr = &b, &b
	_, err := command.Runner{}.Run(t.Context(), cmd)
	require.NoError(t, err)
	require.Equal(t, 400, strings.Count(b.String(), "out\n"))
	require.Equal(t, 400, strings.Count(b.String(), "err\n"))

	var n atomic.Int64
	count := writerFunc(func(p []byte) (int, error) { n.Add(int64(len(p))); return len(p), nil })
	cmd = agent("says it twice")
	cmd.Stdout, cmd.Stderr = count, count
	_, err = command.Runner{}.Run(t.Context(), cmd)
	require.NoError(t, err)
	require.Equal(t, int64(2*4*400), n.Load())
}

func TestRun_AWriterThatFails(t *testing.T) {
	full := errors.New("disk full")
	broken := writerFunc(func([]byte) (int, error) { return 0, full })
	t.Run("does not hide what is on stderr", func(t *testing.T) {
		cmd := agent("floods")
		cmd.Stderr = broken
		_, err := command.Runner{}.Run(t.Context(), cmd)
		var failure *retry.ProcessError
		require.ErrorAs(t, err, &failure)
		require.Equal(t, 1, failure.ExitCode, "it was not ended by a broken pipe")
		require.True(t, bytes.HasSuffix(failure.Stderr, []byte("line 99999 of the log\n")))
	})
	t.Run("does not hide the record", func(t *testing.T) {
		cmd := agent("hides a 429")
		cmd.Stdout = broken
		_, err := command.Runner{Record: command.JSON}.Run(t.Context(), cmd)
		require.Equal(t, retry.RateLimited, classOf(t, err))
	})
	t.Run("is told", func(t *testing.T) {
		cmd := agent("works")
		cmd.Stdout = broken
		_, err := command.Runner{}.Run(t.Context(), cmd)
		require.ErrorIs(t, err, full)
		require.EqualError(t, err, "command: its output was not passed on: disk full: exit code 0: working")
	})
}

func TestRun_HowLongOutputIsReadHasNothingToDoWithSIGKILL(t *testing.T) {
	for _, tt := range []struct{ grace, set, want time.Duration }{
		{0, 0, 5 * time.Second},
		{-1, 0, 5 * time.Second},
		{time.Minute, 0, time.Minute},
		{-1, time.Hour, time.Hour},
	} {
		cmd := agent("works")
		cmd.WaitDelay = tt.set
		_, err := command.Runner{Grace: tt.grace}.Run(t.Context(), cmd)
		require.NoError(t, err)
		require.Equal(t, tt.want, cmd.WaitDelay)
	}
}

// A fleet of fake agents before one limiter, in virtual time: it stands still
// while a process runs.
type fleet struct {
	limiter *limiter.Limiter
	spawner *spawn.Spawner
	began   time.Time
	deaths  int

	mu       sync.Mutex
	launches []time.Duration
}

func newFleet(t *testing.T) *fleet {
	f := &fleet{began: time.Now()}
	var err error
	f.limiter, err = limiter.New(limiter.Config{Budget: 8})
	require.NoError(t, err)
	f.spawner, err = spawn.New(spawn.Config{Limiter: f.limiter, OnDeath: func(spawn.Death) { f.deaths++ }})
	require.NoError(t, err)
	return f
}

// worker runs an agent that plays a role on each of its attempts, the last one for
// all that follow.
func (f *fleet) worker(id string, roles ...string) spawn.Worker {
	return spawn.Worker{ID: id, Run: func(ctx context.Context, a *spawn.Attempt) error {
		f.mu.Lock()
		f.launches = append(f.launches, time.Since(f.began))
		f.mu.Unlock()
		role := roles[min(a.Number(), len(roles))-1]
		_, err := command.Runner{Record: command.JSON}.Run(ctx, agent(role))
		return err
	}}
}

func TestA5_ExitCode75WithoutAWord(t *testing.T) {
	testPause(t, "is refused")
}

func TestA7_CleanExitHidesThe429(t *testing.T) {
	testPause(t, "hides a 429")
}

// testPause runs an agent whose first attempt ends in role: it is a refusal for
// all.
func testPause(t *testing.T, role string) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t)
		first := f.spawner.Start(t.Context(), f.worker("first", role, role, role, "works"))
		synctest.Wait()
		st := first.Status()
		require.Equal(t, spawn.BackingOff, st.State, "not Succeeded, whatever the exit code")
		require.Equal(t, retry.RateLimited, st.Verdict.Class)
		require.Equal(t, f.began.Add(time.Minute), f.limiter.Status().BlockedUntil)

		// Others start after the pause, or after a call that was accepted.
		other := f.spawner.Start(t.Context(), f.worker("other", "works"))
		time.Sleep(59 * time.Second)
		f.mu.Lock()
		launches := slices.Clone(f.launches)
		f.mu.Unlock()
		for _, at := range launches {
			require.Contains(t, []time.Duration{0, 3 * time.Second, 9 * time.Second}, at, "those of the refused one alone")
		}
		require.Equal(t, spawn.Queued, other.Status().State)
		for _, h := range []*spawn.Handle{first, other} {
			_, err := h.Wait()
			require.NoError(t, err)
		}
		require.Zero(t, f.deaths)
	})
}

func TestA11_TheWorkersOwnWords(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t)
		r, err := f.spawner.Run(t.Context(), f.worker("writer", "talks"))
		require.NoError(t, err)
		require.Equal(t, spawn.Succeeded, r.State)
		require.Equal(t, limiter.Status{Budget: 8}, f.limiter.Status())

		r, err = f.spawner.Run(t.Context(), f.worker("failing writer", "talks and fails"))
		require.Error(t, err)
		require.Equal(t, spawn.Dead, r.State, "it failed by itself")
		require.Equal(t, 1, r.Total)
		require.Equal(t, limiter.Status{Budget: 8}, f.limiter.Status())
	})
}
