package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/holdoff-go/holdoff/internal/provider"
	"github.com/holdoff-go/holdoff/spawn"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// play tells the story in virtual time and without a network.
func play(t *testing.T, cfg provider.Config) (story string, err error) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		p, perr := provider.New(cfg)
		require.NoError(t, perr)
		defer p.Close()
		var out bytes.Buffer
		err = tell(t.Context(), stage{p, "http://provider/v1", p.Transport()}, &out)
		story = out.String()
	})
	return story, err
}

func TestStory(t *testing.T) {
	story, err := play(t, upstream(100*time.Millisecond))
	require.NoError(t, err)
	for _, line := range []string{
		"   0.00 s  report runs on work, attempt 1\n",
		"the message \"half way\" is sent\n",
		"work is used up: parked for 40m0s, as the provider said\n",
		"the workers move from work to home\n",
		"   0.20 s  report runs on home, attempt 2\n",
		"   0.40 s  report is succeeded\n",
		"  report#1  on work  quota_exhausted",
		"  report#2  on home  accepted",
		" tokens in 1 attempt; 2 calls accepted, 1 refused\n",
		" tokens in 1 attempt; 2 calls accepted, 0 refused\n",
		"The message: done in report#1, and sent 1 time.\n",
	} {
		require.Contains(t, story, line)
	}
	require.NotContains(t, story, "sk-demo", "no secret shows")
}

func TestStory_ThatWentWrong(t *testing.T) {
	for name, cfg := range map[string]provider.Config{
		"nobody is used up": {},
		"both are":          {Script: provider.Always(provider.QuotaExhausted())},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := play(t, cfg)
			require.ErrorIs(t, err, errWrong)
		})
	}
	require.NotEmpty(t, wrong(spawn.Result{State: spawn.Succeeded, Total: 2}, nil, 2, nil))
	require.ErrorContains(t, errors.Join(wrong(spawn.Result{}, nil, 2, nil)...), "sent 2 times")
}

func TestRun_OnLoopback(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, run(t.Context(), []string{"-latency", "1ms"}, &out))
	require.Contains(t, out.String(), "report is succeeded")
}

func TestRun_NamesWhatMakesNoSense(t *testing.T) {
	require.EqualError(t, run(t.Context(), []string{"x"}, io.Discard), `unexpected argument "x"; see -h`)
	require.EqualError(t, run(t.Context(), []string{"-latency", "-1s"}, io.Discard), "-latency is -1s: it must not be negative; see -h")
	require.ErrorIs(t, run(t.Context(), []string{"-h"}, io.Discard), flag.ErrHelp)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, run(ctx, nil, io.Discard), context.Canceled)
}
