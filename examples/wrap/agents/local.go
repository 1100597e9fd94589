package agents

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

// A Local is a Tower whose agents are goroutines that call an OpenAI-compatible
// endpoint.
type Local struct {
	client *http.Client
	url    string // of the chat completions

	onTurnEnd, onExit func(id string, err error)

	mu   sync.Mutex
	made map[string]int // turns, by task
}

// NewLocal returns a Tower whose agents call the endpoint with this base URL.
func NewLocal(client *http.Client, base string) *Local {
	nobody := func(string, error) {}
	return &Local{
		client: client, url: base + "/chat/completions",
		onTurnEnd: nobody, onExit: nobody,
		made: make(map[string]int),
	}
}

// OnTurnEnd sets the callback for turns.
func (l *Local) OnTurnEnd(f func(id string, err error)) { l.onTurnEnd = f }

// OnExit sets the callback for exits.
func (l *Local) OnExit(f func(id string, err error)) { l.onExit = f }

// Spawn starts an agent.
func (l *Local) Spawn(ctx context.Context, t Task) {
	go func() { l.onExit(t.ID, l.agent(ctx, t)) }()
}

func (l *Local) agent(ctx context.Context, t Task) error {
	for l.turns(t.ID, 0) < t.Turns {
		err := l.call(ctx, t.ID)
		if err == nil {
			l.turns(t.ID, 1)
		}
		l.onTurnEnd(t.ID, err)
		if err != nil {
			return err
		}
	}
	return nil
}

// turns adds to the turns made and returns their number.
func (l *Local) turns(id string, more int) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.made[id] += more
	return l.made[id]
}

func (l *Local) call(ctx context.Context, id string) error {
	body := fmt.Sprintf(`{"model":"sim-1","user":%q,"messages":[{"role":"user","content":"Go on."}]}`, id)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, l.url, strings.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := l.client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		return err
	}
	switch {
	case resp.StatusCode == http.StatusTooManyRequests:
		seconds, _ := strconv.Atoi(resp.Header.Get("Retry-After"))
		return &RefusedError{Wait: time.Duration(seconds) * time.Second}
	case resp.StatusCode != http.StatusOK:
		return fmt.Errorf("agents: the provider answered %s", resp.Status)
	}
	return nil
}
