package clienttest

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"
)

func anthropicAI() client {
	event := func(name, data string) string { return "event: " + name + "\ndata: " + data + "\n\n" }
	word := func(s string) string {
		return event("content_block_delta", `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"`+s+`"}}`)
	}
	return client{
		name:    "anthropic-sdk-go",
		retries: true,
		dialect: dialect{
			whole: `{"id":"m1","type":"message","role":"assistant","model":"claude-x","content":[{"type":"text","text":"` + text + `"}],"stop_reason":"end_turn","usage":{"input_tokens":1,"output_tokens":4}}`,
			stream: []string{
				event("message_start", `{"type":"message_start","message":{"id":"m1","type":"message","role":"assistant","model":"claude-x","content":[],"usage":{"input_tokens":1,"output_tokens":1}}}`),
				event("content_block_start", `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`),
				word("one "), word("two "), word("three "), word("four"),
				event("content_block_stop", `{"type":"content_block_stop","index":0}`),
				event("message_stop", `{"type":"message_stop"}`),
			},
			refused:   `{"type":"error","error":{"type":"rate_limit_error","message":"This request would exceed your organization's rate limit of 50 requests per minute."}}`,
			exhausted: `{"type":"error","error":{"type":"rate_limit_error","message":"You have reached your monthly spend limit.","details":{"error_code":"enforced_spend_limit_reached"}}}`,
			late:      event("error", `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`),
			stated:    http.Header{"Retry-After": {"0.15"}},
		},
		isSSE: func(r *http.Request) bool {
			body, _ := io.ReadAll(r.Body)
			return strings.Contains(string(body), `"stream":true`)
		},
		open: func(_ *testing.T, baseURL string, hc *http.Client, ownRetries bool) calls {
			opts := []option.RequestOption{option.WithBaseURL(baseURL), option.WithAPIKey("key"), option.WithHTTPClient(hc)}
			if !ownRetries {
				opts = append(opts, option.WithMaxRetries(0))
			}
			c := anthropic.NewClient(opts...)
			params := anthropic.MessageNewParams{
				Model:     "claude-x",
				MaxTokens: 16,
				Messages:  []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock("hello"))},
			}
			return calls{
				whole: func(ctx context.Context) (string, error) {
					got, err := c.Messages.New(ctx, params)
					if err != nil {
						return "", err
					}
					return got.Content[0].Text, nil
				},
				stream: func(ctx context.Context) (string, error) {
					s := c.Messages.NewStreaming(ctx, params)
					defer s.Close()
					var got strings.Builder
					for s.Next() {
						got.WriteString(s.Current().Delta.Text)
					}
					return got.String(), s.Err()
				},
			}
		},
	}
}
