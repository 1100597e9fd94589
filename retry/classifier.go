package retry

import (
	"context"
	"fmt"
)

// A Classifier says what an error means. It is asked before anything else is
// decided about a failure. ctx is the caller's context: its end is what tells a
// cancellation from a call that timed out.
//
// Implementations must be safe for concurrent use and must not block. An error
// a classifier knows nothing about is the zero Verdict, so that [First] can ask
// the next one. Call one through [Ask].
type Classifier interface {
	Classify(ctx context.Context, err error) Verdict
}

// A ClassifierFunc is a function that is a [Classifier].
type ClassifierFunc func(ctx context.Context, err error) Verdict

// Classify calls f.
func (f ClassifierFunc) Classify(ctx context.Context, err error) Verdict { return f(ctx, err) }

// First returns a classifier that asks cs in order and returns the first
// verdict whose class is not Unknown, or the last one's when all are. A member
// that panics is passed over; nil members are skipped.
//
//	c := retry.First(mine, retry.Standard(nil))
func First(cs ...Classifier) Classifier {
	kept := make([]Classifier, 0, len(cs))
	for _, c := range cs {
		if c != nil {
			kept = append(kept, c)
		}
	}
	return firstOf(kept)
}

type firstOf []Classifier

func (cs firstOf) Classify(ctx context.Context, err error) Verdict {
	var v Verdict
	for _, c := range cs {
		if v = Ask(ctx, c, err); v.Class != Unknown {
			return v
		}
	}
	return v
}

// Ask asks c about err and returns a verdict that can be acted on, whatever c
// does: a panic in c, a class that does not exist and a nil err are Unknown,
// and a negative delay states nothing. A nil c is Standard(nil).
func Ask(ctx context.Context, c Classifier, err error) (v Verdict) {
	if err == nil {
		return Verdict{}
	}
	defer func() {
		if p := recover(); p != nil {
			v = Verdict{Rule: oneLine(fmt.Sprintf("classifier %T panicked: %v", c, p), maxRule)}
		}
	}()
	if c == nil {
		c = realStandard
	}
	return c.Classify(ctx, err).sane()
}

// realStandard serves callers that bring no classifier.
var realStandard = Standard(nil)

// sane returns v with what makes no sense taken out.
func (v Verdict) sane() Verdict {
	if !v.Class.valid() {
		return Verdict{Rule: fmt.Sprintf("classifier returned %s", v.Class)}
	}
	switch {
	case v.RetryAfter < 0:
		v.RetryAfter, v.Stated = 0, false
	case v.RetryAfter > 0:
		v.Stated = true
	}
	return v
}
