package httplimit_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdoff-go/holdoff/limiter"
	"github.com/holdoff-go/holdoff/limiter/httplimit"
	"github.com/holdoff-go/holdoff/retry"
)

// What the caller gets is what it would have got without the Transport.
func TestTransport_HandsOnTheResponse(t *testing.T) {
	large := strings.Repeat("0123456789abcdef", 16<<10) // 256 KiB, beyond what is looked at
	withTrailer := func(status int, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Trailer", "X-Sum")
			w.WriteHeader(status)
			_, _ = io.WriteString(w, body)
			w.Header().Set("X-Sum", "42")
		}
	}
	broken := func(status int) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100")
			w.WriteHeader(status)
			_, _ = io.WriteString(w, `{"error":{`)
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}
	}
	cases := map[string]struct {
		method  string
		handler http.HandlerFunc
	}{
		"JSON":                    {"GET", answer(200, header("Content-Type", "application/json"), `{"id":"1"}`)},
		"text":                    {"GET", answer(200, header("Content-Type", "text/plain"), "hello")},
		"a large body":            {"GET", answer(200, header("Content-Type", "application/json"), `{"a":"`+large+`"}`)},
		"events":                  {"GET", answer(200, header("Content-Type", "text/event-stream"), "data: a\n\ndata: b\n\n")},
		"no content":              {"GET", answer(204, nil, "")},
		"an empty body":           {"GET", answer(200, nil, "")},
		"HEAD":                    {"HEAD", answer(200, header("Content-Length", "12"), "")},
		"HEAD, refused":           {"HEAD", answer(429, header("Retry-After", "1"), "")},
		"a trailer":               {"GET", withTrailer(200, "hello")},
		"refused":                 {"GET", answer(429, header("Retry-After", "20"), `{"error":{"code":"rate_limit_exceeded"}}`)},
		"refused at length":       {"GET", answer(429, nil, large)},
		"refused, with a trailer": {"GET", withTrailer(429, "no")},
		"refused at length, so":   {"GET", withTrailer(429, large)},
		"refused, without a body": {"GET", answer(429, nil, "")},
		"not found":               {"GET", answer(404, nil, "404 page not found")},
		"broken midway":           {"GET", broken(200)},
		"refused, broken midway":  {"GET", broken(429)},
		"a redirect to be followed": {"GET", func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/" {
				http.Redirect(w, r, "/there", http.StatusFound)
				return
			}
			_, _ = io.WriteString(w, "there")
		}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			url, base := serve(t, c.handler)
			ask := func(rt http.RoundTripper) (*http.Response, string, error) {
				req, err := http.NewRequest(c.method, url, nil)
				require.NoError(t, err)
				resp, err := (&http.Client{Transport: rt}).Do(req)
				require.NoError(t, err)
				defer func() { require.NoError(t, resp.Body.Close()) }()
				body, err := io.ReadAll(resp.Body)
				resp.Header.Del("Date")
				return resp, string(body), err
			}
			want, wantBody, wantErr := ask(base)
			got, gotBody, gotErr := ask(&httplimit.Transport{Limiter: newLimiter(t, limiter.Config{}), Base: base})

			require.Equal(t, wantBody, gotBody)
			require.Equal(t, wantErr, gotErr)
			require.Equal(t, want.Status, got.Status)
			require.Equal(t, want.Header, got.Header)
			require.Equal(t, want.Trailer, got.Trailer)
			require.Equal(t, want.ContentLength, got.ContentLength)
			require.Equal(t, want.Uncompressed, got.Uncompressed)
		})
	}
}

