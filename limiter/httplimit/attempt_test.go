package httplimit_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdoff-go/holdoff/limiter"
	"github.com/holdoff-go/holdoff/limiter/httplimit"
	"github.com/holdoff-go/holdoff/retry"
	"github.com/holdoff-go/holdoff/spawn"
)

// A fleet is a spawner, its limiter and a client that calls an upstream through
// it, on the clock of a synctest bubble.
type fleet struct {
	*testing.T
	limiter *limiter.Limiter
	spawner *spawn.Spawner
	client  *http.Client
	events  []limiter.EventKind
}

func newFleet(t *testing.T, cfg limiter.Config, upstream http.RoundTripper) *fleet {
	t.Helper()
	f := &fleet{T: t}
	cfg.OnEvent = func(e limiter.Event) { f.events = append(f.events, e.Kind) }
	f.limiter = newLimiter(t, cfg)
	s, err := spawn.New(spawn.Config{Limiter: f.limiter})
	require.NoError(t, err)
	f.spawner = s
	f.client = &http.Client{Transport: &httplimit.Transport{Limiter: f.limiter, Base: upstream}}
	return f
}

// call makes one call of a worker; an answer of 400 and above is an error that
// tells nothing but its status, as SDKs' are.
func (f *fleet) call(ctx context.Context) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://upstream", nil)
	if err != nil {
		return err
	}
	resp, err := f.client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		return err
	}
	if resp.StatusCode >= 400 {
		return poor{resp.StatusCode}
	}
	return nil
}

type poor struct{ status int }

func (e poor) Error() string   { return "the call failed" }
func (e poor) StatusCode() int { return e.status }

// What the transport saw is what the attempt came to, whatever the SDK and the
// framework make of it; and the limiter hears of it once.
func TestAttempt_OneFailureHasOneMeaning(t *testing.T) {
	opaque := errors.New("step 3 failed")
	cases := map[string]struct {
		first  step  // then all is accepted
		as     error // what Run makes of the failure; nil: the client's own
		state  spawn.State
		class  retry.Class // of the first attempt
		at     []time.Duration
		events []limiter.EventKind
	}{
		"a refusal, its time lost by the SDK": {
			step{429, "20"}, nil, spawn.Succeeded, retry.RateLimited, seconds(0, 20),
			[]limiter.EventKind{limiter.EventPauseOpened, limiter.EventBudget, limiter.EventPauseEnded, limiter.EventProbe},
		},
		"a refusal, lost by the framework": {
			step{429, "20"}, opaque, spawn.Succeeded, retry.RateLimited, seconds(0, 20),
			[]limiter.EventKind{limiter.EventPauseOpened, limiter.EventBudget, limiter.EventPauseEnded, limiter.EventProbe},
		},
		"an overload": {
			step{503, ""}, nil, spawn.Succeeded, retry.Overloaded, seconds(0, 3),
			[]limiter.EventKind{limiter.EventPauseOpened, limiter.EventBudget, limiter.EventProbe, limiter.EventPauseEnded},
		},
		"a 500, lost by the framework": {
			step{500, ""}, opaque, spawn.Succeeded, retry.Transient, seconds(0, 3), nil,
		},
		"a bad request": {step{400, ""}, nil, spawn.Dead, retry.Fatal, seconds(0), nil},
		"the worker's own failure after a success": {
			step{200, ""}, opaque, spawn.Dead, retry.Unknown, seconds(0), nil,
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				upstream := &play{steps: []step{c.first, {200, ""}}, start: time.Now()}
				f := newFleet(t, limiter.Config{Budget: 2, Grow: -1}, upstream)
				first := true
				result, err := f.spawner.Run(t.Context(), spawn.Worker{Run: func(ctx context.Context, _ *spawn.Attempt) error {
					err := f.call(ctx)
					if first && c.as != nil {
						err = c.as
					}
					first = false
					return err
				}})
				require.Equal(t, c.state, result.State, "%v", err)
				require.Equal(t, c.class, result.Attempts[0].Verdict.Class)
				require.Equal(t, c.at, upstream.at)
				synctest.Wait() // for the last event
				require.Equal(t, c.events, f.events)
				require.Zero(t, f.limiter.Status().InFlight)
			})
		})
	}
}

