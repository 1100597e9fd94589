package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"io"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/holdoff-go/holdoff/examples/internal/cli"
	"github.com/holdoff-go/holdoff/internal/provider"
	"github.com/holdoff-go/holdoff/limiter"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// defaults are the flags' own, in virtual time and without a network.
func defaults(t *testing.T, args ...string) options {
	t.Helper()
	o, err := parse(args, io.Discard)
	require.NoError(t, err)
	o.inMemory, o.scale = true, 1
	return o
}

// stage performs every tower in virtual time and returns the figures by tower.
func stage(t *testing.T, o options) (map[string]figures, error) {
	t.Helper()
	o.json = true
	var out bytes.Buffer
	err := perform(t.Context(), o, &out)
	var report struct{ Towers []figures }
	require.NoError(t, json.Unmarshal(out.Bytes(), &report), out.String())
	got := make(map[string]figures)
	for _, f := range report.Towers {
		got[f.Tower] = f
	}
	return got, err
}

func TestTower_plainSpawnersLoseAllAndHoldoffLosesNobody(t *testing.T) {
	tests := map[string]struct {
		args       []string
		quickDies  bool
		maxRefused int // under holdoff
	}{
		"nothing stated":              {[]string{"-retry-after", "none"}, true, 8},
		"mixed, as the default is":    {nil, true, 8},
		"stated, which SDKs wait for": {[]string{"-retry-after", "15s"}, false, 8},
		"another seed":                {[]string{"-seed", "7"}, true, 8},
		"a longer storm":              {[]string{"-storm", "5m"}, true, 14},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o := defaults(t, tt.args...)
				got, err := stage(t, o)
				require.NoError(t, err)
				require.Len(t, got, 3)
				turns := o.workers * o.turns

				plain := got["plain"]
				require.Equal(t, 0, plain.Finished)
				require.Equal(t, o.workers, plain.Dead)
				require.Equal(t, o.workers, plain.Refused, "each dies of its first refusal")
				require.Positive(t, plain.LostTurns)
				require.Equal(t, plain.Accepted, plain.LostTurns)

				if tt.quickDies {
					quick := got["quick_retries"]
					require.Equal(t, o.workers, quick.Dead)
					require.Equal(t, 3*o.workers, quick.Refused, "each dies of three in a row")
				}

				held := got["holdoff"]
				require.Equal(t, o.workers, held.Finished)
				require.Zero(t, held.Dead+held.Unfinished+held.LostTurns)
				require.Equal(t, turns, held.Accepted, "no turn is made twice")
				require.LessOrEqual(t, held.Refused, tt.maxRefused)

				for _, f := range got {
					require.Equal(t, f.Calls, f.Accepted+f.Refused+f.Failed)
					require.Zero(t, f.Failed)
				}
			})
		})
	}
}

// The figures are honest: the very worker that lives under holdoff dies when the
// limiter never pauses and never makes anybody take turns, ladder and all.
func TestTower_withTheLimiterLeftOutTheSameWorkersDie(t *testing.T) {
	perform := func(t *testing.T, cfg limiter.Config) figures {
		var f figures
		synctest.Test(t, func(t *testing.T) {
			o := defaults(t, "-retry-after", "none")
			var err error
			f, err = play(t.Context(), o, act{build: func(s *scene) (tower, error) {
				cfg.Clock = s.clock
				return newHeld(s, cfg)
			}}, silent{})
			require.NoError(t, err)
		})
		return f
	}
	with := perform(t, limiter.Config{})
	require.Equal(t, 6, with.Finished)

	without := perform(t, limiter.Config{Pause: -1, Budget: 1000})
	require.Zero(t, without.Finished)
	require.Equal(t, 6, without.Dead)
	require.Equal(t, 4*6, without.Refused, "each climbs the ladder by itself")
}

func TestTower_withoutAStormAllFinishEverywhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		got, err := stage(t, defaults(t, "-storm", "0s", "-workers", "3", "-turns", "2"))
		require.NoError(t, err)
		for name, f := range got {
			require.Equal(t, 3, f.Finished, name)
			require.Equal(t, 6, f.Calls, name)
			require.Zero(t, f.Refused, name)
		}
	})
}

