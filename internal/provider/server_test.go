package provider_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdoff-go/holdoff/internal/provider"
)

// start runs a provider on loopback for the length of a test.
func start(t *testing.T, cfg provider.Config) *provider.Server {
	t.Helper()
	p, err := provider.Start(cfg)
	require.NoError(t, err)
	t.Cleanup(p.Close)
	return p
}

// offline returns a provider without a network and a client of it.
func offline(t *testing.T, cfg provider.Config) (*provider.Server, *http.Client) {
	t.Helper()
	p, err := provider.New(cfg)
	require.NoError(t, err)
	t.Cleanup(p.Close)
	return p, &http.Client{Transport: p.Transport()}
}

func body(worker string, stream bool) io.Reader {
	return strings.NewReader(fmt.Sprintf(
		`{"model":"sim-1","user":%q,"stream":%t,"messages":[{"role":"user","content":"hello"}]}`, worker, stream))
}

// A told is what a client was told.
type told struct {
	status int
	header http.Header
	body   string
	err    error // of reading the body
}

func send(t *testing.T, c *http.Client, base string, body io.Reader) told {
	t.Helper()
	resp, err := c.Post(base+"/chat/completions", "application/json", body)
	require.NoError(t, err)
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return told{resp.StatusCode, resp.Header, string(b), err}
}

type errorBody struct {
	Error *struct {
		Message string
		Type    string
		Param   any
		Code    any
	}
}

func envelope(t *testing.T, body string) errorBody {
	t.Helper()
	var e errorBody
	require.NoError(t, json.Unmarshal([]byte(body), &e), body)
	require.NotNil(t, e.Error, body)
	return e
}

func TestServer_acceptsInTheChatCompletionsShape(t *testing.T) {
	p := start(t, provider.Config{})
	got := send(t, http.DefaultClient, p.URL(), body("w1", false))
	require.NoError(t, got.err)
	require.Equal(t, http.StatusOK, got.status)
	require.Equal(t, "application/json", got.header.Get("Content-Type"))

	var c struct {
		ID, Object, Model string
		Created           int64
		Choices           []struct {
			Index        int
			Message      struct{ Role, Content string }
			FinishReason string `json:"finish_reason"`
		}
		Usage struct {
			Prompt     int `json:"prompt_tokens"`
			Completion int `json:"completion_tokens"`
			Total      int `json:"total_tokens"`
		}
	}
	require.NoError(t, json.Unmarshal([]byte(got.body), &c))
	require.NotEmpty(t, c.ID)
	require.Equal(t, "chat.completion", c.Object)
	require.Equal(t, "sim-1", c.Model)
	require.Positive(t, c.Created)
	require.Len(t, c.Choices, 1)
	require.Equal(t, "assistant", c.Choices[0].Message.Role)
	require.NotEmpty(t, c.Choices[0].Message.Content)
	require.Equal(t, "stop", c.Choices[0].FinishReason)
	require.Positive(t, c.Usage.Prompt)
	require.Positive(t, c.Usage.Completion)
	require.Equal(t, c.Usage.Prompt+c.Usage.Completion, c.Usage.Total)
}

func TestServer_asksForATool(t *testing.T) {
	p := start(t, provider.Config{Script: provider.Always(provider.Answer{
		Tool: provider.ToolCall{Name: "look_up", Arguments: `{"word":"storm"}`},
	})})
	got := send(t, http.DefaultClient, p.URL(), body("w1", false))
	require.Equal(t, http.StatusOK, got.status)
	require.Contains(t, got.body, `"message":{"role":"assistant","content":"","tool_calls":[{"id":"call_sim_000001","type":"function",`+
		`"function":{"name":"look_up","arguments":"{\"word\":\"storm\"}"}}]},"finish_reason":"tool_calls"`)
	require.Equal(t, 1, p.Counts().Accepted)
}

