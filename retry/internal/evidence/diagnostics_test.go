package evidence

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestWithoutDiagnostics(t *testing.T) {
	for name, c := range map[string]struct{ text, kept string }{
		"a compiler, with its excerpt": {"# x\nx.c:12:3: error: no\n   12 |   f();\n      |   ^\nmake failed\n", "# x\nmake failed\n"},
		"a place behind a prefix":      {"[ERROR] src/a.ts(3,10): error TS1: no\nend", "end"},
		"a failing test":               {"--- FAIL: TestX (0.00s)\n    x_test.go:3: HTTP 429\n\n        more\nHTTP 503\n", "HTTP 503\n"},
		"a traceback":                  {"Traceback (most recent call last):\n  File \"x.py\", line 3, in f\n    raise RateLimitError()\nRateLimitError: slow", "RateLimitError: slow"},
		"a stack, and what it is of":   {"RateLimitError: slow\n    at f (/x.js:1:2)\n    at async g (index 0)\nend", "RateLimitError: slow\nend"},
		"a stack before members":       {"E: x\n    at f (/x.js:1:2) {\n  status: 429\n}", "E: x\n{\n  status: 429\n}"},
		"no stack: at capacity":        {"the model is\nat capacity, or\nat 3:15 pm", "the model is\nat capacity, or\nat 3:15 pm"},
		"a patch":                      {"diff --git a/x b/x\n@@ -1 +1 @@\n-429\n+503\nend", "end"},
		"a list is no patch":           {"failed:\n- rate limit exceeded\n", "failed:\n- rate limit exceeded\n"},
		"a commit":                     {"commit 1a2b3c4d5e\nAuthor: A\nDate:   Mon\n\n    HTTP 429\n\nend", "end"},
		"numbers in a report":          {"  1 failing\n\n  1) client\n       waits on HTTP 429:\n", "  1 failing\n\n"},
		"numbers in a list":            {"  1) HTTP 429\n", "  1) HTTP 429\n"},
		"a log's place":                {"2026/11/30 12:00:00 main.go:42: HTTP 429", "2026/11/30 12:00:00 main.go:42: HTTP 429"},
		"a mark before an error":       {"✕ HTTP 429\n", "✕ HTTP 429\n"},
		"a mark before a test":         {"  ✕ waits on HTTP 429 (12 ms)\n", ""},
		"Ruby's exception":             {"/x.rb:12:in 'f': slow (RateLimitError)\n\tfrom /x.rb:1:in 'g'\n", "/x.rb:12:in 'f': slow (RateLimitError)\n"},
		"Rust's panic":                 {"thread 'main' panicked at src/x.rs:1:2:\nRateLimited\n", "RateLimited\n"},
		"options":                      {"Flags:\n  --rate-limit int   before HTTP 429\n  -q, --quota int    a day\n--model x: HTTP 429\n", "Flags:\n--model x: HTTP 429\n"},
		"settings":                     {"rate_limit:\n  status: 429\nQUOTA_STATUS=429\nerror:\n  status: 503\n", "error:\n  status: 503\n"},
		"a section":                    {"[rate_limit]\nstatus = 429\n\n[error]\nstatus = 503\n", "\n[error]\nstatus = 503\n"},
		"a table":                      {"| 429 | Too Many |\n| HTTP 429 |\n", "| HTTP 429 |\n"},
		"metrics":                      {"x_total{code=\"429\"} 12\nx{code=\"429\"} failed\n", "x{code=\"429\"} failed\n"},
		"changes":                      {"- [x] HTTP 429\nfix(llm): HTTP 429\n- Fixed: HTTP 429\nbuild: HTTP 503\n", "build: HTTP 503\n"},
		"remarks":                      {"1. `x.go`: HTTP 429\n- x.go:12 HTTP 429\n- x.csv: HTTP 503\n", "- x.csv: HTTP 503\n"},
		"what is pointed at":           {"x.rb: no\nraise \"HTTP 429\"\n      ^~~~\nend\n", "x.rb: no\n      ^~~~\nend\n"},
		"below the name of a file":     {"x.md\n 42:10  error  HTTP 429\n11:59 error: HTTP 503\n", "x.md\n11:59 error: HTTP 503\n"},
		"CRLF":                         {"x.c:1:2: no\r\nend\r\n", "end\r\n"},
		"nothing":                      {"", ""},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, c.kept, withoutDiagnostics(c.text))
		})
	}
}

