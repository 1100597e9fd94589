package retry_test

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdoff-go/holdoff/retry"
)

// requireUsable checks what must hold of every verdict.
func requireUsable(t *testing.T, err error) {
	c := retry.Standard(frozen(time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)))
	v := retry.Ask(context.Background(), c, err)
	require.NotContains(t, v.Rule, "panicked")
	require.NotContains(t, v.Rule, "\n")
	require.LessOrEqual(t, len(v.Rule), 240)
	require.GreaterOrEqual(t, v.RetryAfter, time.Duration(0))
	require.True(t, v.Stated || v.RetryAfter == 0)
	if v.Stated {
		require.True(t, v.Class.Retryable() || v.Class == retry.QuotaExhausted, "a wait beside %s", v)
	}
	require.Equal(t, v, retry.Ask(context.Background(), c, err), "the same on every run")
}

func FuzzStandard_Headers(f *testing.F) {
	for _, s := range readSamples(f, "corpus.jsonl") {
		for name, value := range s.Headers {
			f.Add(s.Status, name, value)
		}
	}
	f.Fuzz(func(t *testing.T, status int, name, value string) {
		requireUsable(t, &retry.ResponseError{StatusCode: status, Header: http.Header{name: {value}}})
		requireUsable(t, &retry.ResponseError{StatusCode: 429, Header: http.Header{name: {value}, "X-Ratelimit-Remaining": {"0"}, "X-Ratelimit-Reset": {value}, "Ratelimit": {value}}})
	})
}

func FuzzStandard_Body(f *testing.F) {
	for _, s := range readSamples(f, "corpus.jsonl") {
		f.Add(s.Status, s.Body)
	}
	f.Fuzz(func(t *testing.T, status int, body string) {
		requireUsable(t, &retry.ResponseError{StatusCode: status, Body: []byte(body)})
	})
}

func FuzzStandard_Text(f *testing.F) {
	for _, s := range readSamples(f, "corpus.jsonl") {
		f.Add(s.Text, 1)
	}
	f.Fuzz(func(t *testing.T, text string, exitCode int) {
		requireUsable(t, errors.New(text))
		requireUsable(t, &retry.ProcessError{ExitCode: exitCode, Stderr: []byte(text), Record: []byte(text)})
	})
}
