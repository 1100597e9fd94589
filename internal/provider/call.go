package provider

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"
)

// maxRequest bounds the body of a request, as a provider does.
const maxRequest = 1 << 20

// A Call is what a Script knows of one call.
type Call struct {
	N        int           // from 1, in order of arrival
	At       time.Duration // since the first call; what Storm goes by
	Up       time.Duration // since New or Start
	Worker   string        // the request's "user"
	Key      string        // the bearer token
	Model    string
	Stream   bool
	InFlight int // calls being answered, this one included
}

// A request is the part of a chat-completions request that matters here.
type request struct {
	Model    string            `json:"model"`
	Messages []json.RawMessage `json:"messages"`
	Stream   bool              `json:"stream"`
	User     string            `json:"user"`
	size     int               // of the body, in bytes
}

func readRequest(r *http.Request) (request, error) {
	body, err := io.ReadAll(io.LimitReader(r.Body, maxRequest+1))
	if err != nil {
		return request{}, err
	}
	if len(body) > maxRequest {
		return request{}, errors.New("the request is larger than 1 MiB")
	}
	req := request{size: len(body)}
	if err := json.Unmarshal(body, &req); err != nil {
		return request{}, errors.New("we could not parse the JSON body of your request")
	}
	if req.Model == "" {
		return request{}, errors.New("you must provide a model parameter")
	}
	if len(req.Messages) == 0 {
		return request{}, errors.New("'messages' must contain at least one message")
	}
	return req, nil
}

func bearer(r *http.Request) string {
	key, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	return key
}