func TestServer_streams(t *testing.T) {
	p := start(t, provider.Config{Script: provider.Always(provider.Answer{Text: "one two three"})})
	got := send(t, http.DefaultClient, p.URL(), body("w1", true))
	require.NoError(t, got.err)
	require.Equal(t, "text/event-stream", got.header.Get("Content-Type"))
	text, last := readStream(t, got.body)
	require.Equal(t, "one two three", text)
	require.Equal(t, "[DONE]", last)
}

// readStream puts a stream's words together and returns its last event.
func readStream(t *testing.T, body string) (text, last string) {
	t.Helper()
	for event := range strings.SplitSeq(strings.TrimSpace(body), "\n\n") {
		payload, ok := strings.CutPrefix(event, "data: ")
		require.True(t, ok, event)
		last = payload
		var chunk struct {
			Object  string
			Choices []struct{ Delta struct{ Content string } }
		}
		if json.Unmarshal([]byte(payload), &chunk) == nil && len(chunk.Choices) > 0 {
			require.Equal(t, "chat.completion.chunk", chunk.Object)
			text += chunk.Choices[0].Delta.Content
		}
	}
	return text, last
}

func TestServer_refusesAsProvidersDo(t *testing.T) {
	overloaded529 := provider.Overloaded(0)
	overloaded529.Status = 529
	tests := map[string]struct {
		answer     provider.Answer
		status     int
		typ        string
		code       any
		retryAfter string // "" for no header
		ms         string
	}{
		"429, nothing stated":        {provider.RateLimited(0), 429, "requests", "rate_limit_exceeded", "", ""},
		"429, whole seconds":         {provider.RateLimited(20 * time.Second), 429, "requests", "rate_limit_exceeded", "20", ""},
		"429, below a second":        {provider.RateLimited(250 * time.Millisecond), 429, "requests", "rate_limit_exceeded", "1", "250"},
		"429, a broken second":       {provider.RateLimited(1500 * time.Millisecond), 429, "requests", "rate_limit_exceeded", "2", "1500"},
		"429, below a millisecond":   {provider.RateLimited(time.Microsecond), 429, "requests", "rate_limit_exceeded", "1", "1"},
		"429, quota":                 {provider.QuotaExhausted(), 429, "insufficient_quota", "insufficient_quota", "", ""},
		"503, overloaded":            {provider.Overloaded(7 * time.Second), 503, "server_error", "overloaded", "7", ""},
		"529, overloaded":            {overloaded529, 529, "server_error", "overloaded", "", ""},
		"401, invalid key":           {provider.InvalidKey(), 401, "invalid_request_error", "invalid_api_key", "", ""},
		"500, no code is a null one": {provider.Answer{Status: 500, Type: "server_error", Message: "Oops."}, 500, "server_error", nil, "", ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			p := start(t, provider.Config{Script: provider.Always(tt.answer)})
			for _, stream := range []bool{false, true} { // a refusal is JSON either way
				got := send(t, http.DefaultClient, p.URL(), body("w1", stream))
				require.NoError(t, got.err)
				require.Equal(t, tt.status, got.status)
				require.Equal(t, tt.retryAfter, got.header.Get("Retry-After"))
				require.Equal(t, tt.ms, got.header.Get("Retry-After-Ms"))
				e := envelope(t, got.body)
				require.Equal(t, tt.typ, e.Error.Type)
				require.Equal(t, tt.code, e.Error.Code)
				require.NotEmpty(t, e.Error.Message)
				require.Nil(t, e.Error.Param)
			}
			require.Equal(t, provider.Tally{Calls: 2, Refused: 2}, p.Counts().Tally)
		})
	}
}

func TestServer_nothingStatedIsNowhereInTheRefusal(t *testing.T) {
	_, c := offline(t, provider.Config{Script: provider.Always(provider.RateLimited(0))})
	require.NotContains(t, send(t, c, "http://sim/v1", body("w1", false)).body, "try again in")
}

