package statuspage

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdoff-go/holdoff/limiter"
	"github.com/holdoff-go/holdoff/retry"
	"github.com/holdoff-go/holdoff/spawn"
)

// An answer is what a worker of a scene gets, after a time.
type answer struct {
	after time.Duration
	err   error
}

// A statedError is a refusal of a stated length.
type statedError struct {
	class retry.Class
	wait  time.Duration
	text  string
}

func (e *statedError) Error() string { return e.text }

var verdicts = retry.ClassifierFunc(func(_ context.Context, err error) retry.Verdict {
	var stated *statedError
	var class retry.Class
	switch {
	case errors.As(err, &stated):
		return retry.Verdict{Class: stated.class, RetryAfter: stated.wait, Stated: stated.wait > 0}
	case errors.As(err, &class):
		return retry.Verdict{Class: class}
	default:
		return retry.Verdict{}
	}
})

// A scene is a page over one limiter and its workers, in a bubble's time.
type scene struct {
	t       *testing.T
	page    *Page
	limiter *limiter.Limiter
	spawner *spawn.Spawner
	ctx     context.Context
	handles []*spawn.Handle
}

// inScene runs f in a bubble, and ends the workers after it.
func inScene(t *testing.T, f func(t *testing.T, s *scene)) {
	synctest.Test(t, func(t *testing.T) {
		page, err := New(Config{})
		require.NoError(t, err)
		l, err := limiter.New(limiter.Config{Name: "openai", OnEvent: page.OnLimiterEvent})
		require.NoError(t, err)
		sp, err := spawn.New(spawn.Config{Limiter: l, Policy: retry.Policy{Classifier: verdicts}})
		require.NoError(t, err)
		page.WatchLimiter(l)
		page.WatchSpawner("agents", sp)
		ctx, cancel := context.WithCancel(t.Context())
		s := &scene{t: t, page: page, limiter: l, spawner: sp, ctx: ctx}
		f(t, s)
		cancel()
		for _, h := range s.handles {
			<-h.Done()
		}
	})
}

// start runs a worker that gets the answers one after the other, an attempt each.
func (s *scene) start(id string, answers ...answer) {
	s.handles = append(s.handles, s.spawner.Start(s.ctx, spawn.Worker{ID: id, Run: func(ctx context.Context, a *spawn.Attempt) error {
		now := answers[min(a.Number(), len(answers))-1]
		select {
		case <-time.After(now.after):
			return now.err
		case <-ctx.Done():
			return ctx.Err()
		}
	}}))
	synctest.Wait()
}

func (s *scene) pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func (s *scene) get(target string, header ...string) *recorded {
	return get(s.t, s.page, target, header...)
}

var (
	long    = answer{after: time.Hour}
	refused = &retry.ResponseError{
		StatusCode: http.StatusTooManyRequests,
		Body:       []byte(`{"error":{"message":"Rate limit reached for sk-live-abcdefgh12345678"}}`),
	}
	unstated = &statedError{class: retry.RateLimited, text: `POST "https://api.example/v1/chat/completions": 429 Too Many Requests {"error":{"code":"rate_limit_exceeded"}}`}
	stated   = &statedError{class: retry.RateLimited, wait: 90 * time.Second, text: "429 Too Many Requests, Retry-After: 90"}
)

// apart keeps the workers of a scene from meeting at one instant, in which their
// order is left to the scheduler.
func apart(i int) time.Duration { return time.Duration(i) * 37 * time.Millisecond }

// Scenes that a person meets.
var scenes = map[string]func(s *scene){
	"open": func(s *scene) {
		for i := range 20 {
			s.start(fmt.Sprintf("agent-%02d", i+1), answer{after: time.Duration(4+i) * time.Minute})
		}
		s.pass(9*time.Minute + 30*time.Second)
	},
	"paused": func(s *scene) {
		for i := range 20 {
			a := answer{after: time.Duration(6+i) * time.Minute}
			if i%3 == 1 {
				a = answer{after: 12*time.Minute + apart(i), err: stated}
			}
			s.start(fmt.Sprintf("agent-%02d", i+1), a, long)
		}
		s.pass(12*time.Minute + 18*time.Second)
	},
	"storm": func(s *scene) {
		for i := range 20 {
			a := answer{after: time.Duration(5+i)*time.Minute + 700*time.Millisecond}
			switch {
			case i == 3:
				a = answer{after: 3 * time.Minute, err: fmt.Errorf("the prompt has 212,340 tokens, the model takes 200,000: %w", retry.Fatal)}
			case i%2 == 0:
				a = answer{after: 14*time.Minute + apart(i), err: unstated}
			}
			s.start(fmt.Sprintf("agent-%02d", i+1), a, answer{after: time.Second, err: unstated})
		}
		s.pass(14*time.Minute + 31*time.Second)
	},
}
