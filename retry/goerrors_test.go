package retry_test

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"syscall"
	"time"
)

// goErrors builds the samples that are Go errors, by id. The expressions are those
// of the corpus; the fakes stand for the error types of SDKs.
var goErrors = map[string]func() error{
	"go-url-deadline-ctx-alive": func() error {
		return &url.Error{Op: "Post", URL: "https://api.example.test/v1/messages", Err: context.DeadlineExceeded}
	},
	"go-url-deadline-ctx-done": func() error {
		return &url.Error{Op: "Post", URL: "https://api.example.test/v1/messages", Err: context.DeadlineExceeded}
	},
	"go-join-429-and-canceled-alive": func() error {
		return errors.Join(&fakeHTTP{code: 429, ra: 7 * time.Second, msg: "status 429"}, context.Canceled)
	},
	"go-rate-wait-would-exceed": func() error { return errors.New("rate: Wait(n=1) would exceed context deadline") },
	"go-rate-exceeds-burst":     func() error { return errors.New("rate: Wait(n=5000) exceeds limiter's burst 1000") },
	"go-client-timeout": func() error {
		return &url.Error{Op: "Get", URL: "https://api.example.test", Err: fakeTimeout("context deadline exceeded (Client.Timeout exceeded while awaiting headers)")}
	},
	"go-dns-temporary": func() error {
		return &net.DNSError{Err: "server misbehaving", Name: "api.example.test", IsTemporary: true}
	},
	"go-eof-url":    func() error { return &url.Error{Op: "Post", URL: "https://api.example.test", Err: io.EOF} },
	"go-conn-reset": func() error { return fmt.Errorf("read tcp: %w", syscall.ECONNRESET) },
	"go-x509":       func() error { return &url.Error{Op: "Get", URL: "https://x.test", Err: x509.UnknownAuthorityError{}} },
	"go-redirects": func() error {
		return &url.Error{Op: "Get", URL: "https://x.test", Err: errors.New("stopped after 10 redirects")}
	},
	"go-aws-throttle": func() error { return &fakeAWS{status: 400, code: "ThrottlingException", msg: "Rate exceeded"} },
	"go-aws-quota": func() error {
		return &fakeAWS{status: 400, code: "ServiceQuotaExceededException", msg: "too many jobs"}
	},
	"go-openai-text-only": func() error { return errors.New("OpenAI API error: 429 Too Many Requests") },
	"go-stainless-quota": func() error {
		return &fakeStainless{raw: `{"message":"You exceeded your current quota, please check your plan and billing details.","type":"insufficient_quota","param":null,"code":"insufficient_quota"}`, dump: "HTTP/1.1 429 Too Many Requests\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}", msg: "OpenAI API error: 429 Too Many Requests"}
	},
	"go-stainless-anthropic-sse": func() error {
		return &fakeStainless{raw: `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`, dump: "", msg: `POST "https://api.anthropic.com/v1/messages": 200 OK {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`}
	},
	"go-anthropic-text-v": func() error {
		return fmt.Errorf("llm: %v", errors.New(`POST "https://api.anthropic.com/v1/messages": 429 Too Many Requests {"type":"error","error":{"type":"rate_limit_error","message":"Number of requests has exceeded your per-minute rate limit"}}`))
	},
	"go-anthropic-port-429": func() error {
		return errors.New(`POST "http://127.0.0.1:42911/v1/messages": 500 Internal Server Error {"type":"error","error":{"type":"api_error","message":"Internal server error"}}`)
	},
	"go-genai-text-per-day": func() error {
		return errors.New("Error 429, Message: You exceeded your current quota., Status: RESOURCE_EXHAUSTED, Details: [map[@type:type.googleapis.com/google.rpc.QuotaFailure violations:[map[quotaId:GenerateRequestsPerDayPerProjectPerModel-FreeTier quotaValue:20]]] map[@type:type.googleapis.com/google.rpc.RetryInfo retryDelay:36s]]")
	},
	"go-fields-429": func() error {
		return &fakeFields{StatusCode: 429, Header: http.Header{"Retry-After": {"9"}}, Msg: "provider error"}
	},
	"go-fields-response-403-secondary": func() error {
		return &fakeFields{Response: &http.Response{StatusCode: 403, Header: http.Header{"Retry-After": {"60"}, "X-Ratelimit-Remaining": {"4000"}}}, Msg: "GET https://api.github.com/x: 403 You have exceeded a secondary rate limit. Please wait a few minutes before you try again."}
	},
	"go-langchaingo-quota-text": func() error {
		return errors.New("API returned unexpected status code: 429: You exceeded your current quota, please check your plan and billing details.")
	},
	"go-slack-text":             func() error { return errors.New("slack rate limit exceeded, retry after 30s") },
	"go-slack-ratelimited-word": func() error { return errors.New("ratelimited") },
	"go-azcore-text": func() error {
		return errors.New("POST https://x.openai.azure.com/\n--------\nRESPONSE 429: 429 Too Many Requests\nERROR CODE: 429\n--------\n{\n  \"error\": {\n    \"code\": \"429\",\n    \"message\": \"Requests have exceeded call rate limit of your current OpenAI S0 pricing tier. Please retry after 26 seconds.\"\n  }\n}\n--------\n")
	},
	"go-grpc-text-unavailable": func() error { return errors.New("rpc error: code = Unavailable desc = error reading from server: EOF") },
	"go-temporal-next-retry": func() error {
		return &fakeTemporal{msg: "rate limited (type: RateLimit, retryable: true)", next: 45 * time.Second}
	},
	"go-k8s-client-throttle": func() error {
		return fmt.Errorf("client rate limiter Wait returned an error: %w", context.DeadlineExceeded)
	},
	"go-pg-too-many": func() error { return errors.New("FATAL: sorry, too many clients already (SQLSTATE 53300)") },
	"go-join-cleanup-and-529": func() error {
		return errors.Join(fmt.Errorf("llm: %w", &fakeHTTP{code: 529, msg: "status 529"}), errors.New("cleanup: exit status 1"))
	},
	"go-exec-killed-ctx":   func() error { return errors.New("signal: killed") },
	"go-negative-429-line": func() error { return errors.New("parse main.go:429:7: expected operand") },
	"go-negative-narrate":  func() error { return errors.New("cannot narrate limited edition text") },
	"go-timeout-interface": func() error { return fakeTimeout("op timed out") },
}