func TestTower_saysSoWhenHoldoffLosesAWorker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		// Nobody else is there to probe for it: a lone worker dies after 21 s.
		got, err := stage(t, defaults(t, "-workers", "1", "-retry-after", "none"))
		require.ErrorIs(t, err, errLost)
		require.EqualError(t, err, "holdoff lost a worker: 1 of 1 did not finish")
		require.Equal(t, 1, got["holdoff"].Dead)
	})
}

func TestTower_endsWhenInterrupted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		began := time.Now()
		var out bytes.Buffer
		err := perform(ctx, defaults(t, "-storm", "1h"), &out)
		require.EqualError(t, err, "interrupted")
		require.Equal(t, 10*time.Second, time.Since(began))
		require.Contains(t, out.String(), "workers unfinished")
	})
}

// requireNarrow requires that a terminal of 80 columns wraps nothing.
func requireNarrow(t *testing.T, text string) {
	t.Helper()
	for line := range strings.Lines(text) {
		require.LessOrEqual(t, utf8.RuneCountInString(strings.TrimSuffix(line, "\n")), cli.Width, line)
	}
}

func TestPerform_proseIsNarrow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		o := defaults(t)
		require.NoError(t, perform(t.Context(), o, &out))
		prose := regexp.MustCompile(`(?m)^   +\d+:\d\d  .*\n`).ReplaceAllString(out.String(), "")
		requireNarrow(t, prose)
		require.Contains(t, prose, "3. Under holdoff: the refused back off, nobody new starts, one probes for all.\n")
		require.Contains(t, prose, "holdoff lost nobody")
	})
	fast := defaults(t)
	fast.scale = 15
	requireNarrow(t, cli.Wrap(preface(fast)))
}

func TestRun_overLoopback(t *testing.T) {
	var out bytes.Buffer
	err := run(t.Context(), []string{"-scale", "60", "-workers", "4", "-turns", "3"}, &out)
	require.NoError(t, err)
	require.Contains(t, out.String(), "The clock runs 60 times as fast as life")
	require.Contains(t, out.String(), "the pause of 60 s takes 1 s")
	require.Contains(t, out.String(), "holdoff lost nobody")
	require.Regexp(t, `workers finished .* 4 of 4\n`, out.String())
	require.Regexp(t, `limiter  paused until \d:\d\d \(rate_limited\)`, out.String())
	require.NotContains(t, out.String(), "\x1b", "no terminal, no escapes")
}

func TestRun_drivesAnyEndpoint(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "sk-secret")
	sim, err := provider.Start(provider.Config{})
	require.NoError(t, err)
	defer sim.Close()

	var out bytes.Buffer
	args := []string{"-url", sim.URL(), "-model", "m-1", "-workers", "3", "-turns", "1"}
	require.NoError(t, run(t.Context(), args, &out))
	require.Regexp(t, `workers finished +3 of 3\n`, out.String())
	require.Regexp(t, `accepted +3\n`, out.String())
	require.Contains(t, out.String(), "in real time")
	require.NotContains(t, out.String(), "sk-secret")
	require.Equal(t, 3, sim.Counts().Keys["sk-secret"].Accepted)
}

func TestRun_aDeadEndpointRefusesNobody(t *testing.T) {
	sim, err := provider.Start(provider.Config{})
	require.NoError(t, err)
	sim.Close() // nobody listens there now

	var out bytes.Buffer
	synctest.Test(t, func(t *testing.T) {
		o, err := parse([]string{"-url", sim.URL(), "-model", "m-1", "-workers", "1"}, io.Discard)
		require.NoError(t, err)
		require.ErrorIs(t, perform(t.Context(), o, &out), errLost)
	})
	require.Regexp(t, `refused +0\n`, out.String())
	require.Regexp(t, `failed +[1-9]\n`, out.String())
	_, said, _ := strings.Cut(out.String(), "\n\n")
	require.NotContains(t, said, sim.URL())
}

func TestRun_neverPrintsTheKey(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "sk-secret")
	denial := provider.InvalidKey()
	denial.Message = "Incorrect API key provided: sk-secret."
	sim, err := provider.Start(provider.Config{Script: provider.Always(denial)})
	require.NoError(t, err)
	defer sim.Close()

	for _, more := range [][]string{nil, {"-json"}} {
		var out bytes.Buffer
		args := append([]string{"-url", sim.URL(), "-model", "m-1", "-workers", "1", "-turns", "1"}, more...)
		err = run(t.Context(), args, &out)
		require.ErrorIs(t, err, errLost)
		require.NotContains(t, out.String()+err.Error(), "sk-secret")
	}
}

