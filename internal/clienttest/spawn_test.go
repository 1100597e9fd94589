package clienttest

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdoff-go/holdoff/limiter"
	"github.com/holdoff-go/holdoff/limiter/httplimit"
	"github.com/holdoff-go/holdoff/retry"
	"github.com/holdoff-go/holdoff/spawn"
)

// quick has the shape of the defaults, and waits of milliseconds.
func quick() (limiter.Config, retry.Policy) {
	return limiter.Config{Budget: 8, Pause: 60 * time.Millisecond, ProbeAfter: 3 * time.Millisecond},
		retry.Policy{Initial: 3 * time.Millisecond, Max: 12 * time.Millisecond}
}

// A bench is one SDK's client before one upstream, through a limiter.
type bench struct {
	*testing.T
	upstream *upstream
	limiter  *limiter.Limiter
	spawner  *spawn.Spawner
	calls    calls

	made atomic.Int64 // calls of the SDK
}

func setUp(t *testing.T, c client, ownRetries bool, script func(int) answer) *bench {
	t.Helper()
	cfg, policy := quick()
	l, err := limiter.New(cfg)
	require.NoError(t, err)
	s, err := spawn.New(spawn.Config{Limiter: l, Policy: policy})
	require.NoError(t, err)
	u := startUpstream(t, c.dialect, c.isSSE, script)
	base := &http.Transport{}
	t.Cleanup(base.CloseIdleConnections)
	return &bench{T: t, upstream: u, limiter: l, spawner: s,
		calls: c.open(t, u.URL, &http.Client{Transport: &httplimit.Transport{Limiter: l, Base: base}}, ownRetries)}
}

// worker makes n calls, one after the other.
func (b *bench) worker(call func(context.Context) (string, error), n int) spawn.Worker {
	return spawn.Worker{Run: func(ctx context.Context, a *spawn.Attempt) error {
		for range n {
			b.made.Add(1)
			got, err := call(ctx)
			if err != nil {
				return err
			}
			if got != text {
				return fmt.Errorf("got %q", got)
			}
			a.Progress()
		}
		return nil
	}}
}

// each runs f for every SDK, every kind of call, and where an SDK retries of
// itself also with that left on.
func each(t *testing.T, f func(t *testing.T, c client, ownRetries bool, kind string)) {
	for _, c := range clients() {
		for _, ownRetries := range []bool{false, true} {
			if ownRetries && !c.retries {
				continue
			}
			for _, kind := range []string{"whole", "stream"} {
				t.Run(c.name+"/"+kind+map[bool]string{true: "/with its own retries on"}[ownRetries], func(t *testing.T) {
					f(t, c, ownRetries, kind)
				})
			}
		}
	}
}

// Six workers of three calls each meet a storm of twelve refusals that state
// nothing. All come through it, and each call is one request.
func TestSpawn_AStormKillsNobody(t *testing.T) {
	each(t, func(t *testing.T, c client, ownRetries bool, kind string) {
		b := setUp(t, c, ownRetries, after(4, first(12, refuse)))
		var wg sync.WaitGroup
		var mu sync.Mutex
		attempts := 0
		for range 6 {
			wg.Go(func() {
				result, err := b.spawner.Run(t.Context(), b.worker(b.calls.both()[kind], 3))
				mu.Lock()
				defer mu.Unlock()
				attempts += result.Total
				if err != nil {
					t.Errorf("%v after %d attempts: %v", result.State, result.Total, err)
				}
			})
		}
		wg.Wait()
		require.Equal(t, 12, b.upstream.count(refuse))
		require.Len(t, b.upstream.arrivals(), int(b.made.Load()), "one call is one request")
		require.Equal(t, 6+12, attempts, "one refusal is one attempt")
		require.Zero(t, b.limiter.Status().InFlight)
	})
}

// Nobody calls before the time that a refusal stated, wherever it was stated.
func TestSpawn_AStatedTimeIsWaitedFor(t *testing.T) {
	each(t, func(t *testing.T, c client, ownRetries bool, kind string) {
		b := setUp(t, c, ownRetries, first(1, refuseFor))
		result, err := b.spawner.Run(t.Context(), b.worker(b.calls.both()[kind], 2))
		require.NoError(t, err)
		require.Equal(t, retry.RateLimited, result.Attempts[0].Verdict.Class)
		require.LessOrEqual(t, result.Attempts[0].Verdict.RetryAfter, statedWait)
		got := b.upstream.arrivals()
		require.Len(t, got, 3)
		require.Len(t, got, int(b.made.Load()))
		require.GreaterOrEqual(t, got[1].at.Sub(got[0].at), statedWait)
	})
}

// A quota that is used up costs one call. It parks the worker, and whoever comes
// after it, and is no reason to pause the upstream.
func TestSpawn_AQuotaCostsOneCall(t *testing.T) {
	each(t, func(t *testing.T, c client, ownRetries bool, kind string) {
		b := setUp(t, c, ownRetries, first(1000, exhaust))
		for range 3 {
			result, err := b.spawner.Run(t.Context(), b.worker(b.calls.both()[kind], 1))
			require.ErrorIs(t, err, retry.QuotaExhausted)
			require.Equal(t, spawn.Parked, result.State)
		}
		require.Len(t, b.upstream.arrivals(), 1)
		require.Equal(t, limiter.ReasonNone, b.limiter.Status().Reason)
	})
}

// A stream that breaks midway is a failure of that call alone: it is tried again,
// and nobody pauses for it.
func TestSpawn_AStreamThatBreaksIsTriedAgain(t *testing.T) {
	for _, c := range clients() {
		t.Run(c.name, func(t *testing.T) {
			b := setUp(t, c, false, first(2, breakOff))
			result, err := b.spawner.Run(t.Context(), b.worker(b.calls.stream, 1))
			require.NoError(t, err)
			require.Equal(t, retry.Transient, result.Attempts[0].Verdict.Class, "%v", result.Attempts[0].Err)
			require.Len(t, b.upstream.arrivals(), 3)
			require.False(t, b.limiter.Status().Storm)
		})
	}
}

// An error event in a stream that has begun is a refusal like any other.
func TestSpawn_AnErrorEventIsARefusal(t *testing.T) {
	for _, c := range clients() {
		t.Run(c.name, func(t *testing.T) {
			b := setUp(t, c, false, first(2, refuseLate))
			refused := 0
			result, err := b.spawner.Run(t.Context(), spawn.Worker{Run: func(ctx context.Context, _ *spawn.Attempt) error {
				got, err := b.calls.stream(ctx)
				if got != text {
					if b.limiter.Status().Storm {
						refused++
					}
					return fmt.Errorf("got %q: %w", got, err)
				}
				return nil
			}})
			require.NoError(t, err)
			require.True(t, result.Attempts[0].Verdict.Class.Refusal(), "%v", result.Attempts[0].Verdict)
			require.Equal(t, 2, refused)
			require.Len(t, b.upstream.arrivals(), 3)
		})
	}
}
