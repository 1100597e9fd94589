package httplimit_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdoff-go/holdoff/limiter"
	"github.com/holdoff-go/holdoff/limiter/httplimit"
	"github.com/holdoff-go/holdoff/retry"
)

const quota = `{"error":{"code":"insufficient_quota","type":"insufficient_quota","message":"You exceeded your current quota."}}`

// A refusal counts, and is handed on, though its body is slow to come or never ends;
// and what comes of it later is the caller's.
func TestErrorBody_ASlowOneKeepsNobodyWaiting(t *testing.T) {
	cases := map[string]struct {
		now, later string // what comes at once, and after an hour
		every      time.Duration
		length     int64
		waited     time.Duration
		left       time.Duration // of the pause
	}{
		"nothing":               {later: `{"error":{}}`, waited: time.Second, left: 20 * time.Second},
		"the start":             {now: `{"error":{"code":"rate`, later: `_limit_exceeded"}}`, waited: time.Second, left: 20 * time.Second},
		"text":                  {now: "slow", later: " down", waited: time.Second, left: 20 * time.Second},
		"drop by drop":          {now: "slow down, please", later: ".", every: 300 * time.Millisecond, waited: time.Second, left: 20 * time.Second},
		"JSON":                  {now: `{"error":{}}`, later: "\n", left: 20 * time.Second},
		"JSON drop by drop":     {now: `{"e":0}`, later: "\n", every: 100 * time.Millisecond, waited: 600 * time.Millisecond, left: 20 * time.Second},
		"an array":              {now: `[{"error":{}}]` + "\n", later: "\n", left: 20 * time.Second},
		"the start of an array": {now: `[{"error":{}}`, later: "]", waited: time.Second, left: 20 * time.Second},
		"text of a length":      {now: "slow down", length: 9, left: 20 * time.Second},
		"a quota":               {now: quota, later: "\n"},
		"a quota drop by drop":  {now: quota, every: 5 * time.Millisecond, waited: time.Duration(len(quota)-1) * 5 * time.Millisecond},
		"as much as is read":    {now: strings.Repeat("x", 1<<20), left: 20 * time.Second},
	}
	for name, c := range cases {
		for how, policy := range map[string]*retry.Policy{"": nil, ", with Retry": {MaxRetries: -1}} {
			t.Run(name+how, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					body, w := io.Pipe()
					go func() {
						if c.every > 0 {
							for i := range len(c.now) {
								_, _ = io.WriteString(w, c.now[i:i+1])
								time.Sleep(c.every)
							}
						} else {
							_, _ = io.WriteString(w, c.now)
						}
						time.Sleep(time.Hour)
						_, _ = io.WriteString(w, c.later)
						_ = w.Close()
					}()
					l := newLimiter(t, limiter.Config{})
					client := &http.Client{Transport: &httplimit.Transport{Limiter: l, Acquire: true, Retry: policy, Base: memory(func(*http.Request) (*http.Response, error) {
						resp := response(429, header("Retry-After", "20"), body)
						if c.length > 0 {
							resp.ContentLength = c.length
						}
						return resp, nil
					})}}
					start := time.Now()
					resp, err := client.Get("http://upstream")
					require.NoError(t, err)
					require.Equal(t, c.waited, time.Since(start))
					require.Equal(t, c.left, left(l))
					require.Zero(t, l.Status().InFlight)

					all, err := io.ReadAll(resp.Body)
					require.NoError(t, err)
					require.Equal(t, c.now+c.later, string(all))
					require.NoError(t, resp.Body.Close())
				})
			})
		}
	}
}

