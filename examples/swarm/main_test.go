package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/holdoff-go/holdoff/examples/internal/cli"
	"github.com/holdoff-go/holdoff/retry"
	"github.com/holdoff-go/holdoff/spawn"
	"github.com/holdoff-go/holdoff/spawn/swarm"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// given parses args for a run in virtual time and without a network.
func given(t *testing.T, args ...string) options {
	t.Helper()
	o, err := parse(args, io.Discard)
	require.NoError(t, err)
	o.inMemory, o.scale = true, 1
	return o
}

// play performs o and returns its figures.
func play(t *testing.T, ctx context.Context, o options) (figures, error) {
	t.Helper()
	o.json = true
	var out bytes.Buffer
	err := perform(ctx, o, &out)
	var f figures
	require.NoError(t, json.Unmarshal(out.Bytes(), &f), out.String())
	return f, err
}

func TestSwarm_LosesNothing(t *testing.T) {
	for name, args := range map[string][]string{
		"as it comes":      nil,
		"another seed":     {"-seed", "7"},
		"all at once":      {"-pace", "0s", "-cap", "60"},
		"one at a time":    {"-cap", "1", "-tasks", "12"},
		"a storm of 330 s": {"-storm", "330s"},
		"no storm":         {"-storm", "0s"},
		"one task":         {"-tasks", "1", "-storm", "0s"},
		"a storm over all": {"-cap", "4", "-tasks", "4", "-pace", "20s", "-burst", "1", "-storm", "330s"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o := given(t, args...)
				f, err := play(t, t.Context(), o)
				require.NoError(t, err)
				require.Equal(t, o.tasks, f.Done)
				require.Equal(t, []string{}, f.Failures, "an empty list, and not null")
				require.Equal(t, o.tasks, f.Accepted, "nothing was paid for twice")
				require.Equal(t, f.Suspended, f.Resumed)
				require.Equal(t, int64(f.Refused), f.Suspended)
				require.LessOrEqual(t, f.MaxInFlight, min(o.cap, 16))
				i := 0
				for name := range tasks(o.tasks) {
					require.Equal(t, result{name, "Here is what " + name + " asked for."}, f.Results[i])
					i++
				}
				if o.storm > 0 {
					require.Positive(t, f.Refused)
					require.LessOrEqual(t, f.Refused, 25)
				}
			})
		})
	}
}

func TestSwarm_GoesOnFromItsStore(t *testing.T) {
	path := filepath.Join(t.TempDir(), "results.jsonl")
	synctest.Test(t, func(t *testing.T) {
		o := given(t, "-store", path)
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		first, err := play(t, ctx, o)
		require.ErrorIs(t, err, errInterrupted)
		require.Positive(t, first.Done)
		require.Equal(t, o.tasks, first.Done+first.Canceled)
		require.Len(t, first.Results, first.Done)

		again, err := play(t, t.Context(), o)
		require.NoError(t, err)
		require.Equal(t, o.tasks, again.Done)
		require.Equal(t, first.Done, again.Stored)
		require.Equal(t, o.tasks-first.Done, again.Accepted, "only what was missing")

		third, err := play(t, t.Context(), o)
		require.NoError(t, err)
		require.Zero(t, third.Calls)
	})
}

func TestSwarm_SaysWhatWasLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		// Given a storm that no patience outlasts
		o := given(t, "-tasks", "2", "-burst", "1", "-pace", "10s", "-storm", "100h")
		f, err := play(t, t.Context(), o)
		require.ErrorIs(t, err, errLost)
		require.ErrorContains(t, err, "1 of 2")
		require.Equal(t, 1, f.Dead)
		require.Len(t, f.Failures, 1)
		require.Contains(t, f.summary(), "task-2: rate_limited after")
	})
}

func TestRun_ForAReader(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, run(t.Context(), []string{"-tasks", "9", "-burst", "4", "-pace", "3s", "-storm", "10s", "-scale", "200"}, &out))
	require.Contains(t, out.String(), "9 tasks of one call each, at most 24 of them alive")
	for line := range strings.Lines(out.String()) {
		require.LessOrEqual(t, len(line)-1, cli.Width, line)
	}
	require.Contains(t, out.String(), "is put off until")
	require.Contains(t, out.String(), "9 of 9 tasks are done, and their results are in order.\n")
	require.NotContains(t, out.String(), "\x1b")
}

