package httplimit_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdoff-go/holdoff/limiter"
	"github.com/holdoff-go/holdoff/limiter/httplimit"
	"github.com/holdoff-go/holdoff/retry"
)

// A stream is an answer whose body the test writes as it likes.
func stream(t *testing.T, l *limiter.Limiter, kind string) (*http.Response, *io.PipeWriter) {
	t.Helper()
	body, w := io.Pipe()
	client := &http.Client{Transport: &httplimit.Transport{Limiter: l, Base: memory(func(*http.Request) (*http.Response, error) {
		return response(200, header("Content-Type", kind), body), nil
	})}}
	resp, err := client.Get("http://upstream")
	require.NoError(t, err)
	t.Cleanup(func() { _ = resp.Body.Close() })
	return resp, w
}

// Each piece arrives before the next one exists, and the call is accepted as soon
// as it has begun to be answered.
func TestStream_IsHandedOnAsItComes(t *testing.T) {
	cases := map[string]struct {
		kind     string
		pieces   []string
		accepted int // by the piece of this number, from 1
	}{
		"events":                    {"text/event-stream", []string{"data: {\"a\":1}\n\n", "data: {}\n\n"}, 1},
		"events in pieces":          {"text/event-stream", []string{"data: ", "{}\n", "\n", "da"}, 3},
		"comments before the first": {"text/event-stream", []string{": PROCESSING\n\n", ": PROCESSING\n\n", "data: {}\n\n"}, 3},
		"an array in pieces":        {"application/json", []string{"[{\"a\":1}", ",{\"a\":", "2}]"}, 1},
		"lines":                     {"application/x-ndjson", []string{"{\"a\":1}\n", "{\"a\":2}\n"}, 1},
		"text":                      {"text/plain", []string{"h", "ello"}, 1},
		"sound":                     {"audio/mpeg", []string{"\x00", "\x01"}, 1},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := stormy(t)
				resp, w := stream(t, l, c.kind)
				buf := make([]byte, 1<<10)
				for i, piece := range c.pieces {
					go func() { _, _ = io.WriteString(w, piece) }()
					n, err := resp.Body.Read(buf)
					require.NoError(t, err)
					require.Equal(t, piece, string(buf[:n]))
					require.Equal(t, i+1 >= c.accepted, !l.Status().Storm, "after %q", piece)
				}
			})
		})
	}
}

// An error inside a stream counts as what it is, whenever it comes.
func TestStream_AnErrorMidwayIsARefusal(t *testing.T) {
	cases := map[string]struct {
		kind, before, event string
		reason              limiter.Reason
		left                time.Duration
	}{
		"event: error": {
			"text/event-stream", "event: message_start\ndata: {\"type\":\"message_start\"}\n\n",
			"event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}\n\n",
			limiter.ReasonOverloaded, 10 * time.Second,
		},
		"a chunk with an error": {
			"text/event-stream", "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\n",
			"data: {\"error\":{\"code\":429,\"message\":\"Rate limit exceeded: free-models-per-min\"},\"choices\":[{\"finish_reason\":\"error\"}]}\n\n",
			limiter.ReasonRateLimited, time.Minute,
		},
		"response.failed": {
			"text/event-stream", "event: response.created\ndata: {\"type\":\"response.created\",\"response\":{\"error\":null}}\n\n",
			"event: response.failed\ndata: {\"type\":\"response.failed\",\"response\":{\"status\":\"failed\",\"error\":{\"code\":\"rate_limit_exceeded\",\"message\":\"Rate limit reached. Please try again in 11s.\"}}}\n\n",
			limiter.ReasonRateLimited, 11 * time.Second,
		},
		"an element of an array": {
			"application/json", "[{\"candidates\":[]}\n,",
			"{\"error\":{\"code\":503,\"message\":\"The model is overloaded.\",\"status\":\"UNAVAILABLE\"}}]",
			limiter.ReasonOverloaded, 10 * time.Second,
		},
		"a line": {
			"application/x-ndjson", "{\"response\":\"a\"}\n", "{\"error\":{\"code\":429,\"message\":\"too many requests\"}}\n",
			limiter.ReasonRateLimited, time.Minute,
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := stormy(t)
				resp, w := stream(t, l, c.kind)
				go func() { _, _ = io.WriteString(w, c.before) }()
				_, err := io.ReadFull(resp.Body, make([]byte, len(c.before)))
				require.NoError(t, err)
				require.False(t, l.Status().Storm, "accepted")

				go func() {
					_, _ = io.WriteString(w, c.event)
					_ = w.Close()
				}()
				rest, err := io.ReadAll(resp.Body)
				require.NoError(t, err)
				require.Equal(t, c.event, string(rest))
				require.Equal(t, c.reason, l.Status().Reason)
				require.Equal(t, c.left, left(l))
			})
		})
	}
}

