package clienttest

import (
	"context"
	"net/http"
	"testing"

	"go.uber.org/goleak"
)

// A client is one SDK. It makes its client around an http.Client, with its own
// retries off unless they are wanted, as its users are told to.
type client struct {
	name    string
	dialect dialect
	isSSE   func(*http.Request) bool
	open    func(t *testing.T, baseURL string, hc *http.Client, ownRetries bool) calls
	// retries says that the SDK retries of itself, and honours x-should-retry.
	retries bool
}

// calls are the two calls that are made with it: one whole answer, one stream.
// Each returns the text.
type calls struct {
	whole, stream func(context.Context) (string, error)
}

// both returns the two by name.
func (c calls) both() map[string]func(context.Context) (string, error) {
	return map[string]func(context.Context) (string, error){"whole": c.whole, "stream": c.stream}
}

const text = "one two three four"

func clients() []client { return []client{openAI(), anthropicAI(), genAI()} }

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m,
		// A metrics worker that genai's dependencies start in an init.
		goleak.IgnoreTopFunction("go.opencensus.io/stats/view.(*worker).start"))
}