func TestWithoutOperands(t *testing.T) {
	for text, want := range map[string]string{
		`parsing "429 Too Many Requests": invalid syntax`:      `parsing "": invalid syntax`,
		`could not close issue #12 "Back off on HTTP 429" (x)`: `could not close issue #12 "" (x)`,
		`rm: cannot remove 'HTTP 429 page'`:                    `rm: cannot remove ''`,
		`server returned "429 Too Many Requests"`:              `server returned "429 Too Many Requests"`,
		`error="rate limit exceeded" n=3`:                      `error="rate limit exceeded" n=3`,
		`You've hit the users' limit`:                          `You've hit the users' limit`,
		`an open "quotation mark`:                              `an open "quotation mark`,
	} {
		require.Equal(t, want, withoutOperands(text))
	}
}

func TestWithoutSuppositions(t *testing.T) {
	for text, want := range map[string]string{
		"It stops. Once the rate limit is exceeded, it answers 429. Failed": "It stops.  Failed",
		"- when the server answers 429 it waits\nfailed":                    "- failed",
		"review: Users who exceed the limit receive 429":                    "review: ",
		"When the worker called, the API returned 429":                      "When the worker called, the API returned 429",
		"if you have exceeded the limit, wait":                              "if you have exceeded the limit, wait",
		"When calling the API: 429 Too Many Requests":                       "When calling the API: 429 Too Many Requests",
		"if the problem persists, call us":                                  "if the problem persists, call us",
		"":                                                                  "",
	} {
		require.Equal(t, want, withoutSuppositions(text))
	}
}

func TestPrintedCodes(t *testing.T) {
	for text, want := range map[string][]string{
		"https response error StatusCode: 400, RequestID: X, ProvisionedThroughputExceededException: slow": {"ProvisionedThroughputExceededException"},
		"https response error StatusCode: 503, RequestID: X, HostID: Y, NoSuchException: no":               {"NoSuchException"},
		"https response error StatusCode: 503, RequestID: X, HostID: Y, api error SlowDown: slow":          {"SlowDown"},
		"Http Status Code: 500. Error Code: InternalError. Opc request id: x.":                             {"InternalError"},
		"a.b.model.ThrottlingException: slow (Service: X, Status Code: 400, Request ID: Y)":                {"ThrottlingException"},
		"[TencentCloudSDKError] Code=AuthFailure.SecretIdNotFound, Message=x":                              {"AuthFailure.SecretIdNotFound"},
		"Error Code: 429. Error Code: see the manual":                                                      nil,
	} {
		var e Evidence
		e.printedCodes(text)
		require.Equal(t, want, e.Codes, text)
		require.Equal(t, want != nil, e.Envelope, text)
	}
}

func TestPrinted(t *testing.T) {
	type inner struct {
		Reason string `json:"reason,omitempty"`
		hidden int
	}
	value := map[string]any{
		"b":    []any{1, 2.5, true, nil, &inner{Reason: "x", hidden: 1}, inner{}},
		"a":    "with \"quotes\"",
		"wait": 37 * time.Second,
		"at":   time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC),
		"raw":  []byte("no text"),
	}
	require.JSONEq(t, `{"a":"with \"quotes\"","at":"2026-11-30T12:00:00Z","b":[1,2.5,true,null,{"reason":"x"},{}],"raw":[],"wait":"37s"}`, printed(reflect.ValueOf(value)))

	long := strings.Repeat("x", 1<<20)
	require.LessOrEqual(t, len(printed(reflect.ValueOf(map[string]any{"a": long, "b": long}))), maxText)
}

func TestProtoDuration(t *testing.T) {
	type duration struct {
		Seconds int64
		Nanos   int32
	}
	for _, c := range []struct {
		d    duration
		want time.Duration
		ok   bool
	}{
		{duration{7, 5e8}, 7500 * time.Millisecond, true},
		{duration{0, 0}, 0, true},
		{duration{-5, 0}, 0, false},
		{duration{0, -1}, 0, false},
		{duration{-9223372037, 0}, 0, false},
		{duration{315576000000, 0}, 0, false},
	} {
		got, ok := protoDuration(reflect.ValueOf(&c.d))
		require.Equal(t, c.ok, ok, "%+v", c.d)
		require.Equal(t, c.want, got, "%+v", c.d)
	}
}
