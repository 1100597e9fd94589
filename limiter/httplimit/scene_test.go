package httplimit_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdoff-go/holdoff/limiter"
	"github.com/holdoff-go/holdoff/retry"
)

func newLimiter(t *testing.T, cfg limiter.Config) *limiter.Limiter {
	t.Helper()
	l, err := limiter.New(cfg)
	require.NoError(t, err)
	return l
}

// serve starts a server on loopback, and returns its URL and a base transport
// that ends with the test.
func serve(t testing.TB, h http.HandlerFunc) (url string, base *http.Transport) {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	base = &http.Transport{}
	t.Cleanup(base.CloseIdleConnections)
	return server.URL, base
}

// answer returns a handler that answers every call alike.
func answer(status int, header http.Header, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for name, values := range header {
			w.Header()[name] = values
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

func header(pairs ...string) http.Header {
	h := http.Header{}
	for i := 0; i < len(pairs); i += 2 {
		h.Set(pairs[i], pairs[i+1])
	}
	return h
}

// get makes a call and reads the answer to its end.
func get(t *testing.T, client *http.Client, url string) (*http.Response, string) {
	t.Helper()
	resp, err := client.Get(url)
	require.NoError(t, err)
	body, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	return resp, string(body)
}

// A memory is a transport without a network: it behaves in a synctest bubble.
type memory func(*http.Request) (*http.Response, error)

func (f memory) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Body != nil {
		defer req.Body.Close()
	}
	return f(req)
}

func response(status int, h http.Header, body io.ReadCloser) *http.Response {
	if h == nil {
		h = http.Header{}
	}
	return &http.Response{StatusCode: status, Header: h, Body: body, ContentLength: -1, ProtoMajor: 1, ProtoMinor: 1}
}

// heard is a classifier that writes down what the standard one says.
type heard struct {
	clock    retry.Clock
	mu       sync.Mutex
	verdicts []retry.Verdict
}

func (h *heard) Classify(ctx context.Context, err error) retry.Verdict {
	v := retry.Ask(ctx, retry.Standard(h.clock), err)
	h.mu.Lock()
	defer h.mu.Unlock()
	if v.Class != retry.Unknown {
		h.verdicts = append(h.verdicts, v)
	}
	return v
}

func (h *heard) classes() []retry.Class {
	h.mu.Lock()
	defer h.mu.Unlock()
	var cs []retry.Class
	for _, v := range h.verdicts {
		cs = append(cs, v.Class)
	}
	return cs
}

// stormy returns a limiter in a storm whose pause is assumed, which the next call
// that is accepted ends: how a test sees a success.
func stormy(t *testing.T) *limiter.Limiter {
	t.Helper()
	l := newLimiter(t, limiter.Config{})
	l.ReportRateLimited(0)
	require.True(t, l.Status().Storm)
	return l
}

// left is what is left of the limiter's pause, to the second.
func left(l *limiter.Limiter) time.Duration {
	until := l.Status().BlockedUntil
	if until.IsZero() {
		return 0
	}
	return time.Until(until).Round(time.Second)
}
