package httplimit

import (
	"context"
	"net/http"

	"github.com/holdoff-go/holdoff/limiter"
	"github.com/holdoff-go/holdoff/retry"
)

// replayable reports whether req can be sent more than once.
func replayable(req *http.Request) bool {
	return req.Body == nil || req.Body == http.NoBody || req.GetBody != nil
}

// A refused call is an answer of 400 and above as an error, with what it means.
type refused struct {
	status  string
	verdict retry.Verdict
}

func (e *refused) Error() string { return "status " + e.status }

// retrying makes the call, and makes it again, as t.Retry says.
func (t *Transport) retrying(req *http.Request) (*http.Response, error) {
	policy := *t.Retry
	policy.Classifier = retry.ClassifierFunc(func(ctx context.Context, err error) retry.Verdict {
		if e, ok := err.(*refused); ok {
			return e.verdict
		}
		return t.ask(ctx, err)
	})
	if err := policy.Validate(); err != nil {
		closeBody(req)
		return nil, fmt.Errorf("httplimit: Transport.Retry: %w", err)
	}
	var last *http.Response
	var gate error // nothing is retried that has not been made
	resp, err := retry.Do(req.Context(), policy, func(context.Context) (*http.Response, error) {
		again, p := req, limiter.Normal
		if last != nil || tried {
		}
		return nil, nil
	})
}