// The answers of the corpus that come with a status of 200, in pieces and whole.
func TestBody_AnAnswerWithinA200CountsAsWhatItIs(t *testing.T) {
	file, err := os.Open("testdata/answers.jsonl")
	require.NoError(t, err)
	defer file.Close()
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		var c struct {
			ID, Body   string
			Headers    map[string]string
			Now        time.Time
			Class      retry.Class `json:"want_class"`
			RetryAfter *int        `json:"want_retry_after_ms"`
			Tolerance  int         `json:"tolerance_ms"`
		}
		require.NoError(t, json.Unmarshal(lines.Bytes(), &c))
		for how, pieces := range map[string]func(io.Reader) io.Reader{
			"whole": func(r io.Reader) io.Reader { return r }, "by the byte": iotest.OneByteReader,
		} {
			t.Run(c.ID+" "+how, func(t *testing.T) {
				l := stormy(t)
				said := &heard{clock: stopped(c.Now)}
				client := &http.Client{Transport: &httplimit.Transport{
					Limiter: l, Classifier: said,
					Base: memory(func(*http.Request) (*http.Response, error) {
						h := header("Content-Type", "application/json")
						for name, value := range c.Headers {
							h.Set(name, value)
						}
						return response(200, h, io.NopCloser(pieces(strings.NewReader(c.Body)))), nil
					}),
				}}
				_, body := get(t, client, "http://upstream")
				require.Equal(t, c.Body, body)

				if c.Class == retry.Unknown {
					require.Empty(t, said.classes())
					require.False(t, l.Status().Storm, "accepted")
					return
				}
				require.Equal(t, []retry.Class{c.Class}, said.classes())
				require.True(t, l.Status().Storm, "not accepted")
				if c.RetryAfter != nil {
					want := time.Duration(*c.RetryAfter) * time.Millisecond
					require.InDelta(t, want, said.verdicts[0].RetryAfter, float64(time.Duration(c.Tolerance)*time.Millisecond))
				}
			})
		}
	}
	require.NoError(t, lines.Err())
}

// stopped is a clock that stands still.
type stopped time.Time

func (c stopped) Now() time.Time                       { return time.Time(c) }
func (c stopped) After(time.Duration) <-chan time.Time { return nil }

// What a body that is not read to its end, or breaks, says.
func TestBody_HowItEnds(t *testing.T) {
	const refusal = `{"error":{"code":429,"message":"Rate limit exceeded"}}`
	cut := errors.New("connection reset by peer")
	type said int
	const (
		nothing said = iota
		accepted
		refused
	)
	read := func(s string) func() io.Reader { return func() io.Reader { return strings.NewReader(s) } }
	broken := func(s string) func() io.Reader {
		return func() io.Reader { return io.MultiReader(strings.NewReader(s), iotest.ErrReader(cut)) }
	}
	cases := map[string]struct {
		kind string
		body func() io.Reader
		read int // bytes, then it is closed; -1: to the end
		want said
	}{
		"closed unread":                   {"application/json", read("{}"), 0, accepted},
		"closed within JSON":              {"application/json", read(`{"id":1}`), 3, accepted},
		"closed at the end, no EOF seen":  {"application/json", read(`{"id":1}`), 8, accepted},
		"closed at an error, no EOF seen": {"application/json", read(refusal), len(refusal), refused},
		"broken before it began":          {"application/json", broken(""), -1, nothing},
		"broken within JSON":              {"application/json", broken(`{"id":`), -1, accepted},
		"broken within text":              {"text/plain", broken("h"), -1, accepted},
		"broken after comments":           {"text/event-stream", broken(": wait\n\n"), -1, nothing},
		"broken within an event":          {"text/event-stream", broken("data: a\n"), -1, accepted},
		"an error without a last line":    {"text/event-stream", read("data: " + refusal), -1, refused},
		"an error after a large message":  {"text/event-stream", read("data: " + strings.Repeat("x", 1<<20) + "\n\ndata: " + refusal + "\n\n"), -1, refused},
		"a large message":                 {"application/json", read(`{"a":"` + strings.Repeat("x", 1<<20) + `"}`), -1, accepted},
		"the end comes with the bytes":    {"application/json", func() io.Reader { return iotest.DataErrReader(strings.NewReader(refusal)) }, -1, refused},
		"empty":                           {"application/json", read(""), -1, accepted},
	}
	for name, c := range cases {
		for _, acquire := range []bool{false, true} {
			t.Run(name+map[bool]string{true: ", in a slot"}[acquire], func(t *testing.T) {
				l := stormy(t)
				if acquire {
					l = newLimiter(t, limiter.Config{})
				}
				verdicts := &heard{}
				client := &http.Client{Transport: &httplimit.Transport{
					Limiter: l, Classifier: verdicts, Acquire: acquire,
					Base: memory(func(*http.Request) (*http.Response, error) {
						return response(200, header("Content-Type", c.kind), io.NopCloser(c.body())), nil
					}),
				}}
				resp, err := client.Get("http://upstream")
				require.NoError(t, err)
				if c.read >= 0 {
					_, err = io.ReadFull(resp.Body, make([]byte, c.read))
					require.NoError(t, err)
				} else {
					_, _ = io.Copy(io.Discard, resp.Body)
				}
				require.NoError(t, resp.Body.Close())
				require.NoError(t, resp.Body.Close())

				require.Equal(t, c.want == refused, len(verdicts.classes()) > 0)
				require.Zero(t, l.Status().InFlight)
				if !acquire {
					require.Equal(t, c.want == accepted, !l.Status().Storm)
				}
			})
		}
	}
}

