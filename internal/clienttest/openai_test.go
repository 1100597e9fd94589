package clienttest

import (
	"context"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
)

func openAI() client {
	chunk := func(s string) string {
		return `data: {"id":"c1","object":"chat.completion.chunk","created":1,"model":"gpt-x","choices":[{"index":0,"delta":{"content":"` + s + `"}}]}` + "\n\n"
	}
	const limited = `{"error":{"message":"Rate limit reached for gpt-x in organization org-example on requests per min (RPM): Limit 3, Used 3, Requested 1.","type":"requests","param":null,"code":"rate_limit_exceeded"}}`
	return client{
		name:    "openai-go",
		retries: true,
		dialect: dialect{
			whole:     `{"id":"c1","object":"chat.completion","created":1,"model":"gpt-x","choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"` + text + `"}}]}`,
			stream:    []string{chunk("one "), chunk("two "), chunk("three "), chunk("four"), "data: [DONE]\n\n"},
			refused:   limited,
			exhausted: `{"error":{"message":"You exceeded your current quota, please check your plan and billing details.","type":"insufficient_quota","param":null,"code":"insufficient_quota"}}`,
			late:      "data: " + limited + "\n\n",
			stated:    http.Header{"Retry-After-Ms": {strconv.FormatInt(statedWait.Milliseconds(), 10)}},
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
			c := openai.NewClient(opts...)
			params := openai.ChatCompletionNewParams{
				Model:    "gpt-x",
				Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage("hello")},
			}
			return calls{
				whole: func(ctx context.Context) (string, error) {
					got, err := c.Chat.Completions.New(ctx, params)
					if err != nil {
						return "", err
					}
					return got.Choices[0].Message.Content, nil
				},
				stream: func(ctx context.Context) (string, error) {
					s := c.Chat.Completions.NewStreaming(ctx, params)
					defer s.Close()
					var got strings.Builder
					for s.Next() {
						got.WriteString(s.Current().Choices[0].Delta.Content)
					}
					return got.String(), s.Err()
				},
			}
		},
	}
}
