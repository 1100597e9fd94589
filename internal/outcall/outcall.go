// Package outcall joins a transport to the spawn attempt that its call is made
// in, so that each call is gated once and what it came to is reported once.
// Neither room imports the other: spawn puts an Attempt into the context, and
// the transport looks for it there.
package outcall

import (
	"context"

	"github.com/holdoff-go/holdoff/retry"
)

// An Attempt is what a transport needs of the attempt it is called in.
type Attempt interface {
	// Classifier is what the attempt's own failures are put to.
	Classifier() retry.Classifier
	// Enter begins a call that goes out under l, a limiter of the transport's kind.
	// It gates the call when l is the attempt's own limiter, and reports it there;
	// gated is false for any other, which the transport gates and reports to by
	// itself.
	Enter(ctx context.Context, l any) (c Call, gated bool, err error)
}

// A Call is one call of an attempt. Both methods may be called more than once:
// a stream that was accepted may still fail.
type Call interface {
	Accepted()
	Failed(v retry.Verdict)
}

type key struct{}

// With returns ctx as inside of a.
func With(ctx context.Context, a Attempt) context.Context {
	return context.WithValue(ctx, key{}, a)
}

// From returns the innermost attempt that ctx is inside of.
func From(ctx context.Context) (Attempt, bool) {
	a, ok := ctx.Value(key{}).(Attempt)
	return a, ok
}
