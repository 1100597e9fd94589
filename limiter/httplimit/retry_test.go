package httplimit_test

import (
	"context"
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

// A step is what becomes of one try.
type step struct {
	status     int // 0: the network breaks
	retryAfter string
}

// A play is an upstream that answers by a list, with the last step for ever. It
// writes down when it was called and with what.
type play struct {
	steps  []step
	start  time.Time
	at     []time.Duration
	bodies []string
	open   int // bodies of answers that have not been closed
}

func (p *play) RoundTrip(req *http.Request) (*http.Response, error) {
	s := p.steps[min(len(p.at), len(p.steps)-1)]
	p.at = append(p.at, time.Since(p.start))
	if req.Body != nil {
		b, err := io.ReadAll(req.Body)
		if err != nil {
			return nil, err
		}
		p.bodies = append(p.bodies, string(b))
		_ = req.Body.Close()
	}
	if s.status == 0 {
		return nil, &netError{}
	}
	h := http.Header{}
	if s.retryAfter != "" {
		h.Set("Retry-After", s.retryAfter)
	}
	p.open++
	return response(s.status, h, &counted{strings.NewReader("said"), &p.open}), nil
}

type counted struct {
	io.Reader
	open *int
}

func (c *counted) Close() error {
	*c.open--
	return nil
}

type netError struct{}

func (*netError) Error() string   { return "connection refused" }
func (*netError) Timeout() bool   { return false }
func (*netError) Temporary() bool { return true }

func seconds(ss ...float64) []time.Duration {
	var ds []time.Duration
	for _, s := range ss {
		ds = append(ds, time.Duration(s*float64(time.Second)))
	}
	return ds
}

func TestRetry(t *testing.T) {
	ok, refused, busy, broken := step{200, ""}, step{429, ""}, step{503, ""}, step{}
	cases := map[string]struct {
		steps   []step
		policy  *retry.Policy
		once    bool // the request cannot be replayed
		at      []time.Duration
		status  int    // 0: an error
		settled string // X-Should-Retry of the answer
	}{
		"C8 off":                          {[]step{refused}, nil, false, seconds(0), 429, ""},
		"the first is accepted":           {[]step{ok}, &retry.Policy{}, false, seconds(0), 200, ""},
		"C6 the ladder, then the answer":  {[]step{refused}, &retry.Policy{}, false, seconds(0, 3, 9, 21), 429, "false"},
		"an overload passes":              {[]step{busy, busy, ok}, &retry.Policy{}, false, seconds(0, 3, 9), 200, ""},
		"A1 a stated wait, not their sum": {[]step{{429, "20"}, ok}, &retry.Policy{}, false, seconds(0, 20), 200, ""},
		"a broken network":                {[]step{broken, {500, ""}, ok}, &retry.Policy{}, false, seconds(0, 3, 9), 200, ""},
		"a network that stays broken":     {[]step{broken}, &retry.Policy{MaxRetries: 1}, false, seconds(0, 3), 0, ""},
		"400 is final":                    {[]step{{400, ""}}, &retry.Policy{}, false, seconds(0), 400, "false"},
		"401 is final":                    {[]step{{401, ""}}, &retry.Policy{}, false, seconds(0), 401, "false"},
		"418 is final":                    {[]step{{418, ""}}, &retry.Policy{}, false, seconds(0), 418, "false"},
		"C3 no wait beyond MaxElapsed":    {[]step{refused}, &retry.Policy{MaxElapsed: 15 * time.Second}, false, seconds(0, 3, 9), 429, "false"},
		"a body that cannot be replayed":  {[]step{refused}, &retry.Policy{}, true, seconds(0), 429, ""},
	}
	for name, c := range cases {
		for _, acquire := range []bool{false, true} {
			t.Run(name+map[bool]string{true: ", each try in a slot"}[acquire], func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					// Nothing is assumed, so that the times are those of the policy alone.
					l := newLimiter(t, limiter.Config{Pause: -1})
					upstream := &play{steps: c.steps, start: time.Now()}
					client := &http.Client{Transport: &httplimit.Transport{Limiter: l, Base: upstream, Retry: c.policy, Acquire: acquire}}
					var body io.Reader = strings.NewReader("body")
					if c.once {
						body = struct{ io.Reader }{body}
					}
					resp, err := client.Post("http://upstream", "text/plain", body)

					require.Equal(t, c.at, upstream.at)
					for _, b := range upstream.bodies {
						require.Equal(t, "body", b)
					}
					if c.status == 0 {
						var e *retry.Error
						require.ErrorAs(t, err, &e)
						require.Equal(t, len(c.at), e.Attempts)
						require.Equal(t, retry.Transient, e.Class)
					} else {
						require.NoError(t, err)
						require.Equal(t, c.status, resp.StatusCode)
						require.Equal(t, c.settled, resp.Header.Get("X-Should-Retry"))
						said, err := io.ReadAll(resp.Body)
						require.NoError(t, err)
						require.Equal(t, "said", string(said))
						require.NoError(t, resp.Body.Close())
					}
					require.Zero(t, upstream.open, "a body was left open")
					require.Zero(t, l.Status().InFlight)
				})
			})
		}
	}
}

func TestRetry_TheWaitEndsWithTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		upstream := &play{steps: []step{{429, ""}}, start: time.Now()}
		client := &http.Client{Transport: &httplimit.Transport{
			Limiter: newLimiter(t, limiter.Config{}), Base: upstream, Retry: &retry.Policy{},
		}}
		why := errors.New("the user left")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(5*time.Second, func() { cancel(why) })
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://upstream", nil)
		require.NoError(t, err)
		_, err = client.Do(req) //nolint:bodyclose // there is none
		require.ErrorIs(t, err, context.Canceled)
		require.ErrorIs(t, err, why)
		require.Equal(t, seconds(0, 3), upstream.at)
		require.Equal(t, 5*time.Second, time.Since(upstream.start))
		require.Zero(t, upstream.open)
	})
}

// The gate has said how long the pause is: no ladder is climbed before it.
func TestRetry_APauseBeyondTheDeadlineIsNotRetried(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLimiter(t, limiter.Config{})
		l.ReportRateLimited(time.Hour)
		upstream := &play{start: time.Now()}
		client := &http.Client{Timeout: time.Minute, Transport: &httplimit.Transport{Limiter: l, Base: upstream, Retry: &retry.Policy{}}}
		_, err := client.Get("http://upstream") //nolint:bodyclose // there is none
		var blocked *limiter.BlockedError
		require.ErrorAs(t, err, &blocked)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Zero(t, time.Since(upstream.start))
		require.Empty(t, upstream.at)
	})
}

func TestRetry_ABodyThatCannotBeHadAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gone := errors.New("the file is gone")
		upstream := &play{steps: []step{{429, ""}}, start: time.Now()}
		req, err := http.NewRequest(http.MethodPost, "http://upstream", strings.NewReader("body"))
		require.NoError(t, err)
		req.GetBody = func() (io.ReadCloser, error) { return nil, gone }
		_, err = (&httplimit.Transport{ //nolint:bodyclose // there is none
			Limiter: newLimiter(t, limiter.Config{}), Base: upstream, Retry: &retry.Policy{},
		}).RoundTrip(req)
		require.ErrorIs(t, err, gone)
		require.Zero(t, upstream.open)
	})
}