// A stated wait is counted from the refusal, not from the end of the attempt.
func TestAttempt_AStatedWaitIsNotCountedTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		upstream := &play{steps: []step{{429, "20"}, {200, ""}}, start: time.Now()}
		f := newFleet(t, limiter.Config{}, upstream)
		result, err := f.spawner.Run(t.Context(), spawn.Worker{Run: func(ctx context.Context, _ *spawn.Attempt) error {
			err := f.call(ctx)
			if err != nil {
				time.Sleep(12 * time.Second) // it tidies up
			}
			return err
		}})
		require.NoError(t, err)
		require.Equal(t, seconds(0, 20), upstream.at)
		require.Equal(t, 8*time.Second, result.Attempts[0].Verdict.RetryAfter, "what is left of it")
	})
}

// A refusal that the worker lived with is not blamed for what happens later.
func TestAttempt_ASuccessAnswersForTheFailuresBeforeIt(t *testing.T) {
	cases := map[string]func(ctx context.Context, a *spawn.Attempt, call func(context.Context) error) error{
		"of a later call": func(ctx context.Context, _ *spawn.Attempt, call func(context.Context) error) error {
			return call(ctx)
		},
		"by the worker's word": func(_ context.Context, a *spawn.Attempt, _ func(context.Context) error) error {
			a.Progress()
			return nil
		},
	}
	for name, succeed := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				upstream := &play{steps: []step{{429, ""}, {200, ""}}, start: time.Now()}
				f := newFleet(t, limiter.Config{}, upstream)
				result, err := f.spawner.Run(t.Context(), spawn.Worker{Run: func(ctx context.Context, a *spawn.Attempt) error {
					require.Error(t, f.call(ctx))
					require.NoError(t, succeed(ctx, a, f.call))
					return errors.New("the answer makes no sense")
				}})
				require.Error(t, err)
				require.Equal(t, spawn.Dead, result.State)
				require.Equal(t, retry.Unknown, result.Attempts[0].Verdict.Class)
				require.Equal(t, len(upstream.at) == 1, f.limiter.Status().Storm)
			})
		})
	}
}

// The refusal of a call that the worker survived opens the pause; that the worker
// then ends well does not close it.
func TestAttempt_AnEndIsNoSecondSuccess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		upstream := &play{steps: []step{{200, ""}, {429, ""}}, start: time.Now()}
		f := newFleet(t, limiter.Config{}, upstream)
		_, err := f.spawner.Run(t.Context(), spawn.Worker{Run: func(ctx context.Context, a *spawn.Attempt) error {
			require.NoError(t, f.call(ctx))
			require.Error(t, f.call(ctx))
			require.Error(t, f.call(ctx)) // lengthens it, with a new origin
			a.Progress()
			return nil
		}})
		require.NoError(t, err)
		require.True(t, f.limiter.Status().Storm)
	})
}

// Growth counts successes: one call is one.
func TestAttempt_OneSuccessIsReportedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		upstream := &play{steps: []step{{200, ""}}, start: time.Now()}
		f := newFleet(t, limiter.Config{Budget: 8, Recover: -1, Pause: -1}, upstream)
		slots := make([]*limiter.Slot, 8)
		for i := range slots {
			var err error
			slots[i], err = f.limiter.TryAcquire()
			require.NoError(t, err)
		}
		slots[0].ReportRateLimited(0) // cuts the budget to 4
		for _, s := range slots {
			s.Release()
		}
		for i := range 4 {
			require.Equal(t, 4, f.limiter.Status().Budget, "after %d", i)
			_, err := f.spawner.Run(t.Context(), spawn.Worker{Run: func(ctx context.Context, a *spawn.Attempt) error {
				err := f.call(ctx)
				a.Progress()
				a.Report(nil)
				return err
			}})
			require.NoError(t, err)
		}
		require.Equal(t, 5, f.limiter.Status().Budget)
	})
}