func TestTransport_ReportsWhatAnAnswerMeans(t *testing.T) {
	quota := `{"error":{"code":"insufficient_quota","type":"insufficient_quota","message":"You exceeded your current quota."}}`
	cases := map[string]struct {
		handler http.HandlerFunc
		reason  limiter.Reason // why the limiter is shut afterwards
		left    time.Duration
	}{
		"429 states a time":   {answer(429, header("Retry-After", "20"), ""), limiter.ReasonRateLimited, 20 * time.Second},
		"429 states none":     {answer(429, nil, "slow down"), limiter.ReasonRateLimited, time.Minute},
		"503":                 {answer(503, nil, "busy"), limiter.ReasonOverloaded, 10 * time.Second},
		"529 states a time":   {answer(529, header("Retry-After", "7"), ""), limiter.ReasonOverloaded, 7 * time.Second},
		"a quota is no pause": {answer(429, header("Content-Type", "application/json"), quota), limiter.ReasonNone, 0},
		"401":                 {answer(401, nil, ""), limiter.ReasonNone, 0},
		"400":                 {answer(400, nil, "rate limit is not a field"), limiter.ReasonNone, 0},
		"500":                 {answer(500, nil, ""), limiter.ReasonNone, 0},
		"200":                 {answer(200, nil, "HTTP 429 rate limit exceeded"), limiter.ReasonNone, 0},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			l := newLimiter(t, limiter.Config{Name: "upstream"})
			url, base := serve(t, c.handler)
			get(t, &http.Client{Transport: &httplimit.Transport{Limiter: l, Base: base}}, url)

			require.Equal(t, c.reason, l.Status().Reason)
			require.Equal(t, c.left, left(l))
		})
	}
}

func TestTransport_ReportsAcceptance(t *testing.T) {
	cases := map[string]struct {
		handler  http.HandlerFunc
		accepted bool
	}{
		"200":           {answer(200, nil, "hello"), true},
		"204":           {answer(204, nil, ""), true},
		"200, no body":  {answer(200, nil, ""), true},
		"200, JSON":     {answer(200, header("Content-Type", "application/json"), `{"id":1}`), true},
		"200, bad JSON": {answer(200, header("Content-Type", "application/json"), `{"id":`), true},
		"200, events":   {answer(200, header("Content-Type", "text/event-stream"), "data: {}\n\n"), true},
		"200, gzip":     {answer(200, header("Content-Encoding", "br", "Content-Type", "application/json"), "\x00"), true},
		"304":           {answer(304, nil, ""), true},
		"400":           {answer(400, nil, "no"), false},
		"401":           {answer(401, nil, "no"), false},
		"500":           {answer(500, nil, "no"), false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			l := stormy(t)
			url, base := serve(t, c.handler)
			get(t, &http.Client{Transport: &httplimit.Transport{Limiter: l, Base: base}}, url)
			require.Equal(t, c.accepted, !l.Status().Storm)
		})
	}
}