func TestServer_breaksMidway(t *testing.T) {
	script := provider.Always(provider.Answer{Broken: true, Text: "one two three four"})
	p := start(t, provider.Config{Script: script})
	_, memory := offline(t, provider.Config{Script: script})
	clients := map[string]struct {
		client *http.Client
		base   string
	}{"loopback": {http.DefaultClient, p.URL()}, "in memory": {memory, "http://sim/v1"}}
	for name, tt := range clients {
		t.Run(name, func(t *testing.T) {
			stream := send(t, tt.client, tt.base, body("w1", true))
			require.Equal(t, http.StatusOK, stream.status)
			require.ErrorIs(t, stream.err, io.ErrUnexpectedEOF)
			text, _ := readStream(t, stream.body)
			require.Equal(t, "one two ", text)

			whole := send(t, tt.client, tt.base, body("w1", false))
			require.Equal(t, http.StatusOK, whole.status)
			require.ErrorIs(t, whole.err, io.ErrUnexpectedEOF)
			require.False(t, json.Valid([]byte(whole.body)))
		})
	}
	require.Equal(t, provider.Tally{Calls: 2, Broken: 2}, p.Counts().Tally)
}

func TestServer_lateErrorFollowsA200(t *testing.T) {
	late := provider.RateLimited(0)
	late.Late = true
	_, c := offline(t, provider.Config{Script: provider.Always(late)})

	whole := send(t, c, "http://sim/v1", body("w1", false))
	require.Equal(t, http.StatusOK, whole.status)
	require.Equal(t, "rate_limit_exceeded", envelope(t, whole.body).Error.Code)

	stream := send(t, c, "http://sim/v1", body("w1", true))
	require.Equal(t, http.StatusOK, stream.status)
	require.NoError(t, stream.err)
	text, last := readStream(t, stream.body)
	require.NotEmpty(t, text)
	require.Equal(t, "rate_limit_exceeded", envelope(t, last).Error.Code)
}

func TestServer_furtherHeaders(t *testing.T) {
	h := http.Header{"X-Ratelimit-Remaining-Requests": {"0"}}
	_, c := offline(t, provider.Config{Script: provider.Always(provider.Answer{Header: h})})
	require.Equal(t, "0", send(t, c, "http://sim/v1", body("w1", false)).header.Get("x-ratelimit-remaining-requests"))
}

func TestServer_invalidRequestsAreNoCalls(t *testing.T) {
	p := start(t, provider.Config{})
	url := p.URL() + "/chat/completions"
	tests := map[string]struct {
		method, url, body string
		status            int
	}{
		"wrong path":   {http.MethodPost, p.URL() + "/models", `{}`, 404},
		"wrong method": {http.MethodGet, url, ``, 405},
		"no JSON":      {http.MethodPost, url, `hello`, 400},
		"no body":      {http.MethodPost, url, ``, 400},
		"no model":     {http.MethodPost, url, `{"messages":[{}]}`, 400},
		"no messages":  {http.MethodPost, url, `{"model":"sim-1"}`, 400},
		"too large":    {http.MethodPost, url, `"` + strings.Repeat("x", 1<<20) + `"`, 400},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			req, err := http.NewRequest(tt.method, tt.url, strings.NewReader(tt.body))
			require.NoError(t, err)
			resp, err := http.DefaultClient.Do(req)
			require.NoError(t, err)
			defer resp.Body.Close()
			b, err := io.ReadAll(resp.Body)
			require.NoError(t, err)
			require.Equal(t, tt.status, resp.StatusCode)
			require.Equal(t, "invalid_request_error", envelope(t, string(b)).Error.Type)
		})
	}
	c := p.Counts()
	require.Equal(t, len(tests), c.Invalid)
	require.Zero(t, c.Tally)
}