func TestParse_NamesWhatMakesNoSense(t *testing.T) {
	for want, args := range map[string][]string{
		`unexpected argument "x"; see -h`:                  {"x"},
		`"abc" for flag -cap: want a whole number; see -h`: {"-cap", "abc"},
		"-tasks is 0":           {"-tasks", "0"},
		"-tasks is 10001":       {"-tasks", "10001"},
		"-cap is 0":             {"-cap", "0"},
		"-burst is -1":          {"-burst", "-1"},
		"-pace is -1s":          {"-pace", "-1s"},
		"-storm is -1s":         {"-storm", "-1s"},
		"-scale is NaN":         {"-scale", "NaN"},
		"not defined: -nothing": {"-nothing"},
	} {
		t.Run(want, func(t *testing.T) {
			require.ErrorContains(t, run(t.Context(), args, io.Discard), want)
		})
	}
	var help bytes.Buffer
	require.ErrorIs(t, run(t.Context(), []string{"-h"}, &help), flag.ErrHelp)
	require.Contains(t, help.String(), "-store file")
	for line := range strings.Lines(strings.ReplaceAll(help.String(), "    \t", strings.Repeat(" ", 8))) {
		require.LessOrEqual(t, len(line)-1, cli.Width, line)
	}
	require.ErrorIs(t, run(t.Context(), []string{"-store", filepath.Join(t.TempDir(), "no", "such")}, io.Discard), os.ErrNotExist)
}

func TestScreen_RedrawsABar(t *testing.T) {
	var out strings.Builder
	s := &screen{w: &out}
	s.show(65*time.Second, swarm.Progress{Total: 60, Done: 30, Running: 10, BackingOff: 5, Dead: 1, ETA: time.Minute}, "open")
	lines := strings.Split(out.String(), "\x1b[K\n")
	require.Equal(t, []string{
		"   1:05  [" + strings.Repeat("█", 30) + "×" + strings.Repeat("▓", 10) + strings.Repeat("░", 5) + strings.Repeat("·", 14) + "]",
		"         30 of 60 done, 10 running, 5 backing off, 1 dead, 1:00 to go",
		"         limiter open",
		"",
	}, lines)
	out.Reset()
	s.show(66*time.Second, swarm.Progress{Total: 7, Done: 7}, "open")
	require.True(t, strings.HasPrefix(out.String(), "\x1b[3A   1:06  ["+strings.Repeat("█", 60)+"]"))
	out.Reset()
	many := swarm.Progress{Total: 10_000, Done: 4_000, Running: 1_000, BackingOff: 2_000, Parked: 100, Dead: 100, Canceled: 100, ETA: time.Hour}
	s.show(time.Hour, many, strings.Repeat("x", 100))
	for line := range strings.SplitSeq(strings.TrimPrefix(out.String(), "\x1b[3A"), "\x1b[K\n") {
		require.LessOrEqual(t, utf8.RuneCountInString(line), cli.Width, line)
	}
	require.Equal(t, "["+strings.Repeat("·", 60)+"]", bar(swarm.Progress{}))
}

func TestJournal_WritesALineForEachChange(t *testing.T) {
	var out strings.Builder
	j := &journal{w: &out}
	began := time.Unix(0, 0)
	event := func(at time.Duration, kind swarm.EventKind, e spawn.Event) {
		e.Time = began.Add(at)
		j.event(at, swarm.Event[string]{Kind: kind, Key: "t1", Event: e})
	}
	event(0, swarm.EventStarted, spawn.Event{})
	event(time.Second, swarm.EventSuspended, spawn.Event{Until: began.Add(4 * time.Second), Verdict: retry.Verdict{Class: retry.RateLimited}})
	event(4*time.Second, swarm.EventResumed, spawn.Event{Attempt: 2})
	event(5*time.Second, swarm.EventAbandoned, spawn.Event{State: spawn.Dead, Err: errors.New("no")})
	last := spawn.Event{Until: began.Add(17 * time.Second), Time: began.Add(5 * time.Second), Attempt: retries, Verdict: retry.Verdict{Class: retry.RateLimited}}
	for _, p := range []swarm.Progress{{BackingOff: 1}, {BackingOff: 1, Queued: 1}} {
		j.event(5*time.Second, swarm.Event[string]{Kind: swarm.EventSuspended, Key: "t1", Event: last, Progress: p})
	}
	j.show(6*time.Second, swarm.Progress{Total: 10, Done: 1}, "open; budget 8")
	j.show(7*time.Second, swarm.Progress{Total: 10, Done: 1}, "open; budget 9")
	require.Equal(t, strings.Join([]string{
		"   0:01  t1 is put off until 0:04: rate_limited",
		"   0:04  t1 is back, for attempt 2",
		"   0:05  t1 is dead: no",
		"   0:05  t1 is put off until 0:17: rate_limited",
		"   0:05  t1 is put off: rate_limited (its last retry: others probe first)",
		"   0:06  limiter open; budget 8",
		"   0:06  1 of 10 done, 0 running, 0 backing off",
		"",
	}, "\n"), out.String())
}
