package spawn_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdoff-go/holdoff/limiter"
	"github.com/holdoff-go/holdoff/limiter/httplimit"
	"github.com/holdoff-go/holdoff/retry"
	"github.com/holdoff-go/holdoff/spawn"
)

var (
	acme  = limiter.Key{Scope: "account", Name: "acme"}
	flash = limiter.Key{Scope: "model", Name: "acme/flash"}
	pro   = limiter.Key{Scope: "model", Name: "acme/pro"}
)

// playGroup is play with a group, whose gate of account and one model is the
// spawner's limiter.
func playGroup(t *testing.T, sc spawn.Config, f func(s *scene, g *limiter.Group)) {
	t.Helper()
	play(t, limiter.Config{}, sc, func(s *scene) {
		g, err := limiter.NewGroup(limiter.GroupConfig{Config: func(limiter.Key) limiter.Config { return limiter.Config{Budget: 8} }})
		require.NoError(s, err)
		sc.Limiter = g.Of(acme, flash)
		s.spawner, err = spawn.New(sc)
		require.NoError(s, err)
		f(s, g)
	})
}

// refusal is what a provider answered, as a worker returns it.
func refusalOf(message, retryAfter string) error {
	h := http.Header{}
	h.Set("Retry-After", retryAfter)
	return &retry.ResponseError{
		StatusCode: http.StatusTooManyRequests, Header: h,
		Body: []byte(`{"error":{"message":"` + message + `"}}`),
	}
}

const (
	ofModel = "slow down"
	ofOrg   = "Rate limit reached for gpt-x in organization org-1 on requests per min (RPM)"
)

func TestJ1_WorkersOfAnotherModelGoOn(t *testing.T) {
	playGroup(t, spawn.Config{}, func(s *scene, g *limiter.Group) {
		refused := s.launch("flash", once(refusalOf(ofModel, "60")))
		s.at(0)
		require.Equal(s, spawn.BackingOff, s.status("flash").State)
		_, err := s.spawner.Run(s.ctx, spawn.Worker{ID: "pro", Limiter: g.Of(acme, pro), Run: napping(0)})
		require.NoError(s, err)
		require.Zero(s, s.now())
		_, err = refused.Wait()
		require.NoError(s, err)
		require.Equal(s, seconds(60), s.now())
		require.False(s, g.Of(acme).Status().Storm)
	})
}

func TestJ3_AccountLimitPausesWorkersOfAllModels(t *testing.T) {
	for _, how := range []string{"returned", "reported", "through a transport"} {
		t.Run(how, func(t *testing.T) {
			playGroup(t, spawn.Config{}, func(s *scene, g *limiter.Group) {
				gate := g.Of(acme, flash) // not the spawner's own pointer
				client := &http.Client{Transport: &httplimit.Transport{
					Limiter: gate,
					Base:    answers(http.StatusTooManyRequests, `{"error":{"message":"`+ofOrg+`"}}`),
				}}
				first := true
				refused := s.launch("flash", func(ctx context.Context, a *spawn.Attempt) error {
					if !first {
						return nil
					}
					first = false
					switch how {
					case "reported":
						err := refusalOf(ofOrg, "60")
						a.Report(err)
						return err
					case "through a transport":
						req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://upstream.test/", http.NoBody)
						if err != nil {
							return err
						}
						resp, err := client.Do(req)
						if err != nil {
							return err
						}
						defer resp.Body.Close()
						return context.DeadlineExceeded // what an SDK makes of it
					}
					return refusalOf(ofOrg, "60")
				})
				s.at(0)
				require.True(s, g.Of(acme).Status().Storm)
				require.False(s, g.Of(flash).Status().Storm)
				other, err := s.spawner.Run(s.ctx, spawn.Worker{ID: "pro", Limiter: g.Of(acme, pro), Run: napping(0)})
				require.NoError(s, err)
				require.Equal(s, 1, other.Total)
				require.Equal(s, seconds(60), s.now())
				_, err = refused.Wait()
				require.NoError(s, err)
				for _, st := range g.Status() {
					require.Zero(s, st.InFlight, st.Name)
				}
			})
		})
	}
}