// Close ends the read that was not waited for.
func TestErrorBody_CloseEndsAReadUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLimiter(t, limiter.Config{})
		body := &blocking{closed: make(chan struct{}), err: io.ErrClosedPipe}
		client := &http.Client{Transport: &httplimit.Transport{Limiter: l, Base: memory(func(*http.Request) (*http.Response, error) {
			return response(503, nil, body), nil
		})}}
		resp, err := client.Get("http://upstream")
		require.NoError(t, err)
		require.Equal(t, limiter.ReasonOverloaded, l.Status().Reason)
		read := make(chan error)
		go func() {
			_, err := resp.Body.Read(make([]byte, 1))
			read <- err
		}()
		synctest.Wait()
		require.NoError(t, resp.Body.Close())
		require.ErrorIs(t, <-read, io.ErrClosedPipe)
		_, err = resp.Body.Read(make([]byte, 1))
		require.ErrorIs(t, err, io.ErrClosedPipe)
	})
}

// A body that nobody reads is closed unread: the bubble ends only when its read has.
func TestErrorBody_CloseAloneEndsAReadUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		body := &blocking{closed: make(chan struct{}), n: 1, err: io.ErrClosedPipe}
		client := &http.Client{Transport: &httplimit.Transport{Limiter: newLimiter(t, limiter.Config{}), Base: memory(func(*http.Request) (*http.Response, error) {
			return response(500, nil, body), nil
		})}}
		resp, err := client.Get("http://upstream")
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
	})
}

// What a read that was not waited for ends with is the caller's next Read's.
func TestErrorBody_APanicIsItsReaders(t *testing.T) {
	body := func(wait time.Duration) io.ReadCloser {
		return io.NopCloser(readFunc(func([]byte) (int, error) {
			time.Sleep(wait)
			panic("body")
		}))
	}
	ask := func(l *limiter.Limiter, body io.ReadCloser) (*http.Response, error) {
		req, err := http.NewRequest(http.MethodGet, "http://upstream", nil)
		require.NoError(t, err)
		return (&httplimit.Transport{Limiter: l, Acquire: true, Base: memory(func(*http.Request) (*http.Response, error) {
			return response(500, nil, body), nil
		})}).RoundTrip(req)
	}
	t.Run("at once", func(t *testing.T) {
		l := newLimiter(t, limiter.Config{})
		require.PanicsWithValue(t, "body", func() {
			_, _ = ask(l, body(0)) //nolint:bodyclose // there is none
		})
		require.Zero(t, l.Status().InFlight)
	})
	t.Run("later", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			resp, err := ask(newLimiter(t, limiter.Config{}), body(time.Hour))
			require.NoError(t, err)
			require.PanicsWithValue(t, "body", func() { _, _ = resp.Body.Read(make([]byte, 1)) })
			require.NoError(t, resp.Body.Close())
		})
	})
	t.Run("an error", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			cut := errors.New("connection reset by peer")
			resp, err := ask(newLimiter(t, limiter.Config{}), io.NopCloser(readFunc(func(p []byte) (int, error) {
				time.Sleep(time.Hour)
				return copy(p, "no"), cut
			})))
			require.NoError(t, err)
			all, err := io.ReadAll(resp.Body)
			require.Equal(t, cut, err)
			require.Equal(t, "no", string(all))
			require.NoError(t, resp.Body.Close())
		})
	})
}

type readFunc func([]byte) (int, error)

func (f readFunc) Read(p []byte) (int, error) { return f(p) }

// On a real connection that the server holds open after the error.
func TestErrorBody_HeldOpenOverAConnection(t *testing.T) {
	gone := make(chan struct{})
	url, base := serve(t, func(w http.ResponseWriter, r *http.Request) {
		defer close(gone)
		answer(429, header("Retry-After", "20", "Content-Type", "application/json"), `{"error":{}}`)(w, r)
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	})
	l := newLimiter(t, limiter.Config{})
	resp, err := (&http.Client{Transport: &httplimit.Transport{Limiter: l, Base: base}}).Get(url)
	require.NoError(t, err)
	require.Equal(t, 20*time.Second, left(l))
	all := make([]byte, len(`{"error":{}}`))
	_, err = io.ReadFull(resp.Body, all)
	require.NoError(t, err)
	require.Equal(t, `{"error":{}}`, string(all))
	require.NoError(t, resp.Body.Close())
	<-gone
}
