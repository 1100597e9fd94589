package sdktest

import (
	"context"
	"testing"
	"time"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	sashabaranov "github.com/sashabaranov/go-openai"

	"github.com/holdoff-go/holdoff/retry"
)

// The headers are lost in go-openai, so its waits come from the text alone.
var openAI = []answer{
	{
		name: "throttle", status: 429,
		body:  `{"error":{"message":"Rate limit reached for gpt-x in organization org-example on requests per min (RPM): Limit 3, Used 3, Requested 1. Please try again in 20s.","type":"requests","param":null,"code":"rate_limit_exceeded"}}`,
		class: retry.RateLimited, wait: 20 * time.Second, scope: retry.ScopeOrg,
	},
	{
		name: "quota", status: 429,
		body:  `{"error":{"message":"You exceeded your current quota, please check your plan and billing details.","type":"insufficient_quota","param":null,"code":"insufficient_quota"}}`,
		class: retry.QuotaExhausted,
	},
	{
		name: "request too large", status: 429,
		body:  `{"error":{"message":"Request too large for gpt-x in organization org-example on tokens per min (TPM): Limit 30000, Requested 37313.","type":"tokens","param":null,"code":"rate_limit_exceeded"}}`,
		class: retry.Fatal,
	},
	{
		name: "overloaded", status: 503,
		body:  `{"error":{"message":"Slow Down","type":"server_error","param":null,"code":"slow_down"}}`,
		class: retry.Overloaded,
	},
	{
		name: "bad key", status: 401,
		body:  `{"error":{"message":"Incorrect API key provided: sk-***.","type":"invalid_request_error","param":null,"code":"invalid_api_key"}}`,
		class: retry.Auth, scope: retry.ScopeKey,
	},
	{
		name: "context too long", status: 400,
		body:  `{"error":{"message":"This model's maximum context length is 8192 tokens.","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}`,
		class: retry.Fatal,
	},
	{name: "server error", status: 500, body: `{"error":{"message":"The server had an error","type":"server_error","param":null,"code":null}}`, class: retry.Transient},
	{name: "bad gateway", status: 502, headers: map[string]string{"Content-Type": "text/html"}, body: `<html><title>502 Bad Gateway</title></html>`, class: retry.Transient},
}

func callOpenAI(ctx context.Context, t *testing.T, url string) error {
	c := openai.NewClient(option.WithAPIKey("sk-test"), option.WithBaseURL(url), option.WithMaxRetries(0), option.WithHTTPClient(client(t)))
	_, err := c.Chat.Completions.New(ctx, openai.ChatCompletionNewParams{Model: "gpt-x", Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage("hi")}})
	return err
}

func TestOpenAI(t *testing.T) {
	testAnswers(t, callOpenAI, openAI)
	testAnswers(t, callOpenAI, []answer{{
		name: "wait in a header", status: 429, headers: map[string]string{"Retry-After-Ms": "90000", "Retry-After": "91"},
		body:  `{"error":{"message":"Rate limit reached.","type":"requests","param":null,"code":"rate_limit_exceeded"}}`,
		class: retry.RateLimited, wait: 90 * time.Second,
	}})
}

func TestOpenAI_ErrorInTheStream(t *testing.T) {
	call := func(ctx context.Context, t *testing.T, url string) error {
		c := openai.NewClient(option.WithAPIKey("sk-test"), option.WithBaseURL(url), option.WithMaxRetries(0), option.WithHTTPClient(client(t)))
		stream := c.Chat.Completions.NewStreaming(ctx, openai.ChatCompletionNewParams{Model: "gpt-x", Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage("hi")}})
		defer stream.Close()
		for stream.Next() {
		}
		return stream.Err()
	}
	testAnswers(t, call, []answer{{
		name: "throttle", status: 200, headers: map[string]string{"Content-Type": "text/event-stream"},
		body:  "data: {\"error\":{\"message\":\"Rate limit reached, please try again in 11s.\",\"type\":\"tokens\",\"code\":\"rate_limit_exceeded\"}}\n\n",
		class: retry.RateLimited, wait: 11 * time.Second,
	}})
}

func TestGoOpenAI(t *testing.T) {
	testAnswers(t, func(ctx context.Context, t *testing.T, url string) error {
		config := sashabaranov.DefaultConfig("sk-test")
		config.BaseURL = url
		config.HTTPClient = client(t)
		_, err := sashabaranov.NewClientWithConfig(config).CreateChatCompletion(ctx, sashabaranov.ChatCompletionRequest{
			Model: "gpt-x", Messages: []sashabaranov.ChatCompletionMessage{{Role: "user", Content: "hi"}},
		})
		return err
	}, openAI)
}