func TestTransport_TheNetworkSaysNothingAboutTheUpstream(t *testing.T) {
	l := stormy(t)
	url, base := serve(t, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	_, err := (&http.Client{Transport: &httplimit.Transport{Limiter: l, Base: base}}).Get(url) //nolint:bodyclose // there is none
	require.ErrorIs(t, err, io.EOF)
	require.True(t, l.Status().Storm)
	require.Equal(t, time.Minute, left(l))
}

// A refusal whose caller has just left is a refusal all the same.
func TestTransport_ARefusalOfACallThatWasCancelledCounts(t *testing.T) {
	l := newLimiter(t, limiter.Config{})
	ctx, cancel := context.WithCancel(t.Context())
	client := &httplimit.Transport{Limiter: l, Base: memory(func(*http.Request) (*http.Response, error) {
		cancel()
		return response(429, header("Retry-After", "20"), http.NoBody), nil
	})}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://upstream", nil)
	require.NoError(t, err)
	resp, err := client.RoundTrip(req)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	require.Equal(t, 20*time.Second, left(l))
}

func TestH1_APauseBeyondTheDeadlineFailsAtOnce(t *testing.T) {
	var calls atomic.Int32
	url, base := serve(t, func(http.ResponseWriter, *http.Request) { calls.Add(1) })
	l := newLimiter(t, limiter.Config{Name: "upstream"})
	l.ReportRateLimited(time.Hour)
	transport := &httplimit.Transport{Limiter: l, Base: base}
	deadline, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cases := map[string]struct {
		ctx    context.Context
		client *http.Client
	}{
		"of the context":    {deadline, &http.Client{Transport: transport}},
		"of Client.Timeout": {t.Context(), &http.Client{Transport: transport, Timeout: time.Minute}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			req, err := http.NewRequestWithContext(c.ctx, http.MethodPost, url, strings.NewReader("body"))
			require.NoError(t, err)
			start := time.Now()
			_, err = c.client.Do(req) //nolint:bodyclose // there is none
			require.Less(t, time.Since(start), 15*time.Second)

			require.ErrorIs(t, err, context.DeadlineExceeded)
			var blocked *limiter.BlockedError
			require.ErrorAs(t, err, &blocked)
			require.Equal(t, limiter.ReasonRateLimited, blocked.Reason)
			require.Equal(t, "upstream", blocked.Name)
			require.Equal(t, time.Hour, blocked.Wanted.Round(time.Minute))
			require.Zero(t, calls.Load())
			require.Zero(t, l.Status().Waiting)
		})
	}
}

func TestTransport_WaitsForAStatedPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLimiter(t, limiter.Config{})
		var at []time.Duration
		start := time.Now()
		client := &http.Client{Transport: &httplimit.Transport{Limiter: l, Base: memory(func(*http.Request) (*http.Response, error) {
			at = append(at, time.Since(start))
			if len(at) == 1 {
				return response(429, header("Retry-After", "20"), http.NoBody), nil
			}
			return response(200, nil, http.NoBody), nil
		})}}
		get(t, client, "http://upstream")
		get(t, client, "http://upstream")
		require.Equal(t, []time.Duration{0, 20 * time.Second}, at)
	})
}

func TestTransport_CancellationPassesThrough(t *testing.T) {
	why := errors.New("the user left")
	t.Run("at the gate", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			l := newLimiter(t, limiter.Config{})
			l.Hold("maintenance")
			ctx, cancel := context.WithCancelCause(t.Context())
			time.AfterFunc(time.Second, func() { cancel(why) })
			body := &closing{Reader: strings.NewReader("body")}
			req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://upstream", body)
			require.NoError(t, err)
			_, err = (&httplimit.Transport{Limiter: l, Base: memory(nil)}).RoundTrip(req) //nolint:bodyclose // there is none
			require.Equal(t, why, err)
			require.True(t, body.closed, "a RoundTripper closes the request's body")
		})
	})
	t.Run("in the call", func(t *testing.T) {
		url, base := serve(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
		ctx, cancel := context.WithCancel(t.Context())
		l := newLimiter(t, limiter.Config{})
		time.AfterFunc(10*time.Millisecond, cancel)
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		require.NoError(t, err)
		_, err = (&http.Client{Transport: &httplimit.Transport{Limiter: l, Base: base}}).Do(req) //nolint:bodyclose // there is none
		require.ErrorIs(t, err, context.Canceled)
		require.Equal(t, limiter.ReasonNone, l.Status().Reason)
	})
}

type closing struct {
	io.Reader
	closed bool
}

func (c *closing) Close() error {
	c.closed = true
	return nil
}

// A success of a call that began before the refusal says nothing about it.
func TestTransport_ReportsWithTheOriginOfTheCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLimiter(t, limiter.Config{})
		client := &http.Client{Transport: &httplimit.Transport{Limiter: l, Base: memory(func(req *http.Request) (*http.Response, error) {
			after, status := 1*time.Second, 429
			if req.URL.Path == "/slow" {
				after, status = 2*time.Second, 200
			}
			time.Sleep(after)
			return response(status, nil, http.NoBody), nil
		})}}
		var wg sync.WaitGroup
		for _, path := range []string{"/slow", "/refused"} {
			wg.Go(func() { get(t, client, "http://upstream"+path) })
		}
		wg.Wait()
		require.True(t, l.Status().Storm)

		get(t, client, "http://upstream/slow")
		require.False(t, l.Status().Storm)
	})
}

