package retry_test

import (
	"errors"
	"io"
	"net/http"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdoff-go/holdoff/retry"
)

func header(pairs ...string) http.Header {
	h := http.Header{}
	for i := 0; i < len(pairs); i += 2 {
		h.Set(pairs[i], pairs[i+1])
	}
	return h
}

// body is a response's body that notes whether it was closed.
type body struct {
	io.Reader
	closed bool
}

func (b *body) Close() error { b.closed = true; return nil }

func TestResponse(t *testing.T) {
	require.NoError(t, retry.Response(nil))
	ok := &body{Reader: strings.NewReader("fine")}
	require.NoError(t, retry.Response(&http.Response{StatusCode: 302, Body: ok}))
	require.False(t, ok.closed, "an answer that is no error is not touched")

	refused := &body{Reader: strings.NewReader(`{"error":{"code":"insufficient_quota"}}`)}
	resp := &http.Response{StatusCode: 429, Header: header("Retry-After", "7"), Body: refused}
	err := retry.Response(resp)
	var e *retry.ResponseError
	require.ErrorAs(t, err, &e)
	require.Equal(t, 429, e.StatusCode)
	require.EqualError(t, err, `status 429 Too Many Requests: {"error":{"code":"insufficient_quota"}}`)
	require.True(t, refused.closed, "the connection is free again")
	again, readErr := io.ReadAll(resp.Body)
	require.NoError(t, readErr)
	require.Equal(t, e.Body, again)
	require.Equal(t, retry.QuotaExhausted, retry.Ask(t.Context(), nil, err).Class)

	require.EqualError(t, retry.Response(&http.Response{StatusCode: 599}), "status 599")
}

func TestResponse_BoundsTheBody(t *testing.T) {
	endless := &body{Reader: io.MultiReader(strings.NewReader(`{"error":{"code":"overloaded","message":"`), repeat{})}
	err := retry.Response(&http.Response{StatusCode: 500, Body: endless})
	var e *retry.ResponseError
	require.ErrorAs(t, err, &e)
	require.Len(t, e.Body, 64<<10)
	require.Equal(t, retry.Overloaded, retry.Ask(t.Context(), nil, err).Class)

	cut := &body{Reader: io.MultiReader(strings.NewReader(`{"error":{"code":"overloaded"`), broken{})}
	require.Equal(t, retry.Overloaded, retry.Ask(t.Context(), nil, retry.Response(&http.Response{StatusCode: 500, Body: cut})).Class)
}

// repeat is an endless body.
type repeat struct{}

func (repeat) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

// broken is a body that breaks off.
type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

func TestProcessError(t *testing.T) {
	cases := map[string]struct {
		err  error
		want retry.Class
		wait time.Duration
	}{
		"A5 exit code 75 and empty stderr":     {&retry.ProcessError{ExitCode: retry.ExitTryLater}, retry.RateLimited, 0},
		"A5 exit code 75 and words of its own": {&retry.ProcessError{ExitCode: 75, Stderr: []byte("refused, try again in 40s")}, retry.RateLimited, 40 * time.Second},
		"exit code 75, a quota":                {&retry.ProcessError{ExitCode: 75, Stderr: []byte("monthly usage limit reached")}, retry.QuotaExhausted, 0},
		"A7 clean exit, an error record":       {&retry.ProcessError{Record: []byte(`{"type":"error","status":429,"message":"slow"}`)}, retry.RateLimited, 0},
		"A11 clean exit, words on stderr":      {&retry.ProcessError{Stderr: []byte("rate limit exceeded, HTTP 429")}, retry.Unknown, 0},
		"A7 clean exit, a healthy record": {&retry.ProcessError{Record: []byte(`{"type":"rate_limit_event","rate_limit_info":{"status":"allowed_warning","resetsAt":1796410800}}
			{"type":"result","subtype":"success","is_error":false,"result":"rate limit exceeded, HTTP 429"}`)}, retry.Unknown, 0},
		"A7 clean exit, a record with status alone": {&retry.ProcessError{Record: []byte(`{"code":529,"message":"busy"}`)}, retry.Overloaded, 0},
		"record before the exit code":               {&retry.ProcessError{ExitCode: 1, Record: []byte(`{"error":{"code":"overloaded_error"}}`), Stderr: []byte("exit")}, retry.Overloaded, 0},
		"plain failure":                             {&retry.ProcessError{ExitCode: 1, Stderr: []byte("line 429: syntax error")}, retry.Unknown, 0},
		"killed":                                    {&retry.ProcessError{ExitCode: -1}, retry.Unknown, 0},
		"killed, with a limit on stderr":            {&retry.ProcessError{ExitCode: -1, Stderr: []byte("rate limit exceeded")}, retry.Unknown, 0},
		"killed in a shell":                         {&retry.ProcessError{ExitCode: 137, Stderr: []byte("OAuth token has expired")}, retry.Unknown, 0},
		"killed, with a record":                     {&retry.ProcessError{ExitCode: 137, Record: []byte(`{"error":{"code":"insufficient_quota"}}`)}, retry.QuotaExhausted, 0},
		"out of memory":                             {&retry.ProcessError{ExitCode: 1, Stderr: []byte("HTTP 429\njava.lang.OutOfMemoryError: Java heap space")}, retry.Unknown, 0},
		"out of memory, in a container":             {&retry.ProcessError{ExitCode: 1, Stderr: []byte("HTTP 429\nlast state: OOMKilled")}, retry.Unknown, 0},
		"no OOM in a zoom, or in rooms":             {&retry.ProcessError{ExitCode: 1, Stderr: []byte("Zoom rooms: HTTP 429")}, retry.RateLimited, 0},
		"got over it long before":                   {&retry.ProcessError{ExitCode: 1, Stderr: []byte("HTTP 429 Too Many Requests, retrying\n" + strings.Repeat("working on it\n", 2000) + "tests failed")}, retry.Unknown, 0},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			v := retry.Ask(t.Context(), nil, c.err)
			require.Equal(t, c.want, v.Class, "%s", v)
			require.Equal(t, c.wait, v.RetryAfter, "%s", v)
		})
	}

	inner := errors.New("exit status 1")
	err := &retry.ProcessError{ExitCode: 1, Stderr: []byte("no\nspace"), Err: inner}
	require.EqualError(t, err, "exit code 1: no space")
	require.ErrorIs(t, err, inner)
}

