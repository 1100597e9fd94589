package httplimit_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdoff-go/holdoff/limiter"
	"github.com/holdoff-go/holdoff/limiter/httplimit"
)

var (
	acme  = limiter.Key{Scope: "account", Name: "acme"}
	flash = limiter.Key{Scope: "model", Name: "acme/flash"}
	pro   = limiter.Key{Scope: "model", Name: "acme/pro"}
)

// J1 and J3 over HTTP: the provider's own words say which of a gate's limiters
// pauses, for calls and for slots.
func TestJ3_RefusalLandsOnTheScopeThatTheProviderNames(t *testing.T) {
	for _, c := range []struct{ body, lands string }{
		{`{"error":{"message":"Rate limit reached for gpt-x in organization org-1 on requests per min (RPM)","code":"rate_limit_exceeded"}}`, "account:acme"},
		{`{"error":{"message":"slow down"}}`, "model:acme/flash"},
	} {
		for _, slots := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s slots=%t", c.lands, slots), func(t *testing.T) {
				g, err := limiter.NewGroup(limiter.GroupConfig{})
				require.NoError(t, err)
				url, base := serve(t, answer(http.StatusTooManyRequests, header("Retry-After", "60"), c.body))
				client := func(keys ...limiter.Key) *http.Client {
					return &http.Client{
						Transport: &httplimit.Transport{Limiter: g.Of(keys...), Base: base, Acquire: slots},
						Timeout:   10 * time.Second,
					}
				}
				get(t, client(acme, flash), url)
				for _, k := range []limiter.Key{acme, flash} {
					require.Equal(t, k.String() == c.lands, g.Of(k).Status().Storm, k.String())
				}
				// The next call with that key fails at once, and says by which.
				_, err = client(acme, flash).Get(url) //nolint:bodyclose // there is none
				var blocked *limiter.BlockedError
				require.ErrorAs(t, err, &blocked)
				require.Equal(t, c.lands, blocked.Name)
				// Another model of the account passes, unless the account is what blocks.
				resp, err := client(acme, pro).Get(url)
				if c.lands == "account:acme" {
					require.ErrorAs(t, err, &blocked)
					return
				}
				require.NoError(t, err)
				require.NoError(t, resp.Body.Close())
				require.Zero(t, g.Of(acme).Status().InFlight)
			})
		}
	}
}

func TestTransport_NilGate(t *testing.T) {
	var gate *limiter.Gate
	_, err := (&http.Client{Transport: &httplimit.Transport{Limiter: gate}}).Get("http://127.0.0.1/") //nolint:bodyclose // there is none
	require.ErrorContains(t, err, "Transport.Limiter is nil")
}

// A client for each of an account's models, of one group.
func ExampleTransport_gate() {
	group, err := limiter.NewGroup(limiter.GroupConfig{})
	if err != nil {
		panic(err)
	}
	client := func(account, model string) *http.Client {
		return &http.Client{Transport: &httplimit.Transport{Limiter: group.Of(
			limiter.Key{Scope: "account", Name: account},
			limiter.Key{Scope: "model", Name: account + "/" + model},
		)}}
	}
	_ = client("acme", "flash") // hand it to the SDK
	_ = client("acme", "pro")
	fmt.Println(len(group.Status()), "limiters before the first call")
	// Output: 0 limiters before the first call
}
