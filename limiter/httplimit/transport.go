package httplimit

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/holdoff-go/holdoff/internal/outcall"
	"github.com/holdoff-go/holdoff/limiter"
	"github.com/holdoff-go/holdoff/retry"
)

// A Limiter is what a Transport asks and reports to: a *limiter.Limiter, for one
// quota, or a *limiter.Gate, for several that a call belongs to. A refusal pauses
// the limiter of the gate that the provider named: the one whose Key.Scope is the
// retry.Scope of the classifier's verdict; without such a key that of "account",
// unless a model was named; else, and where nothing was named, the narrowest.
type Limiter interface {
	AcquireAs(ctx context.Context, p limiter.Priority) (*limiter.Slot, error)
	Wait(ctx context.Context) (*limiter.Call, error)
}

// A Transport is an http.RoundTripper that stands between an HTTP client, an
// SDK's as a rule, and its upstream. Each call waits at the limiter's gate, and
// the limiter is told what it came to: a refusal, or that it was accepted. The
// response is handed on as it came, with all of its body to be read.
//
// Only Limiter is required. The fields must not be changed once the Transport is
// in use; it is then safe for concurrent use. It needs no Close. The start of an
// error body is read in a goroutine, which ends at the latest when that body is
// closed: so Close must end a Read in the bodies of every Base, as in net/http's.
type Transport struct {
	// Limiter is the gate, one for each upstream quota; several Transports may
	// share it. Required: without it every call fails.
	Limiter Limiter
	// Base makes the calls. nil is http.DefaultTransport.
	Base http.RoundTripper
	// Classifier says what a failed answer means: it is given a
	// *retry.ResponseError, with a status below 400 for an error inside of a body
	// or a stream. nil is retry.Standard, and inside of a spawn attempt that
	// spawner's classifier, so that one failure has one meaning.
	Classifier retry.Classifier
	// Acquire makes each call a piece of work of its own, for programs without
	// spawn: it takes a slot of the limiter's budget and holds it until the
	// response's body has been read to its end or closed; with an answer of 400 and
	// above, as with an error, only until RoundTrip returns, because the upstream is
	// done with the call. So a call waits for assumed pauses too, and probes one at a
	// time after them. Without it a call waits, by Limiter.Wait, for stated pauses, a
	// hold and the pace alone, which is right for work that has its slot already, as
	// in a spawn attempt: there Acquire does nothing.
	Acquire bool
	// Retry, if not nil, makes the Transport try a call again by itself, by
	// retry.Do, as long as it fails before its response is handed on and its
	// request has no body or a GetBody. Its own Classifier is not used; the one
	// above is. The last response is handed on when no retry is left. Inside of a
	// spawn attempt only failures of class retry.Transient are retried: what the
	// upstream refuses is the attempt's. Switch the SDK's own retries off with it.
	Retry *retry.Policy
}

// RoundTrip makes one call. It fails without making it
//   - with the context's cause, when the context has ended or is canceled at the
//     gate;
//   - with a *limiter.BlockedError that is context.DeadlineExceeded, at once when
//     the context's deadline, or http.Client.Timeout, ends before the gate can
//     open.
//
// Otherwise the response and the error are those of Base. With Retry, a call that
// no response came of fails with a *retry.Error, which holds the cause of each
// try.
func (t *Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	if outcall.None(t.Limiter) {
		closeBody(req)
		return nil, errors.New("httplimit: Transport.Limiter is nil: it is required")
	}
	if t.Retry != nil && replayable(req) {
		return t.retrying(req)
	}
	c, err := t.enter(req.Context(), limiter.Normal)
	if err != nil {
		closeBody(req)
		return nil, err
	}
	resp, _, err := t.send(req, c)
	return resp, err
}

// CloseIdleConnections does so in Base. http.Client calls it.
func (t *Transport) CloseIdleConnections() {
	if c, ok := t.base().(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

func (t *Transport) base() http.RoundTripper {
	if t.Base == nil {
		return http.DefaultTransport
	}
	return t.Base
}

// send makes a call that has passed the gate. The verdict is that of a response
// of 400 and above.
func (t *Transport) send(req *http.Request, c *call) (*http.Response, retry.Verdict, error) {
	watched := false
	defer func() {
		// Whatever else comes: Base may panic, and a callback end the goroutine.
		if !watched {
			c.release()
		}
	}()
	resp, err := t.base().RoundTrip(req)
	switch {
	case err != nil: // the network's: it says nothing about the upstream's limits
		return resp, retry.Verdict{}, err
	case resp == nil:
		return nil, retry.Verdict{}, fmt.Errorf("httplimit: Transport.Base (%T) returned neither a response nor an error", t.base())
	case resp.StatusCode < http.StatusBadRequest:
		watched = c.watch(resp)
		return resp, retry.Verdict{}, nil
	}
	v := c.failed(responseError(resp))
	if c.attempt != nil && v.Class != retry.Transient {
		settle(resp)
	}
	return resp, v, nil
}

// settle tells an SDK that honours the header not to try again: who owns the
// call does, or has done it to the end.
func settle(resp *http.Response) {
	if resp.Header == nil {
		resp.Header = make(http.Header)
	}
	resp.Header.Set("X-Should-Retry", "false")
}

func closeBody(req *http.Request) {
	if req.Body != nil {
		_ = req.Body.Close() // a RoundTripper must, and nobody is there to be told
	}
}