func TestStandard_ExitErrorOfOsExec(t *testing.T) {
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("no shell")
	}
	_, err = exec.CommandContext(t.Context(), sh, "-c", "exit 75").Output()
	require.Equal(t, retry.RateLimited, retry.Ask(t.Context(), nil, err).Class)
	_, err = exec.CommandContext(t.Context(), sh, "-c", "echo HTTP 429 Too Many Requests; echo overloaded_error: at capacity >&2; exit 1").Output()
	require.Equal(t, retry.Overloaded, retry.Ask(t.Context(), nil, err).Class, "standard error counts, standard output does not")
	_, err = exec.CommandContext(t.Context(), sh, "-c", "echo HTTP 429 Too Many Requests; exit 1").Output()
	require.Equal(t, retry.Unknown, retry.Ask(t.Context(), nil, err).Class)
}

func TestError_Text(t *testing.T) {
	boom, at := errors.New("boom\nbang"), time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	cases := map[string]struct {
		err  retry.Error
		want string
	}{
		"one attempt":   {retry.Error{Class: retry.Fatal, Attempts: 1, Causes: []error{boom}}, "fatal after 1 attempt: boom bang"},
		"the last":      {retry.Error{Class: retry.Transient, Attempts: 2, Causes: []error{io.EOF, boom}}, "transient after 2 attempts: boom bang"},
		"and its end":   {retry.Error{Class: retry.RateLimited, Attempts: 1, Causes: []error{boom, retry.ErrElapsed}}, "rate_limited after 1 attempt: boom bang: the next wait would end after MaxElapsed"},
		"when":          {retry.Error{Class: retry.RateLimited, Attempts: 1, RetryAt: at, Causes: []error{boom}}, "rate_limited after 1 attempt, retry at 2026-11-30T12:00:00Z: boom bang"},
		"fewer causes":  {retry.Error{Class: retry.RateLimited, Attempts: 40, Causes: []error{io.EOF, boom}}, "rate_limited after 40 attempts: boom bang"},
		"no causes":     {retry.Error{Class: retry.Auth}, "auth"},
		"nil cause":     {retry.Error{Class: retry.Auth, Attempts: 1, Causes: []error{nil}}, "auth after 1 attempt"},
		"panicking one": {retry.Error{Class: retry.Auth, Attempts: 1, Causes: []error{&halfFilled{}}}, "auth after 1 attempt: *retry_test.halfFilled"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) { require.EqualError(t, &c.err, c.want) })
	}
}

func TestVerdict_RuleTurnsNoWriting(t *testing.T) {
	err := &retry.ResponseError{StatusCode: 429, Body: []byte("{\"error\":{\"code\":\"insufficient\u202e_quota\u200b\"}}")}
	v := retry.Ask(t.Context(), retry.Standard(nil), err)
	require.Contains(t, v.Rule, "insufficient_quota")
	require.NotContains(t, v.String(), "\u202e", "it would turn the rest of a log")
	require.NotContains(t, err.Error(), "\u202e")
}