// The steady pace counts each call once, whether the worker asks Wait before it
// or leaves it to the transport.
func TestAttempt_ACallIsGatedOnce(t *testing.T) {
	cases := map[string]func(ctx context.Context, a *spawn.Attempt, call func(context.Context) error) error{
		"by the slot, then by the transport": func(ctx context.Context, _ *spawn.Attempt, call func(context.Context) error) error {
			return errors.Join(call(ctx), call(ctx), call(ctx))
		},
		"by the slot, then by Wait": func(ctx context.Context, a *spawn.Attempt, call func(context.Context) error) error {
			return errors.Join(call(ctx), a.Wait(ctx), call(ctx), a.Wait(ctx), call(ctx))
		},
	}
	for name, work := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				upstream := &play{steps: []step{{200, ""}}, start: time.Now()}
				f := newFleet(t, limiter.Config{Pace: 0.1}, upstream)
				_, err := f.spawner.Run(t.Context(), spawn.Worker{Run: func(ctx context.Context, a *spawn.Attempt) error {
					return work(ctx, a, f.call)
				}})
				require.NoError(t, err)
				require.Equal(t, seconds(0, 10, 20), upstream.at)
			})
		})
	}
}

// An Attempt.Wait that the worker has used for a call of its own is no leave for
// another one.
func TestAttempt_AWaitIsLeaveForOneCall(t *testing.T) {
	cases := map[string]error{"that was accepted": nil, "that failed": poor{500}}
	for name, outcome := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				upstream := &play{steps: []step{{200, ""}}, start: time.Now()}
				f := newFleet(t, limiter.Config{Pace: 0.1}, upstream)
				_, err := f.spawner.Run(t.Context(), spawn.Worker{Run: func(ctx context.Context, a *spawn.Attempt) error {
					require.NoError(t, f.call(ctx))
					require.NoError(t, a.Wait(ctx)) // until 10 s
					a.Report(outcome)
					return f.call(ctx)
				}})
				require.NoError(t, err)
				require.Equal(t, seconds(0, 20), upstream.at)
			})
		})
	}
}

// The leave that came with the slot does not last: a stated pause that opened in
// between is waited for, and the answer counts as one of now.
func TestAttempt_ALateFirstCallIsGatedAnew(t *testing.T) {
	cases := map[string]time.Duration{"the pause has just opened": time.Second / 2, "it is on": 5 * time.Second, "it has come and gone": 30 * time.Second}
	for name, late := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				upstream := &play{steps: []step{{429, ""}, {200, ""}}, start: time.Now()}
				f := newFleet(t, limiter.Config{}, upstream)
				_, err := f.spawner.Run(t.Context(), spawn.Worker{Run: func(ctx context.Context, a *spawn.Attempt) error {
					if a.Number() == 1 {
						f.limiter.ReportRateLimited(20 * time.Second)
						time.Sleep(late)
					}
					return f.call(ctx)
				}})
				require.NoError(t, err)
				require.Equal(t, max(late, 20*time.Second), upstream.at[0])
				synctest.Wait() // for the last event
				require.Contains(t, f.events[2:], limiter.EventPauseOpened, "the refusal is news")
			})
		})
	}
}

func TestC2_InsideAnAttemptRefusalsAreTheAttempts(t *testing.T) {
	cases := map[string]struct {
		answer  step
		policy  *retry.Policy
		calls   []time.Duration
		settled string
	}{
		"a refusal":                   {step{429, ""}, nil, seconds(0), "false"},
		"an overload":                 {step{503, ""}, nil, seconds(0), "false"},
		"an auth":                     {step{401, ""}, nil, seconds(0), "false"},
		"transient":                   {step{500, ""}, nil, seconds(0), ""}, // the SDK may
		"a refusal, with Retry":       {step{429, ""}, &retry.Policy{}, seconds(0), "false"},
		"an overload, with Retry":     {step{503, ""}, &retry.Policy{}, seconds(0), "false"},
		"transient, retried to death": {step{500, ""}, &retry.Policy{}, seconds(0, 3, 9, 21), "false"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				upstream := &play{steps: []step{c.answer}, start: time.Now()}
				f := newFleet(t, limiter.Config{}, upstream)
				f.client.Transport.(*httplimit.Transport).Retry = c.policy
				_, err := f.spawner.Run(t.Context(), spawn.Worker{Run: func(ctx context.Context, _ *spawn.Attempt) error {
					req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://upstream", nil)
					require.NoError(t, err)
					resp, err := f.client.Do(req)
					require.NoError(t, err)
					require.Equal(t, c.settled, resp.Header.Get("X-Should-Retry"))
					require.Equal(t, c.calls, upstream.at)
					require.NoError(t, resp.Body.Close())
					return nil
				}})
				require.NoError(t, err)
			})
		})
	}
}

