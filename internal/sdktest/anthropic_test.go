package sdktest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"

	"github.com/holdoff-go/holdoff/retry"
)

func anthropicClient(t *testing.T, url string) anthropic.Client {
	return anthropic.NewClient(option.WithAPIKey("sk-ant-test"), option.WithBaseURL(url), option.WithMaxRetries(0), option.WithHTTPClient(client(t)))
}

var hello = anthropic.MessageNewParams{
	Model: "claude-x", MaxTokens: 16, Messages: []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock("hi"))},
}

func TestAnthropic(t *testing.T) {
	reset := time.Now().Add(90 * time.Minute)
	testAnswers(t, func(ctx context.Context, t *testing.T, url string) error {
		c := anthropicClient(t, url)
		_, err := c.Messages.New(ctx, hello)
		return err
	}, []answer{
		{
			name: "throttle", status: 429, headers: map[string]string{"Retry-After": "17"},
			body:  `{"type":"error","error":{"type":"rate_limit_error","message":"This request would exceed your organization's rate limit."}}`,
			class: retry.RateLimited, wait: 17 * time.Second, scope: retry.ScopeOrg,
		},
		{
			name: "empty bucket", status: 429,
			headers: map[string]string{
				"Anthropic-Ratelimit-Input-Tokens-Remaining": "0", "Anthropic-Ratelimit-Input-Tokens-Reset": time.Now().Add(40 * time.Second).UTC().Format(time.RFC3339),
				"Anthropic-Ratelimit-Requests-Remaining": "9", "Anthropic-Ratelimit-Requests-Reset": time.Now().Add(time.Hour).UTC().Format(time.RFC3339),
			},
			body:  `{"type":"error","error":{"type":"rate_limit_error","message":"Number of request tokens has exceeded your per-minute rate limit"}}`,
			class: retry.RateLimited, wait: 40 * time.Second,
		},
		{
			name: "plan window", status: 429,
			headers: map[string]string{"Anthropic-Ratelimit-Unified-Status": "rejected", "Anthropic-Ratelimit-Unified-Reset": fmt.Sprint(reset.Unix())},
			body:    `{"type":"error","error":{"type":"rate_limit_error","message":"This request would exceed your account's rate limit."}}`,
			class:   retry.QuotaExhausted, wait: 90 * time.Minute, scope: retry.ScopeAccount,
		},
		{name: "overloaded", status: 529, body: `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`, class: retry.Overloaded},
		{
			name: "balance", status: 400,
			body:  `{"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low to access the Anthropic API."}}`,
			class: retry.QuotaExhausted,
		},
		{name: "bad key", status: 401, body: `{"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key"}}`, class: retry.Auth},
		{name: "prompt too long", status: 400, body: `{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 205004 tokens > 200000 maximum"}}`, class: retry.Fatal},
	})
}

func TestAnthropic_ErrorInTheStream(t *testing.T) {
	testAnswers(t, func(ctx context.Context, t *testing.T, url string) error {
		c := anthropicClient(t, url)
		stream := c.Messages.NewStreaming(ctx, hello)
		defer stream.Close()
		for stream.Next() {
		}
		return stream.Err()
	}, []answer{{
		name: "overloaded", status: 200, headers: map[string]string{"Content-Type": "text/event-stream"},
		body:  "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}\n\n",
		class: retry.Overloaded,
	}})
}
