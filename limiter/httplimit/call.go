package httplimit

import (
	"context"

	"github.com/holdoff-go/holdoff/internal/outcall"
	"github.com/holdoff-go/holdoff/limiter"
	"github.com/holdoff-go/holdoff/retry"
)

// A call is one call on its way, and whom to report it to. One that is gated by
// its attempt is reported by it; any other is reported here, and its attempt, if
// there is one, is told all the same, because it will see the error again.
type call struct {
	ctx        context.Context
	gate       outcall.Reporter // nil: the attempt's own
	slot       *limiter.Slot    // to release; nil: none
	attempt    outcall.Call     // nil: it is not made in one
	classifier retry.Classifier
}

// enter waits at the gate.
func (t *Transport) enter(ctx context.Context, p limiter.Priority) (*call, error) {
	c := &call{ctx: ctx, classifier: t.classifier(ctx)}
	if a, ok := outcall.From(ctx); ok {
		var gated bool
		var err error
		if c.attempt, gated, err = a.Enter(ctx, t.Limiter); gated || err != nil {
			return c, err
		}
	}
	if t.Acquire {
		slot, err := t.Limiter.AcquireAs(ctx, p)
		if err != nil {
			return nil, err
		}
		c.gate, c.slot = slot, slot
		return c, nil
	}
	gate, err := t.Limiter.Wait(ctx)
	if err != nil {
		return nil, err
	}
	c.gate = gate
	return c, nil
}

// classifier is what a failure of a call with ctx is put to; nil is the standard
// one.
func (t *Transport) classifier(ctx context.Context) retry.Classifier {
	if t.Classifier == nil {
		if a, ok := outcall.From(ctx); ok {
			return a.Classifier()
		}
	}
	return t.Classifier
}

// accepted reports that the upstream has taken the call.
func (c *call) accepted() {
	if c.gate != nil {
		c.gate.ReportSuccess()
	}
	if c.attempt != nil {
		c.attempt.Accepted()
	}
}

// failed reports what the upstream answered instead, and returns what that means.
// An answer that is no error, or of a kind that nothing is known about, is not
// reported.
func (c *call) failed(err error) retry.Verdict {
	// An answer is a fact, whether its caller is still there or not.
	v := retry.Ask(context.WithoutCancel(c.ctx), c.classifier, err)
	if c.gate != nil {
		outcall.Report(c.gate, v)
	}
	if c.attempt != nil && v.Class != retry.Unknown {
		c.attempt.Failed(v)
	}
	return v
}

// release gives the slot back, if the call has one.
func (c *call) release() { c.slot.Release() }
