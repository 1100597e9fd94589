package stage

import (
	"context"
	"errors"
	"flag"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/holdoff-go/holdoff/internal/provider"
	"github.com/holdoff-go/holdoff/spawn"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func call(t *testing.T, s *Stage) int {
	t.Helper()
	c := &http.Client{Transport: s.Transport}
	resp, err := c.Post(s.URL+"/chat/completions", "application/json", strings.NewReader(`{"model":"m","messages":[{"role":"user","content":"hello"}]}`))
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	return resp.StatusCode
}

func TestStorm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var said strings.Builder
		s, err := InMemory(&said, nil)
		require.NoError(t, err)
		defer s.Close()
		require.Equal(t, http.StatusOK, call(t, s))
		time.Sleep(stormFrom)
		require.Equal(t, http.StatusTooManyRequests, call(t, s))
		time.Sleep(stormUntil)
		require.Equal(t, http.StatusOK, call(t, s))
		s.Sum([]spawn.Result{{State: spawn.Succeeded}, {State: spawn.Dead}})
		require.Equal(t, "  0:47  1 of 2 succeeded; the provider accepted 2 calls and refused 1\n", said.String())
	})
}

func TestRun(t *testing.T) {
	for name, tt := range map[string]struct {
		args   []string
		err    string
		played bool
	}{
		"as it comes":      {nil, "no applause", true},
		"faster":           {[]string{"-scale", "1000"}, "no applause", true},
		"slower than life": {[]string{"-scale", "0.5"}, "-scale is 0.5: it must be 1 to 1000; see -h", false},
		"argument":         {[]string{"extra"}, `unexpected argument "extra"; see -h`, false},
		"unknown flag":     {[]string{"-nothing"}, "flag provided but not defined: -nothing; see -h", false},
		"help":             {[]string{"-h"}, flag.ErrHelp.Error(), false},
	} {
		t.Run(name, func(t *testing.T) {
			played := false
			err := run(t.Context(), "play", tt.args, io.Discard, provider.Always(provider.InvalidKey()), func(_ context.Context, s *Stage) error {
				played = true
				require.Equal(t, http.StatusUnauthorized, call(t, s))
				return errors.New("no applause")
			})
			require.EqualError(t, err, tt.err)
			require.Equal(t, tt.played, played)
		})
	}
}

func TestRun_Interrupted(t *testing.T) {
	why := errors.New("the roof leaks")
	ctx, cancel := context.WithCancelCause(t.Context())
	err := run(ctx, "play", nil, io.Discard, nil, func(ctx context.Context, s *Stage) error {
		cancel(why)
		return errors.Join(ctx.Err(), ctx.Err())
	})
	require.Equal(t, why, err)
}