type fakeHTTP struct {
	code int
	ra   time.Duration
	msg  string
}

func (e *fakeHTTP) Error() string             { return e.msg }
func (e *fakeHTTP) StatusCode() int           { return e.code }
func (e *fakeHTTP) RetryAfter() time.Duration { return e.ra }

type fakeAWS struct { // aws-sdk-go-v2 response error + smithy API error
	status    int
	code, msg string
}

func (e *fakeAWS) Error() string        { return e.code + ": " + e.msg }
func (e *fakeAWS) HTTPStatusCode() int  { return e.status }
func (e *fakeAWS) ErrorCode() string    { return e.code }
func (e *fakeAWS) ErrorMessage() string { return e.msg }

type fakeTemporal struct {
	msg          string
	next         time.Duration
	nonRetryable bool
}

func (e *fakeTemporal) Error() string                 { return e.msg }
func (e *fakeTemporal) NextRetryDelay() time.Duration { return e.next }
func (e *fakeTemporal) NonRetryable() bool            { return e.nonRetryable }

type fakeStainless struct{ raw, dump, msg string } // openai-go, anthropic-sdk-go

func (e *fakeStainless) Error() string            { return e.msg }
func (e *fakeStainless) RawJSON() string          { return e.raw }
func (e *fakeStainless) DumpResponse(bool) []byte { return []byte(e.dump) }

type fakeFields struct { // googleapi.Error, azcore.ResponseError, go-github
	StatusCode int
	Header     http.Header
	Response   *http.Response
	Msg        string
}

func (e *fakeFields) Error() string { return e.Msg }

type fakeTimeout string

func (e fakeTimeout) Error() string        { return string(e) }
func (e fakeTimeout) Timeout() bool        { return true }
func (e fakeTimeout) Is(target error) bool { return target == context.DeadlineExceeded }