// A call to another upstream, under a limiter of its own, is that limiter's: the
// attempt's hears nothing of it, but the attempt knows what it came to.
func TestAttempt_ACallUnderAnotherLimiter(t *testing.T) {
	for _, acquire := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			upstream := &play{steps: []step{{429, "20"}, {200, ""}}, start: time.Now()}
			f := newFleet(t, limiter.Config{}, upstream)
			other := newLimiter(t, limiter.Config{Name: "other"})
			f.client.Transport = &httplimit.Transport{Limiter: other, Base: upstream, Acquire: acquire}
			result, err := f.spawner.Run(t.Context(), spawn.Worker{Run: func(ctx context.Context, a *spawn.Attempt) error {
				err := f.call(ctx)
				if a.Number() == 1 {
					require.Equal(t, limiter.ReasonRateLimited, other.Status().Reason)
				}
				return err
			}})
			require.NoError(t, err)
			require.Equal(t, retry.RateLimited, result.Attempts[0].Verdict.Class)
			require.Equal(t, seconds(0, 20), upstream.at)
			require.Empty(t, f.events)
			require.Zero(t, other.Status().InFlight)
		})
	}
}

// A worker's own calls, past the transport, are still its own to report.
func TestAttempt_CallsPastTheTransportAreReportedToo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		upstream := &play{steps: []step{{200, ""}}, start: time.Now()}
		f := newFleet(t, limiter.Config{}, upstream)
		_, err := f.spawner.Run(t.Context(), spawn.Worker{Run: func(ctx context.Context, a *spawn.Attempt) error {
			require.NoError(t, f.call(ctx))
			require.NoError(t, a.Wait(ctx))
			a.Report(poor{429})
			require.True(t, f.limiter.Status().Storm)
			require.NoError(t, a.Wait(ctx))
			a.Report(nil)
			require.False(t, f.limiter.Status().Storm)
			return nil
		}})
		require.NoError(t, err)
	})
}

// Calls of one attempt that run in parallel have an origin each.
func TestAttempt_CallsInParallel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls atomic.Int32
		f := newFleet(t, limiter.Config{}, memory(func(*http.Request) (*http.Response, error) {
			n := calls.Add(1)
			time.Sleep(time.Duration(n) * time.Second)
			if n == 3 {
				return response(429, header("Retry-After", "20"), http.NoBody), nil
			}
			return response(200, nil, http.NoBody), nil
		}))
		result, err := f.spawner.Run(t.Context(), spawn.Worker{Run: func(ctx context.Context, _ *spawn.Attempt) error {
			if calls.Load() >= 8 {
				return nil
			}
			var wg sync.WaitGroup
			var failed atomic.Bool
			for range 8 {
				wg.Go(func() {
					if f.call(ctx) != nil {
						failed.Store(true)
					}
				})
			}
			wg.Wait()
			require.True(t, f.limiter.Status().Storm, "the others began before the refusal")
			require.True(t, failed.Load())
			return errors.New("one of eight failed")
		}})
		require.NoError(t, err)
		require.Equal(t, retry.RateLimited, result.Attempts[0].Verdict.Class)
		require.Equal(t, 15*time.Second, result.Attempts[0].Verdict.RetryAfter)
	})
}

// A storm over a fleet: the refused wait as one, nobody dies, and the calls are
// those of the attempts.
func TestAttempt_AStormKillsNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		var mu sync.Mutex
		calls := 0
		f := newFleet(t, limiter.Config{Budget: 8}, memory(func(*http.Request) (*http.Response, error) {
			time.Sleep(200 * time.Millisecond)
			mu.Lock()
			defer mu.Unlock()
			calls++
			if since := time.Since(start); since > time.Second && since < 90*time.Second {
				return response(429, nil, http.NoBody), nil
			}
			return response(200, nil, http.NoBody), nil
		}))
		var wg sync.WaitGroup
		attempts := 0
		for range 8 {
			wg.Go(func() {
				result, err := f.spawner.Run(t.Context(), spawn.Worker{Run: func(ctx context.Context, a *spawn.Attempt) error {
					for range 20 {
						if err := f.call(ctx); err != nil {
							return err
						}
						a.Progress()
					}
					return nil
				}})
				mu.Lock()
				defer mu.Unlock()
				attempts += result.Total
				if err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		refused := attempts - 8
		require.Less(t, refused, 8+10, "the burst, and the probes")
		t.Logf("%d calls, %d attempts, %v", calls, attempts, time.Since(start))
	})
}