func TestTransport_Acquire(t *testing.T) {
	const events = "text/event-stream"
	t.Run("a call holds a slot until its body has ended", func(t *testing.T) {
		cases := map[string]struct {
			status int
			end    func(*http.Response) error
		}{
			"read to its end":  {200, func(r *http.Response) error { _, err := io.Copy(io.Discard, r.Body); return err }},
			"closed":           {200, func(r *http.Response) error { return r.Body.Close() }},
			"an error: before": {429, nil},
		}
		for name, c := range cases {
			t.Run(name, func(t *testing.T) {
				l := newLimiter(t, limiter.Config{})
				url, base := serve(t, answer(c.status, header("Content-Type", events), "data: a\n\n"))
				resp, err := (&http.Client{Transport: &httplimit.Transport{Limiter: l, Base: base, Acquire: true}}).Get(url)
				require.NoError(t, err)
				defer func() { require.NoError(t, resp.Body.Close()) }()
				if c.end != nil {
					require.Equal(t, 1, l.Status().InFlight)
					require.NoError(t, c.end(resp))
				}
				require.Zero(t, l.Status().InFlight)
			})
		}
	})
	t.Run("a call that fails gives it back", func(t *testing.T) {
		l := newLimiter(t, limiter.Config{})
		client := &http.Client{Transport: &httplimit.Transport{Limiter: l, Acquire: true, Base: memory(func(*http.Request) (*http.Response, error) {
			return nil, io.ErrUnexpectedEOF
		})}}
		_, err := client.Get("http://upstream") //nolint:bodyclose // there is none
		require.ErrorIs(t, err, io.ErrUnexpectedEOF)
		require.Zero(t, l.Status().InFlight)
	})
	t.Run("a fleet holds off for an assumed pause", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			l := newLimiter(t, limiter.Config{Budget: 4})
			start := time.Now()
			var mu sync.Mutex
			var at []time.Duration
			client := &http.Client{Transport: &httplimit.Transport{Limiter: l, Acquire: true, Base: memory(func(*http.Request) (*http.Response, error) {
				mu.Lock()
				at = append(at, time.Since(start).Round(time.Second))
				mu.Unlock()
				time.Sleep(100 * time.Millisecond)
				if time.Since(start) < 10*time.Second {
					return response(429, nil, http.NoBody), nil
				}
				return response(200, nil, http.NoBody), nil
			})}}
			var wg sync.WaitGroup
			for range 8 {
				wg.Go(func() { get(t, client, "http://upstream") })
			}
			wg.Wait()
			require.Equal(t, []time.Duration{0, 0, 0, 0}, at[:4])
			require.Equal(t, time.Minute, at[4]) // one goes first, once the pause has ended
			require.Len(t, at, 8)
		})
	})
}

func TestTransport_SwitchingProtocolsIsNoLongerHTTP(t *testing.T) {
	url, base := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		conn, rw, err := http.NewResponseController(w).Hijack()
		if err != nil {
			panic(err)
		}
		defer conn.Close()
		_, _ = rw.WriteString("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
		_ = rw.Flush()
		line, _ := bufio.NewReader(rw).ReadString('\n')
		_, _ = rw.WriteString(line)
		_ = rw.Flush()
	})
	l := stormy(t)
	req, err := http.NewRequest(http.MethodGet, url, nil)
	require.NoError(t, err)
	req.Header.Set("Connection", "Upgrade")
	req.Header.Set("Upgrade", "echo")
	resp, err := (&http.Client{Transport: &httplimit.Transport{Limiter: l, Base: base}}).Do(req)
	require.NoError(t, err)
	defer resp.Body.Close()
	both, ok := resp.Body.(io.ReadWriteCloser)
	require.True(t, ok)
	_, err = io.WriteString(both, "hello\n")
	require.NoError(t, err)
	line, err := bufio.NewReader(both).ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "hello\n", line)
	require.False(t, l.Status().Storm)
}

