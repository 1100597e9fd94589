package retry_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdoff-go/holdoff/retry"
)

// halfFilled panics whatever it is asked, as the errors of SDKs do in tests.
type halfFilled struct{ response *http.Response }

func (e *halfFilled) Error() string              { return e.response.Status }
func (e *halfFilled) StatusCode() int            { return e.response.StatusCode }
func (e *halfFilled) HTTPStatusCode() int        { return e.response.StatusCode }
func (e *halfFilled) ErrorCode() string          { return e.response.Status }
func (e *halfFilled) RawJSON() string            { return e.response.Status }
func (e *halfFilled) DumpResponse(bool) []byte   { return []byte(e.response.Status) }
func (e *halfFilled) RetryAfter() time.Duration  { panic("half filled") }
func (e *halfFilled) Timeout() bool              { panic("half filled") }
func (e *halfFilled) Is(error) bool              { panic("half filled") }
func (e *halfFilled) Unwrap() error              { panic("half filled") }
func (e *halfFilled) GRPCStatus() *http.Response { panic("half filled") }
func (e *halfFilled) ExitCode() int              { panic("half filled") }

// circle wraps itself.
type circle struct{ next error }

func (e *circle) Error() string { return "circle" }
func (e *circle) Unwrap() error { return e.next }

// tree wraps itself twice.
type tree struct{}

func (e *tree) Error() string   { return "tree" }
func (e *tree) Unwrap() []error { return []error{e, e, errors.New("leaf")} }

type embedded struct{ *inner }

type inner struct {
	Code       int
	RetryAfter time.Duration
}

func (embedded) Error() string { return "an embedded pointer is nil" }

func TestStandard_ForeignErrorsNeverPanic(t *testing.T) {
	round := &circle{}
	round.next = &circle{round}
	var nilResponse *retry.ResponseError
	var nilProcess *retry.ProcessError
	var nilError *retry.Error
	cases := map[string]error{
		"nil pointer":             (*halfFilled)(nil),
		"half filled":             &halfFilled{},
		"nil response error":      nilResponse,
		"nil process error":       nilProcess,
		"nil retry error":         nilError,
		"empty response error":    &retry.ResponseError{},
		"empty process error":     &retry.ProcessError{},
		"exit error without one":  &exec.ExitError{},
		"circle":                  round,
		"tree":                    &tree{},
		"nil embedded pointer":    embedded{},
		"nil fields":              &fakeFields{},
		"wrapped nil pointer":     fmt.Errorf("x: %w", (*halfFilled)(nil)),
		"joined with half filled": errors.Join(&halfFilled{}, round, &tree{}),
		"class out of range":      retry.Class(99),
		"negative class":          retry.Class(-1),
	}
	for name, err := range cases {
		t.Run(name, func(t *testing.T) {
			v := retry.Ask(t.Context(), retry.Standard(nil), err)
			require.Equal(t, retry.Unknown, v.Class, "%s", v)
			require.NotContains(t, v.Rule, "panicked")
		})
	}
}

// mib is a megabyte of words that mean something.
var mib = strings.Repeat("rate limit is fine { [ ( <a> \"quota\" map[ 429 :: \n", 1<<20/49)

// ten is 10 MB of them.
var ten = strings.Repeat(mib, 10)

