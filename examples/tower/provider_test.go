package main

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The provider alone, as a client of one's own meets it.
func TestProvider_refusesThenTells(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	in, out := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		ended <- run(ctx, []string{"-provider", "-listen", "127.0.0.1:0", "-storm", "1h", "-retry-after", "20s"}, out)
		_ = out.Close()
	}()
	lines := bufio.NewScanner(in)
	require.True(t, lines.Scan())
	base, ok := strings.CutPrefix(lines.Text(), "OPENAI_BASE_URL=")
	require.True(t, ok)
	require.True(t, lines.Scan())
	require.Equal(t, "It refuses every call for 1h0m0s from the first one on, and then accepts.", lines.Text())
	require.True(t, lines.Scan())

	body := strings.NewReader(`{"model":"m","messages":[{"role":"user","content":"hello"}]}`)
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	resp, err := (&http.Client{Transport: transport}).Post(base+"/chat/completions", "application/json", body)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	require.Equal(t, http.StatusTooManyRequests, resp.StatusCode)
	require.Equal(t, "20", resp.Header.Get("Retry-After"))

	cancel()
	require.True(t, lines.Scan())
	require.Equal(t, "1 calls, 0 accepted, 1 refused", lines.Text())
	require.NoError(t, <-ended)
}