func TestServer_countsByWorkerAndKey(t *testing.T) {
	p, c := offline(t, provider.Config{Script: func(c provider.Call) provider.Answer {
		if c.Key == "sub-a" {
			return provider.QuotaExhausted()
		}
		return provider.Answer{}
	}})
	for _, call := range []struct{ worker, key string }{{"w1", "sub-a"}, {"w1", "sub-b"}, {"w2", "sub-b"}} {
		req, err := http.NewRequest(http.MethodPost, "http://sim/v1/chat/completions", body(call.worker, false))
		require.NoError(t, err)
		req.Header.Set("Authorization", "Bearer "+call.key)
		resp, err := c.Do(req)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
	}
	got := p.Counts()
	require.Equal(t, provider.Counts{
		Tally:       provider.Tally{Calls: 3, Accepted: 2, Refused: 1},
		MaxInFlight: 1,
		Workers: map[string]provider.Tally{
			"w1": {Calls: 2, Accepted: 1, Refused: 1},
			"w2": {Calls: 1, Accepted: 1},
		},
		Keys: map[string]provider.Tally{
			"sub-a": {Calls: 1, Refused: 1},
			"sub-b": {Calls: 2, Accepted: 2},
		},
	}, got)

	got.Workers["w1"] = provider.Tally{} // a snapshot, not a window
	require.Equal(t, 2, p.Counts().Workers["w1"].Calls)
}

func TestServer_stormAndLatencyOnTheClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		p, c := offline(t, provider.Config{
			Latency: 100 * time.Millisecond,
			Script:  provider.Storm(2*time.Second, 5*time.Second, provider.RateLimited(0)),
		})
		time.Sleep(time.Hour) // a storm counts from the first call
		first := time.Now()
		var seen []string
		for _, at := range []time.Duration{0, 2*time.Second - 1, 2 * time.Second, 5*time.Second - 1, 5 * time.Second} {
			time.Sleep(time.Until(first.Add(at)))
			sent := time.Now()
			got := send(t, c, "http://sim/v1", body("w1", false))
			seen = append(seen, fmt.Sprintf("%d after %v", got.status, time.Since(sent)))
			if at == 0 {
				first = sent
			}
		}
		require.Equal(t, []string{
			"200 after 100ms", "200 after 100ms", "429 after 0s", "429 after 0s", "200 after 100ms",
		}, seen)
		require.Equal(t, 5, p.Counts().Calls)
		require.Equal(t, time.Hour, first.Sub(began))
	})
}

// A backClock gives each time it is read a time before the last.
type backClock struct{ reads atomic.Int64 }

func (c *backClock) Now() time.Time { return time.Unix(1000-c.reads.Add(1), 0) }

func (c *backClock) After(time.Duration) <-chan time.Time { return nil }

// Given two first calls that cross: the later one has read the clock before the
// earlier one did. The storm that begins with the first call refuses both.
func TestServer_stormRefusesFirstCallsThatCross(t *testing.T) {
	p, c := offline(t, provider.Config{
		Clock:  new(backClock),
		Script: provider.Storm(0, time.Minute, provider.RateLimited(0)),
	})
	for range 2 {
		require.Equal(t, http.StatusTooManyRequests, send(t, c, "http://sim/v1", body("w1", false)).status)
	}
	require.Equal(t, 2, p.Counts().Refused)
}

func TestServer_scriptSeesTheCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var calls []provider.Call
		p, c := offline(t, provider.Config{Script: func(c provider.Call) provider.Answer {
			mu.Lock()
			defer mu.Unlock()
			calls = append(calls, c)
			return provider.Answer{Delay: time.Second}
		}})
		time.Sleep(time.Minute)
		var wg sync.WaitGroup
		for i, stream := range []bool{false, true} {
			time.Sleep(time.Duration(i) * time.Millisecond)
			wg.Go(func() { send(t, c, "http://sim/v1", body("w1", stream)) })
		}
		wg.Wait()
		require.Equal(t, []provider.Call{
			{N: 1, Up: time.Minute, Worker: "w1", Model: "sim-1", InFlight: 1},
			{N: 2, At: time.Millisecond, Up: time.Minute + time.Millisecond, Worker: "w1", Model: "sim-1", Stream: true, InFlight: 2},
		}, calls)
		require.Equal(t, 2, p.Counts().MaxInFlight)
	})
}

