package httplimit_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdoff-go/holdoff/limiter"
	"github.com/holdoff-go/holdoff/limiter/httplimit"
	"github.com/holdoff-go/holdoff/spawn"
)

var (
	benchEvents = strings.Repeat("data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"word\"}}]}\n\n", 100)
	benchJSON   = `{"id":"1","choices":[{"message":{"content":"` + strings.Repeat("word ", 400) + `"}}]}`
)

// What a call costs beside a bare transport: without a network, so that the
// difference can be seen, and over a connection on loopback.
func BenchmarkRoundTrip(b *testing.B) {
	kinds := []struct{ name, kind, body string }{
		{"json-2KiB", "application/json", benchJSON},
		{"events-100", "text/event-stream", benchEvents},
		{"text-2KiB", "text/plain", benchJSON},
	}
	for _, k := range kinds {
		h := header("Content-Type", k.kind)
		bases := map[string]http.RoundTripper{
			"memory": memory(func(*http.Request) (*http.Response, error) {
				return response(200, h, io.NopCloser(strings.NewReader(k.body))), nil
			}),
		}
		url, loopback := serve(b, answer(200, h, k.body))
		bases["loopback"] = loopback
		for _, where := range []string{"memory", "loopback"} {
			l, err := limiter.New(limiter.Config{})
			require.NoError(b, err)
			s, err := spawn.New(spawn.Config{Limiter: l})
			require.NoError(b, err)
			base := bases[where]
			name := k.name + "/" + where
			b.Run(name+"/bare", func(b *testing.B) { roundTrips(b, b.Context(), base, url) })
			b.Run(name+"/limited", func(b *testing.B) {
				roundTrips(b, b.Context(), &httplimit.Transport{Limiter: l, Base: base}, url)
			})
			b.Run(name+"/attempt", func(b *testing.B) {
				_, err := s.Run(b.Context(), spawn.Worker{Run: func(ctx context.Context, _ *spawn.Attempt) error {
					roundTrips(b, ctx, &httplimit.Transport{Limiter: l, Base: base}, url)
					return nil
				}})
				require.NoError(b, err)
			})
		}
	}
}

func roundTrips(b *testing.B, ctx context.Context, rt http.RoundTripper, url string) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	require.NoError(b, err)
	buf := make([]byte, 4<<10)
	b.ReportAllocs()
	for b.Loop() {
		resp, err := rt.RoundTrip(req)
		if err != nil {
			b.Fatal(err)
		}
		for err == nil {
			_, err = resp.Body.Read(buf)
		}
		_ = resp.Body.Close()
	}
}
