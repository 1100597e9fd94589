package stage

import (
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

func TestOpen(t *testing.T) {
	s, err := Open(1000, io.Discard, provider.Always(provider.InvalidKey()))
	require.NoError(t, err)
	defer s.Close()
	require.Equal(t, http.StatusUnauthorized, call(t, s))
	_, err = Open(0, io.Discard, nil)
	require.Error(t, err)
}
