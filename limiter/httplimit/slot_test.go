package httplimit_test

import (
	"context"
	"io"
	"net/http"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdoff-go/holdoff/limiter"
	"github.com/holdoff-go/holdoff/limiter/httplimit"
	"github.com/holdoff-go/holdoff/retry"
)

// A Base that panics, or that breaks its word, takes no slot along.
func TestTransport_ABaseThatPanicsLeavesItsSlot(t *testing.T) {
	for name, policy := range map[string]*retry.Policy{"once": nil, "with Retry": {MaxRetries: -1}} {
		t.Run(name, func(t *testing.T) {
			l := newLimiter(t, limiter.Config{})
			rt := &httplimit.Transport{Limiter: l, Acquire: true, Retry: policy, Base: memory(func(*http.Request) (*http.Response, error) {
				require.Equal(t, 1, l.Status().InFlight)
				panic("base")
			})}
			req, err := http.NewRequest(http.MethodGet, "http://upstream", nil)
			require.NoError(t, err)
			require.PanicsWithValue(t, "base", func() {
				_, _ = rt.RoundTrip(req) //nolint:bodyclose // there is none
			})
			require.Zero(t, l.Status().InFlight)
		})
	}
}

func TestTransport_ABaseThatReturnsNothingLeavesItsSlot(t *testing.T) {
	l := newLimiter(t, limiter.Config{})
	rt := &httplimit.Transport{Limiter: l, Acquire: true, Base: memory(func(*http.Request) (*http.Response, error) {
		return nil, nil
	})}
	req, err := http.NewRequest(http.MethodGet, "http://upstream", nil)
	require.NoError(t, err)
	_, err = rt.RoundTrip(req) //nolint:bodyclose // there is none
	require.EqualError(t, err, "httplimit: Transport.Base (httplimit_test.memory) returned neither a response nor an error")
	require.Zero(t, l.Status().InFlight)
}

// A callback of the limiter may end the goroutine that reports, as a test's FailNow
// does: its slot is given back all the same.
func TestTransport_ACallbackThatEndsTheGoroutineLeavesItsSlot(t *testing.T) {
	const refusal = `{"error":{"code":429,"message":"Rate limit exceeded"}}`
	whole := func(resp *http.Response) {
		_, _ = io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
	}
	part := func(resp *http.Response) {
		defer func() { _ = resp.Body.Close() }()
		_, _ = io.ReadFull(resp.Body, make([]byte, len(refusal)+len("data: ")))
	}
	cases := map[string]struct {
		status     int
		kind, body string
		then       func(*http.Response)
	}{
		"a refusal":                      {429, "application/json", refusal, whole},
		"a success without a body":       {204, "", "", whole},
		"a success":                      {200, "application/json", "{}", whole},
		"an error in a 200":              {200, "application/json", refusal, whole},
		"an error that EOF completes":    {200, "text/event-stream", "data: " + refusal, whole},
		"an error that Close completes":  {200, "text/event-stream", "data: " + refusal, part},
		"a success that Close completes": {200, "text/event-stream", "data: {" + strings.Repeat(" ", len(refusal)), part},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			answered, ended := false, false
			l := newLimiter(t, limiter.Config{OnEvent: func(limiter.Event) {
				if answered && !ended {
					ended = true
					runtime.Goexit()
				}
			}})
			l.ReportRateLimited(0) // so that a success is an event too
			rt := &httplimit.Transport{Limiter: urgent{l}, Acquire: true, Base: memory(func(*http.Request) (*http.Response, error) {
				answered = true
				body := io.NopCloser(strings.NewReader(c.body))
				if c.body == "" {
					body = http.NoBody
				}
				return response(c.status, header("Content-Type", c.kind), body), nil
			})}
			req, err := http.NewRequest(http.MethodGet, "http://upstream", nil)
			require.NoError(t, err)
			returned, done := false, make(chan struct{})
			go func() {
				defer close(done)
				resp, err := rt.RoundTrip(req)
				if err == nil {
					c.then(resp)
				}
				returned = true
			}()
			<-done
			require.True(t, ended)
			require.False(t, returned)
			require.Zero(t, l.Status().InFlight)
		})
	}
}

// urgent calls pass an assumed pause.
type urgent struct{ *limiter.Limiter }

func (l urgent) AcquireAs(ctx context.Context, _ limiter.Priority) (*limiter.Slot, error) {
	return l.Limiter.AcquireAs(ctx, limiter.Emergency)
}
