package httplimit_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/holdoff-go/holdoff/internal/provider"
	"github.com/holdoff-go/holdoff/limiter"
	"github.com/holdoff-go/holdoff/limiter/httplimit"
	"github.com/holdoff-go/holdoff/retry"
	"github.com/holdoff-go/holdoff/spawn"
)

// refusing is an upstream that refuses the first n calls.
func refusing(n int, retryAfter string) http.RoundTripper {
	return memory(func(*http.Request) (*http.Response, error) {
		if n--; n >= 0 {
			return response(http.StatusTooManyRequests, header("Retry-After", retryAfter), http.NoBody), nil
		}
		return response(http.StatusOK, nil, http.NoBody), nil
	})
}

// One line round a client, here one without an SDK. The upstream states a pause
// that the next caller cannot wait for, and is told so at once.
func ExampleTransport() {
	lim, err := limiter.New(limiter.Config{Name: "openai"})
	if err != nil {
		fmt.Println(err)
		return
	}
	p, err := provider.Start(provider.Config{Script: provider.Always(provider.RateLimited(time.Hour))})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer p.Close()
	base := &http.Transport{}
	defer base.CloseIdleConnections()

	client := &http.Client{Transport: &httplimit.Transport{Limiter: lim, Base: base}, Timeout: time.Minute}

	for range 2 {
		resp, err := client.Post(p.URL()+"/chat/completions", "application/json", hello())
		var blocked *limiter.BlockedError
		if errors.As(err, &blocked) {
			fmt.Println("blocked:", blocked.Reason, errors.Is(err, context.DeadlineExceeded))
			continue
		}
		fmt.Println(resp.Status)
		_ = resp.Body.Close()
	}
	fmt.Println("calls:", p.Counts().Calls)
	// Output:
	// 429 Too Many Requests
	// blocked: rate_limited true
	// calls: 1
}

// Without spawn, each call takes a slot and is retried by the transport.
func ExampleTransport_withoutSpawn() {
	lim, err := limiter.New(limiter.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	client := &http.Client{Transport: &httplimit.Transport{
		Limiter: lim,
		Base:    refusing(2, "0.01"),
		Acquire: true,
		Retry:   &retry.Policy{Initial: time.Millisecond, Max: time.Millisecond},
	}}
	resp, err := client.Get("http://upstream")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer resp.Body.Close()
	fmt.Println(resp.StatusCode)
	// Output: 200
}

// With spawn, the attempt owns the refusal: the worker only hands the context on.
func ExampleTransport_withSpawn() {
	lim, err := limiter.New(limiter.Config{ProbeAfter: time.Millisecond})
	if err != nil {
		fmt.Println(err)
		return
	}
	spawner, err := spawn.New(spawn.Config{Limiter: lim, Policy: retry.Policy{Initial: time.Millisecond, Max: time.Millisecond}})
	if err != nil {
		fmt.Println(err)
		return
	}
	client := &http.Client{Transport: &httplimit.Transport{Limiter: lim, Base: refusing(1, "0.01")}}

	result, err := spawner.Run(context.Background(), spawn.Worker{ID: "w1", Run: func(ctx context.Context, _ *spawn.Attempt) error {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://upstream", nil)
		if err != nil {
			return err
		}
		resp, err := client.Do(req)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		if _, err := io.Copy(io.Discard, resp.Body); err != nil {
			return err
		}
		if resp.StatusCode != http.StatusOK {
			return errors.New("no answer") // whatever the worker makes of it
		}
		return nil
	}})
	fmt.Println(result.State, err)
	fmt.Println(result.Attempts[0].Verdict.Class, "at first, of", result.Total)
	// Output:
	// succeeded <nil>
	// rate_limited at first, of 2
}

func hello() io.Reader {
	return strings.NewReader(`{"model":"sim-1","messages":[{"role":"user","content":"hello"}]}`)
}