func TestRun_badFlags(t *testing.T) {
	tests := map[string]struct {
		args []string
		want string
	}{
		"no workers":          {[]string{"-workers", "0"}, "-workers is 0: it must be 1 to 1000"},
		"no whole number":     {[]string{"-workers", "abc"}, `invalid value "abc" for flag -workers: want a whole number`},
		"no turns":            {[]string{"-turns", "-1"}, "-turns is -1: it must be at least 1"},
		"negative storm":      {[]string{"-storm", "-1s"}, "-storm is -1s: it must not be negative"},
		"slower than life":    {[]string{"-scale", "0.5"}, "-scale is 0.5: it must be 1 to 1000"},
		"no number":           {[]string{"-scale", "NaN"}, "-scale is NaN: it must be 1 to 1000"},
		"unknown":             {[]string{"-nothing"}, "flag provided but not defined: -nothing"},
		"retry-after":         {[]string{"-retry-after", "soon"}, `invalid value "soon" for flag -retry-after: want none, mixed or a time such as 20s`},
		"argument":            {[]string{"now"}, `unexpected argument "now"`},
		"model without url":   {[]string{"-model", "m"}, "-model needs -url"},
		"url without model":   {[]string{"-url", "http://localhost/v1"}, "-url needs -model, the name of a model the endpoint has"},
		"url with storm":      {[]string{"-url", "http://localhost/v1", "-model", "m", "-storm", "9s"}, "-storm changes nothing with -url: leave it out"},
		"provider with json":  {[]string{"-provider", "-json"}, "-json changes nothing with -provider: leave it out"},
		"provider with scale": {[]string{"-provider", "-scale", "2"}, "-scale changes nothing with -provider: leave it out"},
		"listen alone":        {[]string{"-listen", "127.0.0.1:0"}, "-listen needs -provider"},
		"no address":          {[]string{"-provider", "-listen", "8089"}, `-listen is "8089": it must be a host and a port, such as 127.0.0.1:8089`},
		"provider with url":   {[]string{"-url", "http://localhost/v1", "-model", "m", "-provider"}, "-provider and -url contradict each other: give one"},
		"no url":              {[]string{"-url", "", "-model", "m"}, "-url must be an http or https URL such as https://api.openai.com/v1, without a user or password"},
		"url without a host":  {[]string{"-url", "localhost"}, "-url must be an http or https URL such as https://api.openai.com/v1, without a user or password"},
		"url with a password": {[]string{"-url", "http://a:b@localhost/v1", "-model", "m"}, "-url must be an http or https URL such as https://api.openai.com/v1, without a user or password"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			require.EqualError(t, run(t.Context(), tt.args, &out), tt.want+"; see -h")
			require.Empty(t, out.String())
		})
	}
}

func TestRun_help(t *testing.T) {
	var out bytes.Buffer
	require.ErrorIs(t, run(t.Context(), []string{"-h"}, &out), flag.ErrHelp)
	for _, name := range []string{"-workers", "-turns", "-storm", "-scale", "-seed", "-retry-after", "-json", "-url", "-model", "-provider", "-listen"} {
		require.Contains(t, out.String(), name)
	}
	requireNarrow(t, strings.ReplaceAll(out.String(), "    \t", strings.Repeat(" ", 8)))
}

func TestParse_urlIsCompleted(t *testing.T) {
	for given, want := range map[string]string{
		"https://api.openai.com/v1":                "https://api.openai.com/v1/chat/completions",
		"https://api.openai.com/v1/":               "https://api.openai.com/v1/chat/completions",
		"http://localhost:11434/chat/completions":  "http://localhost:11434/chat/completions",
		"https://host/openai/v1?api-version=1.2.3": "https://host/openai/v1/chat/completions?api-version=1.2.3",
	} {
		o, err := parse([]string{"-url", given, "-model", "m"}, io.Discard)
		require.NoError(t, err)
		require.Equal(t, want, o.url)
		require.EqualValues(t, 1, o.scale)
	}
}

func TestFastClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		c := newClock(15)
		<-c.After(time.Minute)
		require.Equal(t, 4*time.Second, time.Since(began))
		require.Equal(t, began.Add(time.Minute), c.Now())
	})
}
