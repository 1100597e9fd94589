package evidence

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestLogged(t *testing.T) {
	for name, c := range map[string]struct{ text, words string }{
		"an error's":                     {`{"level":"error","msg":"call failed","error":"HTTP 429"}`, "call failed: HTTP 429\n"},
		"by number":                      {`{"level":50,"msg":"call failed"}`, "call failed\n"},
		"with a status":                  {`{"severity":"CRITICAL","message":"call failed","status":503}`, "call failed (status 503)\n"},
		"behind a prefix":                {"worker-1 | {\"lvl\":\"fatal\",\"msg\":\"x\"}\nend", "worker-1 | x\nend"},
		"Elastic's":                      {`{"log":{"level":"error"},"message":"x"}`, "x\n"},
		"of a lower level":               {`{"level":"info","msg":"HTTP 429"}`, `{"level":"info","msg":"HTTP 429"}`},
		"marked as an error by its type": {`{"level":"error","type":"error","message":"x"}`, `{"level":"error","type":"error","message":"x"}`},
		"cut off":                        {`{"level":"error"`, "\n"},
		"no record":                      {"level: error\n{}", "level: error\n{}"},
	} {
		t.Run(name, func(t *testing.T) {
			var e Evidence
			require.Equal(t, c.words, e.logged(c.text))
		})
	}
}

func TestPrintedHeaders(t *testing.T) {
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	for text, want := range map[string]bool{
		`HTTP 429 { 'retry-after': '8' }`:                     true,
		`HTTP 429 { "Retry-After": [ "8" ] }`:                 true,
		"HTTP 403\nx-ratelimit-remaining: 0\nother: 1":        true,
		`HTTP 429 { 'retry-before': '8' }`:                    false,
		`headers of a test: { 'retry-after': '8' }`:           false, // of no answer
		"HTTP 429, the limit of x-ratelimit-remaining: is it": false,
	} {
		e := Evidence{Now: now}
		e.Prose(text)
		require.Equal(t, want, e.Header.HasRetryAfter() || e.Header.Empty(), text)
	}
	e := Evidence{Now: now}
	e.Prose("Err(ApiError { status: 429, retry_after: Some(9s) })")
	require.Equal(t, 9*time.Second, e.Waits[Body].For)
}
