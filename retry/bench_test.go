package retry_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/holdoff-go/holdoff/retry"
)

func BenchmarkStandard(b *testing.B) {
	refusal := &retry.ResponseError{
		StatusCode: 429,
		Header: http.Header{
			"Content-Type":                   {"application/json"},
			"Date":                           {"Mon, 30 Nov 2026 12:00:00 GMT"},
			"X-Request-Id":                   {"req_0000000000000000000001"},
			"Retry-After":                    {"20"},
			"X-Ratelimit-Limit-Requests":     {"500"},
			"X-Ratelimit-Remaining-Requests": {"0"},
			"X-Ratelimit-Reset-Requests":     {"20s"},
			"Openai-Processing-Ms":           {"12"},
			"Strict-Transport-Security":      {"max-age=31536000"},
			"Access-Control-Expose-Headers":  {"X-Request-ID"},
		},
		Body: []byte(`{"error":{"message":"Rate limit reached for gpt-x in organization org-example on requests per min (RPM): Limit 500, Used 500, Requested 1. Please try again in 20s. Visit https://platform.openai.com/account/rate-limits to learn more.","type":"requests","param":null,"code":"rate_limit_exceeded"}}`),
	}
	errs := []struct {
		name string
		err  error
	}{
		{"429 with a JSON body", refusal},
		{"429 with a JSON body, wrapped", fmt.Errorf("turn 3: %w", refusal)},
		{"429 bare", &retry.ResponseError{StatusCode: 429}},
		{"an SDK's error by its methods", refused{20 * time.Second}},
		{"a worker's own error", fmt.Errorf("build: %w", errors.New("undefined: frobnicate"))},
		{"a class", retry.Transient},
		{"text of a command line", &retry.ProcessError{ExitCode: 1, Stderr: []byte("You've hit your session limit · resets 9pm (Europe/Berlin)")}},
		{"nil", nil},
	}
	c := retry.Standard(frozen(time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)))
	ctx := context.Background()
	for _, e := range errs {
		b.Run(e.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				c.Classify(ctx, e.err)
			}
		})
	}
}
