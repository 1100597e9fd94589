package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"

	"github.com/holdoff-go/holdoff/examples/internal/stage"
	"github.com/holdoff-go/holdoff/retry"
	"github.com/holdoff-go/holdoff/spawn"
)

// calls is how many calls a job makes, one after the other.
const calls = 3

// A job is some work that calls the provider.
type job struct {
	id   string
	made int // calls that were accepted, whichever attempt made them
}

// do makes the calls that have not been made.
func (j *job) do(ctx context.Context, a *spawn.Attempt, s *stage.Stage) error {
	for first := true; j.made < calls; first = false {
		// holdoff: the first call of an attempt is what it was let in for; each
		// further one asks.
		if !first {
			if err := a.Wait(ctx); err != nil {
				return err
			}
		}
		if err := call(ctx, s, j.id); err != nil {
			return err
		}
		j.made++
		a.Progress() // holdoff: it was accepted, and will not be repeated
	}
	return nil
}

func call(ctx context.Context, s *stage.Stage, id string) error {
	body, err := json.Marshal(map[string]any{
		"model": "sim-1", "user": id, "messages": []map[string]string{{"role": "user", "content": "What makes a storm pass?"}},
	})
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL+"/chat/completions", bytes.NewReader(body))
	if err != nil {
		return err
	}
	client := &http.Client{Transport: s.Transport}
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	// holdoff: an answer of 400 and above as an error that says what it means.
	if err := retry.Response(resp); err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, resp.Body)
	return err
}