// A worker's retries are not spared for workers whose limiters the storm is not of.
func TestStorm_OthersGatesSpareNothing(t *testing.T) {
	playGroup(t, spawn.Config{}, func(s *scene, g *limiter.Group) {
		s.spawner.Start(s.ctx, spawn.Worker{ID: "pro", Limiter: g.Of(acme, pro), Run: napping(10 * time.Hour)})
		refused := s.launch("flash", func(context.Context, *spawn.Attempt) error { return refusalOf(ofModel, "0") })
		result, err := refused.Wait()
		require.ErrorIs(s, err, retry.RateLimited)
		require.Equal(s, spawn.Dead, result.State)
		require.Equal(s, 4, result.Total)
		require.Zero(s, g.Of(flash).Status().InFlight)
	})
}

// A worker inside of another one uses its slot if it goes through the same gate, and
// takes one of its own where it has other keys.
func TestPlace_ChildOfAnotherGateHasASlotOfItsOwn(t *testing.T) {
	playGroup(t, spawn.Config{}, func(s *scene, g *limiter.Group) {
		count := func(want map[limiter.Key]int) func(context.Context, *spawn.Attempt) error {
			return func(context.Context, *spawn.Attempt) error {
				for k, n := range want {
					require.Equal(s, n, g.Of(k).Status().InFlight, k.String())
				}
				return nil
			}
		}
		_, err := s.spawner.Run(s.ctx, spawn.Worker{ID: "parent", Run: func(ctx context.Context, _ *spawn.Attempt) error {
			if _, err := s.spawner.Run(ctx, spawn.Worker{
				ID: "same", Limiter: g.Of(acme, flash), Run: count(map[limiter.Key]int{acme: 1, flash: 1}),
			}); err != nil {
				return err
			}
			_, err := s.spawner.Run(ctx, spawn.Worker{
				ID: "other", Limiter: g.Of(acme, pro), Run: count(map[limiter.Key]int{acme: 2, flash: 1, pro: 1}),
			})
			return err
		}})
		require.NoError(s, err)
		require.Zero(s, g.Of(acme).Status().InFlight)
	})
}

func TestNew_NilPointersAreNoLimiters(t *testing.T) {
	var gate *limiter.Gate
	var l *limiter.Limiter
	for _, none := range []spawn.Limiter{nil, gate, l} {
		_, err := spawn.New(spawn.Config{Limiter: none})
		require.ErrorContains(t, err, "Config.Limiter is nil")
		if none != nil {
			s, err := spawn.New(spawn.Config{Limiter: newLimiter(t)})
			require.NoError(t, err)
			_, err = s.Run(t.Context(), spawn.Worker{Limiter: none, Run: napping(0)})
			require.ErrorContains(t, err, "Worker.Limiter is a nil pointer")
		}
	}
}

// A gate per model of one account: a refused model pauses its own workers, and a
// limit of the account all of them.
func ExampleWorker_limiter() {
	group, err := limiter.NewGroup(limiter.GroupConfig{})
	if err != nil {
		panic(err)
	}
	acme := limiter.Key{Scope: "account", Name: "acme"}
	spawner, err := spawn.New(spawn.Config{Limiter: group.Of(acme)})
	if err != nil {
		panic(err)
	}
	result, err := spawner.Run(context.Background(), spawn.Worker{
		ID:      "researcher",
		Limiter: group.Of(acme, limiter.Key{Scope: "model", Name: "acme/flash"}),
		Run:     func(context.Context, *spawn.Attempt) error { return nil },
	})
	fmt.Println(result.State, err)
	// Output: succeeded <nil>
}

// once fails the first attempt with err.
func once(err error) func(context.Context, *spawn.Attempt) error {
	return func(_ context.Context, a *spawn.Attempt) error {
		if a.Number() == 1 {
			return err
		}
		return nil
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// answers is a transport without a network that always answers alike, and states a
// minute.
func answers(status int, body string) http.RoundTripper {
	return roundTrip(func(r *http.Request) (*http.Response, error) {
		h := http.Header{}
		h.Set("Retry-After", "60")
		return &http.Response{StatusCode: status, Header: h, Request: r, Body: reader{strings.NewReader(body)}, ContentLength: -1}, nil
	})
}

type reader struct{ *strings.Reader }

func (reader) Close() error { return nil }
