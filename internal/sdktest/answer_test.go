package sdktest

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/holdoff-go/holdoff/retry"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("go.opencensus.io/stats/view.(*worker).start"))
}

// An answer is what a provider says to every call, and what it means.
type answer struct {
	name    string
	status  int
	headers map[string]string
	body    string

	class retry.Class
	wait  time.Duration // 0: none stated
	scope retry.Scope
}

// A call makes one call with a real client of the server at url.
type call func(ctx context.Context, t *testing.T, url string) error

// testAnswers gives each answer to one call and classifies the client's error.
func testAnswers(t *testing.T, call call, answers []answer) {
	for _, a := range answers {
		t.Run(a.name, func(t *testing.T) {
			url := serve(t, a)
			err := call(t.Context(), t, url)
			require.Error(t, err)
			requireVerdict(t, a, err)
		})
	}
}

func serve(t *testing.T, a answer) string {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		for name, value := range a.headers {
			w.Header().Set(name, value)
		}
		w.WriteHeader(a.status)
		_, _ = w.Write([]byte(a.body))
	}))
	t.Cleanup(server.Close)
	return server.URL
}

func requireVerdict(t *testing.T, a answer, err error) {
	t.Helper()
	v := retry.Ask(t.Context(), retry.Standard(nil), err)
	t.Logf("%s", v)
	require.Equal(t, a.class, v.Class, "%s\n%T: %v", v, err, err)
	if a.wait == 0 {
		require.False(t, v.Stated, "%s", v)
	} else {
		require.InDelta(t, a.wait.Seconds(), v.RetryAfter.Seconds(), 2, "%s", v)
	}
	if a.scope != "" {
		require.Equal(t, a.scope, v.Scope)
	}
}

// client returns an HTTP client that keeps no connection.
func client(t *testing.T) *http.Client {
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}