func TestTransport_LeavesTheRequestAlone(t *testing.T) {
	url, base := serve(t, answer(429, nil, ""))
	req, err := http.NewRequest(http.MethodPost, url, strings.NewReader("body"))
	require.NoError(t, err)
	before := *req
	resp, err := (&httplimit.Transport{
		Limiter: newLimiter(t, limiter.Config{}), Base: base, Retry: &retry.Policy{MaxRetries: 1, Initial: 1, Max: 1},
	}).RoundTrip(req)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	before.GetBody, req.GetBody = nil, nil
	require.Equal(t, &before, req)
}

func TestTransport_WhatMakesNoSenseIsAnError(t *testing.T) {
	cases := map[string]struct {
		transport *httplimit.Transport
		want      string
	}{
		"no limiter":   {&httplimit.Transport{}, "httplimit: Transport.Limiter is nil: it is required"},
		"a bad policy": {&httplimit.Transport{Limiter: newLimiter(t, limiter.Config{}), Retry: &retry.Policy{MaxRetries: -3}}, "httplimit: Transport.Retry: retry: Policy.MaxRetries is -3: want -1 for none, 0 for 3, more, or Unlimited"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			body := &closing{Reader: strings.NewReader("body")}
			req, err := http.NewRequest(http.MethodPost, "http://upstream", body)
			require.NoError(t, err)
			req.GetBody = func() (io.ReadCloser, error) { return body, nil }
			_, err = c.transport.RoundTrip(req) //nolint:bodyclose // there is none
			require.EqualError(t, err, c.want)
			require.True(t, body.closed)
		})
	}
}

func TestTransport_CloseIdleConnections(t *testing.T) {
	base := &idle{}
	(&http.Client{Transport: &httplimit.Transport{Base: base}}).CloseIdleConnections()
	require.Equal(t, 1, base.closed)
	(&http.Client{Transport: &httplimit.Transport{Base: memory(nil)}}).CloseIdleConnections() // has none
}

type idle struct {
	memory
	closed int
}

func (i *idle) CloseIdleConnections() { i.closed++ }

func TestTransport_ManyCallersAtOnce(t *testing.T) {
	var n atomic.Int32
	url, base := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if n.Add(1)%8 == 0 {
			w.Header().Set("Retry-After", "0.01")
			w.WriteHeader(http.StatusTooManyRequests)
		}
		_, _ = io.WriteString(w, r.URL.RawQuery)
	})
	l := newLimiter(t, limiter.Config{})
	for name, transport := range map[string]*httplimit.Transport{
		"calls": {Limiter: l, Base: base},
		"slots": {Limiter: newLimiter(t, limiter.Config{Pause: 10 * time.Millisecond}), Base: base, Acquire: true},
	} {
		t.Run(name, func(t *testing.T) {
			client := &http.Client{Transport: transport}
			var wg sync.WaitGroup
			for i := range 8 {
				wg.Go(func() {
					for j := range 16 {
						want := strconv.Itoa(i*100 + j)
						resp, err := client.Get(url + "?" + want)
						if err != nil {
							t.Error(err)
							return
						}
						body, err := io.ReadAll(resp.Body)
						_ = resp.Body.Close()
						if err != nil || string(body) != want {
							t.Errorf("got %q, %v, want %q", body, err, want)
						}
					}
				})
			}
			wg.Wait()
			require.Zero(t, transport.Limiter.(*limiter.Limiter).Status().InFlight)
		})
	}
}
