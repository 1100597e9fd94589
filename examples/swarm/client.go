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
const maxReply = 4 << 20

// A client makes one call, and does not retry: that is the spawner's.
type client struct {
	http *http.Client
	url  string
}

type message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

// ask makes one call. Its error is a *retry.ResponseError when the provider
// answered with an error: all that holdoff needs to know of it.
func (c *client) ask(ctx context.Context, user, question string) (string, error) {
	body, err := json.Marshal(map[string]any{
		"model": "sim-1", "user": user, "messages": []message{{"user", question}},
	})
	if err != nil {
		return "", err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url+"/chat/completions", bytes.NewReader(body))
	if err != nil {
		return "", err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := c.http.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	if err := retry.Response(resp); err != nil {
		return "", err
	}
	answer, err := io.ReadAll(io.LimitReader(resp.Body, maxReply))
	if err != nil {
		return "", err
	}
	var got struct {
		Choices []struct{ Message message }
	}
	if err := json.Unmarshal(answer, &got); err != nil {
		return "", fmt.Errorf("the answer is no chat completion: %w", err)
	}
	if len(got.Choices) == 0 {
		return "", errors.New("the answer has no choices")
	}
	return got.Choices[0].Message.Content, nil
}
