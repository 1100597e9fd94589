package httplimit

import (
	"context"
	"fmt"
	"net/http"

	"github.com/holdoff-go/holdoff/limiter"
	"github.com/holdoff-go/holdoff/retry"
)

// replayable reports whether req can be sent more than once.
func replayable(req *http.Request) bool {
	return req.Body == nil || req.Body == http.NoBody || req.GetBody != nil
}

// retrying makes the call, and makes it again, as t.Retry says.
func (t *Transport) retrying(req *http.Request) (*http.Response, error) {
	ctx := req.Context()
	policy := *t.Retry
	policy.Classifier = answered{t.classifier(ctx)}
	if err := policy.Validate(); err != nil {
		closeBody(req)
		return nil, fmt.Errorf("httplimit: Transport.Retry: %w", err)
	}
	r := &replay{transport: t, req: req}
	resp, err := retry.Do(ctx, policy, r.try)
	switch {
	case r.unmade != nil:
		return nil, r.unmade
	case err == nil:
		return resp, nil
	case resp != nil && ctx.Err() == nil:
		settle(resp)
		return resp, nil
	default:
		closeResponse(resp)
		return nil, err
	}
}

// A replay is one call that may be made several times.
type replay struct {
	transport *Transport
	req       *http.Request
	tries     int
	last      *http.Response // of the last try
	unmade    error          // why the next try was not made
}

// try makes the call once more. One that is not even made ends the run, as if it
// were a success: the gate has said how long to wait, and no ladder is shorter.
func (r *replay) try(ctx context.Context) (*http.Response, error) {
	req, priority := r.req, limiter.Normal
	if r.tries++; r.tries > 1 {
		priority = limiter.Resumed
		closeResponse(r.last)
		r.last = nil
		req = req.WithContext(ctx) // a copy: the request is not ours to change
		if req.GetBody != nil {
			if req.Body, r.unmade = req.GetBody(); r.unmade != nil {
				return nil, nil
			}
		}
	}
	var c *call
	if c, r.unmade = r.transport.enter(ctx, priority); r.unmade != nil {
		closeBody(req)
		return nil, nil
	}
	resp, verdict, err := r.transport.send(req, c)
	r.last = resp
	if err == nil && resp.StatusCode >= http.StatusBadRequest {
		err = &answer{resp.StatusCode, verdict}
	}
	return resp, err
}

// An answer is a response of 400 and above as an error, with what it was found
// to mean.
type answer struct {
	status  int
	verdict retry.Verdict
}

func (e *answer) Error() string {
	return fmt.Sprintf("status %d: %v", e.status, e.verdict)
}

// answered is a classifier that knows answers, and asks another for the rest.
type answered struct{ other retry.Classifier }

func (c answered) Classify(ctx context.Context, err error) retry.Verdict {
	if e, ok := err.(*answer); ok && ctx.Err() == nil {
		return e.verdict
	}
	return retry.Ask(ctx, c.other, err)
}

func closeResponse(resp *http.Response) {
	if resp != nil && resp.Body != nil {
		_ = resp.Body.Close() // nobody is left to read it
	}
}
