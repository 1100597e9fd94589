package httplimit_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdoff-go/holdoff/limiter"
	"github.com/holdoff-go/holdoff/limiter/httplimit"
	"github.com/holdoff-go/holdoff/retry"
)

// A Base that panics, or that breaks its word, takes no slot along.
func TestTransport_ABaseThatPanicsLeavesItsSlot(t *testing.T) {
	for name, policy := range map[string]*retry.Policy{"once": nil, "with Retry": {MaxRetries: -1}} {
		t.Run(name, func(t *testing.T) {
			l := newLimiter(t, limiter.Config{})
			rt := &httplimit.Transport{Limiter: l, Acquire: true, Retry: policy, Base: memory(func(*http.Request) (*http.Response, error) {
				require.Equal(t, 1, l.Status().InFlight)
				panic("base")
			})}
			req, err := http.NewRequest(http.MethodGet, "http://upstream", nil)
			require.NoError(t, err)
			require.PanicsWithValue(t, "base", func() {
				_, _ = rt.RoundTrip(req) //nolint:bodyclose // there is none
			})
			require.Zero(t, l.Status().InFlight)
		})
	}
}

func TestTransport_ABaseThatReturnsNothingLeavesItsSlot(t *testing.T) {
	l := newLimiter(t, limiter.Config{})
	rt := &httplimit.Transport{Limiter: l, Acquire: true, Base: memory(func(*http.Request) (*http.Response, error) {
		return nil, nil
	})}
	req, err := http.NewRequest(http.MethodGet, "http://upstream", nil)
	require.NoError(t, err)
	_, err = rt.RoundTrip(req) //nolint:bodyclose // there is none
	require.EqualError(t, err, "httplimit: Transport.Base (httplimit_test.memory) returned neither a response nor an error")
	require.Zero(t, l.Status().InFlight)
}
