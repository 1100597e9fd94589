package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/holdoff-go/holdoff/retry"
)

// maxReply bounds what is read of an answer.
const maxReply = 1 << 20

// A client makes one call, and does not retry: that is the spawner's.
type client struct {
	http *http.Client
	url  string
}

// ask makes one call with a subscription's token, and returns what it used.
func (c *client) ask(ctx context.Context, token, user, question string) (tokens int64, err error) {
	body, err := json.Marshal(map[string]any{
		"model": "sim-1", "user": user, "messages": []map[string]string{{"role": "user", "content": question}},
	})
	if err != nil {
		return 0, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url+"/chat/completions", bytes.NewReader(body))
	if err != nil {
		return 0, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+token)
	resp, err := c.http.Do(req)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	if err := retry.Response(resp); err != nil {
		return 0, err
	}
	answer, err := io.ReadAll(io.LimitReader(resp.Body, maxReply))
	if err != nil {
		return 0, err
	}
	var got struct {
		Choices []struct{}
		Usage   struct {
			TotalTokens int64 `json:"total_tokens"`
		}
	}
	if err := json.Unmarshal(answer, &got); err != nil {
		return 0, fmt.Errorf("the answer is no chat completion: %w", err)
	}
	if len(got.Choices) == 0 {
		return 0, errors.New("the answer has no choices")
	}
	return got.Usage.TotalTokens, nil
}