// Close may come while a Read is blocked: whoever is last reports.
func TestBody_ClosedWhileItIsRead(t *testing.T) {
	cases := map[string]struct {
		n   int
		err error
	}{"then it fails": {0, io.ErrClosedPipe}, "then it brings something all the same": {1, nil}}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newLimiter(t, limiter.Config{})
				body := &blocking{closed: make(chan struct{}), n: c.n, err: c.err}
				client := &http.Client{Transport: &httplimit.Transport{Limiter: l, Acquire: true, Base: memory(func(*http.Request) (*http.Response, error) {
					return response(200, header("Content-Type", "text/event-stream"), body), nil
				})}}
				resp, err := client.Get("http://upstream")
				require.NoError(t, err)
				read := make(chan error)
				go func() {
					_, err := resp.Body.Read(make([]byte, 1))
					read <- err
				}()
				synctest.Wait()
				require.Equal(t, 1, l.Status().InFlight)
				require.NoError(t, resp.Body.Close())
				require.Equal(t, c.err, <-read)
				require.Zero(t, l.Status().InFlight)

				_, err = resp.Body.Read(make([]byte, 1))
				require.Equal(t, c.err, err)
			})
		})
	}
}

// The error that Close makes of a Read does not undo that the answer was accepted,
// even when the Read returns before Close does.
func TestBody_AReadThatCloseEndsIsNoBrokenAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := stormy(t)
		body := &blocking{closed: make(chan struct{}), err: io.ErrClosedPipe, closing: synctest.Wait}
		client := &http.Client{Transport: &httplimit.Transport{Limiter: l, Base: memory(func(*http.Request) (*http.Response, error) {
			return response(200, header("Content-Type", "text/event-stream"), body), nil
		})}}
		resp, err := client.Get("http://upstream")
		require.NoError(t, err)
		go func() { _, _ = resp.Body.Read(make([]byte, 1)) }()
		synctest.Wait()
		require.True(t, l.Status().Storm)
		require.NoError(t, resp.Body.Close())
		require.False(t, l.Status().Storm)
	})
}

// A blocking body reads nothing until it is closed, and then what it is told.
type blocking struct {
	closed chan struct{}
	n      int
	err    error

	closing func() // nil, or what Close does when its Reads may return
}

func (b *blocking) Read([]byte) (int, error) {
	<-b.closed
	return b.n, b.err
}

func (b *blocking) Close() error {
	close(b.closed)
	if b.closing != nil {
		b.closing()
	}
	return nil
}

// On a real connection: the first event is in the caller's hands while the server
// still holds the second one back, and a context that ends midway ends the read.
func TestStream_OverAConnection(t *testing.T) {
	next := make(chan struct{})
	url, base := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for range 2 {
			_, _ = io.WriteString(w, "data: {}\n\n")
			_ = http.NewResponseController(w).Flush()
			select {
			case <-next:
			case <-r.Context().Done():
				return
			}
		}
		<-r.Context().Done()
	})
	l := stormy(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	require.NoError(t, err)
	resp, err := (&http.Client{Transport: &httplimit.Transport{Limiter: l, Base: base}}).Do(req)
	require.NoError(t, err)
	defer resp.Body.Close()
	for range 2 {
		_, err := io.ReadFull(resp.Body, make([]byte, len("data: {}\n\n")))
		require.NoError(t, err)
		require.False(t, l.Status().Storm)
		next <- struct{}{}
	}
	cancel()
	_, err = resp.Body.Read(make([]byte, 1))
	require.ErrorIs(t, err, context.Canceled)
}