func TestServer_playSwitchesTheStormByHand(t *testing.T) {
	p := start(t, provider.Config{})
	ask := func() int { return send(t, http.DefaultClient, p.URL(), body("w1", false)).status }
	require.Equal(t, 200, ask())
	p.Play(provider.Always(provider.RateLimited(0)))
	require.Equal(t, 429, ask())
	p.Play(nil)
	require.Equal(t, 200, ask())
}

func TestServer_clientThatGivesUpIsCanceled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, c := offline(t, provider.Config{Latency: time.Hour})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://sim/v1/chat/completions", body("w1", false))
		require.NoError(t, err)
		_, err = c.Do(req) //nolint:bodyclose // there is none
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Equal(t, provider.Tally{Calls: 1, Canceled: 1}, p.Counts().Tally)
	})
}

func TestServer_closeEndsCallsInFlight(t *testing.T) {
	for name, begin := range map[string]func(provider.Config) (*provider.Server, error){
		"loopback": provider.Start, "in memory": provider.New,
	} {
		t.Run(name, func(t *testing.T) {
			arrived := make(chan struct{})
			p, err := begin(provider.Config{
				Latency: time.Hour,
				Script: func(provider.Call) provider.Answer {
					close(arrived)
					return provider.Answer{}
				},
			})
			require.NoError(t, err)
			client, base := http.DefaultClient, p.URL()
			if base == "" {
				client, base = &http.Client{Transport: p.Transport()}, "http://sim/v1"
			}
			failed := make(chan error, 1)
			go func() {
				resp, err := client.Post(base+"/chat/completions", "application/json", body("w1", false))
				if err == nil {
					_ = resp.Body.Close()
				}
				failed <- err
			}()
			<-arrived
			p.Close()
			require.Error(t, <-failed)
			require.Equal(t, provider.Tally{Calls: 1, Canceled: 1}, p.Counts().Tally)

			p.Close()                                                                             // idempotent
			_, err = client.Post(base+"/chat/completions", "application/json", body("w1", false)) //nolint:bodyclose // there is none
			require.Error(t, err)
		})
	}
}

func TestServer_negativeLatencyIsAnError(t *testing.T) {
	_, err := provider.Start(provider.Config{Latency: -time.Second})
	require.EqualError(t, err, "provider: Latency is -1s; it must not be negative")
}

func TestServer_listensWhereItIsTold(t *testing.T) {
	first := start(t, provider.Config{Listen: "127.0.0.1:0"})
	require.Regexp(t, `^http://127\.0\.0\.1:\d+/v1$`, first.URL())
	taken := strings.TrimSuffix(strings.TrimPrefix(first.URL(), "http://"), "/v1")
	_, err := provider.Start(provider.Config{Listen: taken})
	require.ErrorContains(t, err, "provider: listen tcp "+taken)
}

func TestServer_manyCallersAtOnce(t *testing.T) {
	p := start(t, provider.Config{Script: func(c provider.Call) provider.Answer {
		if c.N%2 == 0 {
			return provider.RateLimited(0)
		}
		return provider.Answer{}
	}})
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			for range 8 {
				req, err := http.NewRequest(http.MethodPost, p.URL()+"/chat/completions",
					bytes.NewBufferString(fmt.Sprintf(`{"model":"m","user":"w%d","messages":[{}]}`, i)))
				if err != nil {
					t.Error(err)
					return
				}
				resp, err := http.DefaultClient.Do(req)
				if err != nil {
					t.Error(err)
					return
				}
				_, _ = io.Copy(io.Discard, resp.Body)
				_ = resp.Body.Close()
			}
		})
	}
	wg.Wait()
	c := p.Counts()
	require.Equal(t, provider.Tally{Calls: 128, Accepted: 64, Refused: 64}, c.Tally)
	require.Len(t, c.Workers, 16)
	for _, w := range c.Workers {
		require.Equal(t, 8, w.Calls)
	}
}
