package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"

	"github.com/holdoff-go/holdoff/retry"
)

// maxReply bounds what is read of an answer.
const maxReply = 4 << 20

type message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

// A client speaks the OpenAI chat-completions shape. It makes one call and does
// not retry.
type client struct {
	http            *http.Client
	url, model, key string

	mu    sync.Mutex
	tally tally
}

// A tally counts calls by their end. Those that failed got no answer, or none that
// can be read.
type tally struct{ calls, accepted, refused, failed int }

// complete makes one call. Its error is a *retry.ResponseError when the endpoint
// answered with an error: all that holdoff needs to know of it.
func (c *client) complete(ctx context.Context, worker string, talk []message) (string, error) {
	text, err := c.call(ctx, worker, talk)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tally.calls++
	switch {
	case err == nil:
		c.tally.accepted++
	case errors.As(err, new(*retry.ResponseError)):
		c.tally.refused++
	default:
		c.tally.failed++
	}
	return text, err
}

func (c *client) call(ctx context.Context, worker string, talk []message) (string, error) {
	body, err := json.Marshal(map[string]any{"model": c.model, "user": worker, "messages": talk})
	if err != nil {
		return "", err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, bytes.NewReader(body))
	if err != nil {
		return "", err
	}
	req.Header.Set("Content-Type", "application/json")
	if c.key != "" {
		req.Header.Set("Authorization", "Bearer "+c.key)
	}
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
		Error   json.RawMessage
		Choices []struct{ Message message }
	}
	if err := json.Unmarshal(answer, &got); err != nil {
		return "", fmt.Errorf("the endpoint's answer is no chat completion: %w", err)
	}
	if len(got.Choices) == 0 || (len(got.Error) > 0 && string(got.Error) != "null") {
		// Some endpoints send their errors with a 200.
		return "", &retry.ResponseError{StatusCode: resp.StatusCode, Header: resp.Header, Body: answer}
	}
	return got.Choices[0].Message.Content, nil
}

// counted returns the calls so far.
func (c *client) counted() tally {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.tally
}