func TestStandard_HugeErrorsCostLittle(t *testing.T) {
	refusal := "HTTP 429 Too Many Requests: rate limit exceeded, try again in 7s"
	wide := make([]error, 100_000)
	for i := range wide {
		wide[i] = errors.New(refusal)
	}
	deep := errors.New(refusal)
	for range 10_000 {
		deep = &circle{deep}
	}
	cases := map[string]struct {
		err  error
		want retry.Class
	}{
		"10 MB of JSON":         {&retry.ResponseError{StatusCode: 429, Body: []byte(`{"error":{"code":"insufficient_quota","message":"` + strings.Repeat("x", 10<<20) + `"}}`)}, retry.QuotaExhausted},
		"10 MB of brackets":     {&retry.ResponseError{StatusCode: 500, Body: []byte(strings.Repeat(`{"error":[`, 1<<20))}, retry.Transient},
		"10 MB of colons":       {&retry.ResponseError{StatusCode: 500, Body: []byte(strings.Repeat(":", 10<<20))}, retry.Transient},
		"10 MB of one name":     {&retry.ResponseError{StatusCode: 500, Body: []byte(strings.Repeat("a_B", 3<<20))}, retry.Transient},
		"10 MB of a path":       {&retry.ResponseError{StatusCode: 500, Body: []byte(strings.Repeat("a/.b-(", 2<<20))}, retry.Transient},
		"10 MB of quotes":       {&retry.ResponseError{StatusCode: 500, Body: []byte(strings.Repeat(" 'a b", 2<<20))}, retry.Transient},
		"10 MB of arrays":       {&retry.ResponseError{StatusCode: 500, Body: []byte(strings.Repeat(`[`, 10<<20))}, retry.Transient},
		"10 MB of escapes":      {&retry.ResponseError{StatusCode: 500, Body: []byte(strings.Repeat(`{\"`, 3<<20))}, retry.Transient},
		"10 MB of noise":        {&retry.ResponseError{StatusCode: 503, Body: []byte(ten)}, retry.Overloaded},
		"100,000 lines, at end": {&retry.ProcessError{ExitCode: 1, Stderr: []byte(strings.Repeat("building package 429 of 503\n", 100_000) + refusal)}, retry.RateLimited},
		"10 MB of text":         {errors.New(ten + refusal), retry.RateLimited},
		"100,000 members":       {errors.Join(wide...), retry.RateLimited},
		"10,000 deep":           {deep, retry.Unknown},
		"header of 1 MB":        {&retry.ResponseError{StatusCode: 429, Header: http.Header{"Retry-After": {strings.Repeat("9", 1<<20)}, mib: {mib}, "Ratelimit": {strings.Repeat(`"a";r=0;t=1,`, 1<<16)}}}, retry.RateLimited},
		"10 MB in a detail":     {genAIError{Code: 429, Details: []map[string]any{{"reason": strings.Repeat("x", 10<<20)}}}, retry.RateLimited},
		"10 MB of details":      {genAIError{Code: 429, Details: manyDetails()}, retry.RateLimited},
		"details without end":   {&roundError{Code: 503, Details: roundDetails()}, retry.Overloaded},
		"10,000 headers":        {&retry.ResponseError{StatusCode: 429, Header: manyHeaders()}, retry.RateLimited},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			start := time.Now()
			v := retry.Ask(context.Background(), retry.Standard(nil), c.err)
			took := time.Since(start)
			runtime.ReadMemStats(&after)

			require.Equal(t, c.want, v.Class, "%s", v)
			require.LessOrEqual(t, len(v.Rule), 240)
			require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(24<<20))
			require.Less(t, took, 2*time.Second)
			t.Logf("%v, %d KiB", took, (after.TotalAlloc-before.TotalAlloc)>>10)
		})
	}
}

func manyDetails() []map[string]any {
	details := make([]map[string]any, 10_000)
	for i := range details {
		details[i] = map[string]any{"metadata": map[string]any{"a": []any{ten, ten, mib}, "b": ten}}
	}
	return details
}

// roundError has details that hold themselves.
type roundError struct {
	Code    int
	Details any
}

func (e *roundError) Error() string { return "round" }

func roundDetails() any {
	round := map[string]any{}
	round["a"], round["b"] = round, []any{round, round}
	return round
}

func manyHeaders() http.Header {
	h := http.Header{}
	for i := range 10_000 {
		h.Set(fmt.Sprintf("X-RateLimit-Remaining-%d", i), "0")
		h.Set(fmt.Sprintf("X-RateLimit-Reset-%d", i), "60")
	}
	return h
}
