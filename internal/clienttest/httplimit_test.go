package clienttest

import (
	"context"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdoff-go/holdoff/limiter"
	"github.com/holdoff-go/holdoff/limiter/httplimit"
	"github.com/holdoff-go/holdoff/retry"
)

// A pause that outlasts the deadline fails at once, and the SDK hands the error
// through: whoever called it can ask what blocks and until when.
func TestH1_ThePauseIsHandedThrough(t *testing.T) {
	for _, c := range clients() {
		for kind := range (calls{}).both() {
			for name, set := range map[string]struct {
				ctx func(context.Context) (context.Context, context.CancelFunc)
				hc  time.Duration
			}{
				"the context's deadline": {func(ctx context.Context) (context.Context, context.CancelFunc) {
					return context.WithTimeout(ctx, time.Minute)
				}, 0},
				"Client.Timeout": {context.WithCancel, time.Minute},
			} {
				t.Run(c.name+"/"+kind+"/"+name, func(t *testing.T) {
					l, err := limiter.New(limiter.Config{Name: "upstream"})
					require.NoError(t, err)
					l.ReportRateLimited(time.Hour)
					u := startUpstream(t, c.dialect, c.isSSE, first(0, accept))
					calls := c.open(t, u.URL, &http.Client{Timeout: set.hc, Transport: &httplimit.Transport{Limiter: l}}, false)
					ctx, cancel := set.ctx(t.Context())
					defer cancel()

					start := time.Now()
					_, err = calls.both()[kind](ctx)
					require.Less(t, time.Since(start), 15*time.Second)
					require.ErrorIs(t, err, context.DeadlineExceeded)
					var blocked *limiter.BlockedError
					require.ErrorAs(t, err, &blocked)
					require.Equal(t, "upstream", blocked.Name)
					require.Equal(t, limiter.ReasonRateLimited, blocked.Reason)
					require.WithinDuration(t, time.Now().Add(time.Hour), blocked.Until, time.Minute)
					require.Empty(t, u.arrivals())
				})
			}
		}
	}
}

// Without spawn: each call takes a slot and is retried by the transport. A fleet
// of callers that know of nothing comes through a storm.
func TestHTTPLimit_AFleetWithoutSpawnComesThrough(t *testing.T) {
	for _, c := range clients() {
		for kind := range (calls{}).both() {
			t.Run(c.name+"/"+kind, func(t *testing.T) {
				cfg, policy := quick()
				policy.MaxRetries = retry.Unlimited
				l, err := limiter.New(cfg)
				require.NoError(t, err)
				u := startUpstream(t, c.dialect, c.isSSE, after(3, first(12, refuse)))
				base := &http.Transport{}
				t.Cleanup(base.CloseIdleConnections)
				calls := c.open(t, u.URL, &http.Client{Transport: &httplimit.Transport{
					Limiter: l, Base: base, Acquire: true, Retry: &policy,
				}}, false)
				var wg sync.WaitGroup
				for range 6 {
					wg.Go(func() {
						for range 3 {
							if got, err := calls.both()[kind](t.Context()); err != nil || got != text {
								t.Errorf("%q, %v", got, err)
							}
						}
					})
				}
				wg.Wait()
				require.Len(t, u.arrivals(), 6*3+12)
				require.Zero(t, l.Status().InFlight)
			})
		}
	}
}

// A user that goes away ends the call, and pauses nobody.
func TestHTTPLimit_CancellationPassesThrough(t *testing.T) {
	for _, c := range clients() {
		t.Run(c.name, func(t *testing.T) {
			l, err := limiter.New(limiter.Config{})
			require.NoError(t, err)
			l.Hold("maintenance")
			calls := c.open(t, "http://127.0.0.1:1", &http.Client{Transport: &httplimit.Transport{Limiter: l}}, false)
			ctx, cancel := context.WithCancel(t.Context())
			waits := make(chan error, 1)
			go func() {
				_, err := calls.whole(ctx)
				waits <- err
			}()
			require.Eventually(t, func() bool { return l.Status().Waiting == 1 }, time.Minute, time.Millisecond)
			cancel()
			require.ErrorIs(t, <-waits, context.Canceled)
			require.Zero(t, l.Status().Waiting)
		})
	}
}
