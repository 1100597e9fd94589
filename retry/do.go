package retry

import (
	"context"
	"errors"
	"time"

	"github.com/cenkalti/backoff/v4"

	"github.com/holdoff-go/holdoff/internal/attempt"
	"github.com/holdoff-go/holdoff/internal/clock"
	"github.com/holdoff-go/holdoff/retry/internal/evidence"
)

// Do calls f until it succeeds, fails in a way that no retry will mend, or the
// policy ends. Failures of class RateLimited, Overloaded and Transient are
// retried; each wait is the later of the ladder's step and what the provider
// stated, which is never cut short.
//
// A run that is given up returns an [*Error], beside the value that f's last
// call returned. It ends at once, without sleeping, when the next wait would
// end after MaxElapsed or after ctx's deadline; an end of ctx during a wait
// ends the wait, and the error then holds both the last failure and the
// context's. A *backoff.PermanentError from f is not retried, nor is an error
// that already holds an [*Error]: that one is returned as it came.
//
// Inside an attempt of a spawned worker Do retries only Transient failures. All
// others are the attempt's business, which sees the whole fleet: they are
// returned at once and as f returned them.
//
// A nil f, and a policy that Validate refuses, are errors before any call.
func Do[T any](ctx context.Context, p Policy, f func(context.Context) (T, error)) (T, error) {
	var zero T
	if f == nil {
		return zero, errors.New("retry: Do: the function is nil: it is required")
	}
	if err := p.Validate(); err != nil {
		return zero, err
	}
	r := newRun(ctx, p)
	for {
		value, err := f(ctx)
		if err == nil {
			return value, nil
		}
		wait, end := r.failed(ctx, err)
		if end != nil {
			return value, end
		}
		if end := r.sleep(ctx, wait); end != nil {
			return value, end
		}
	}
}

// A run is the state of one Do.
type run struct {
	policy  Policy
	ladder  backoff.BackOff
	line    *clock.Line
	start   time.Duration
	inside  bool // an attempt owns what is not Transient
	failure Error
}

func newRun(ctx context.Context, p Policy) *run {
	ladder := p.BackOff()
	p = p.withDefaults()
	line := clock.NewLine(p.Clock)
	return &run{
		policy: p,
		ladder: ladder,
		line:   line,
		start:  line.Now(),
		inside: attempt.Within(ctx),
	}
}

// failed takes the error of an attempt and returns the wait before the next
// one, or the error that ends the run.
func (r *run) failed(ctx context.Context, err error) (time.Duration, error) {
	done, permanent := marks(err)
	if done {
		return 0, err
	}
	v := Ask(ctx, r.policy.Classifier, err)
	r.failure.Class = v.Class
	r.failure.Attempts++
	r.failure.Causes = append(r.failure.Causes, err)
	r.failure.RetryAt = time.Time{}
	if v.Stated {
		r.failure.RetryAt = r.policy.Clock.Now().Add(v.RetryAfter)
	}
	if r.inside && v.Class != Transient {
		return 0, err
	}
	if !v.Class.Retryable() || permanent {
		if v.Class == Canceled {
			return 0, r.ended(ctx)
		}
		return 0, &r.failure
	}
	step := r.ladder.NextBackOff()
	if step == backoff.Stop {
		return 0, &r.failure
	}
	wait := step
	if v.RetryAfter > step {
		wait = r.policy.jittered(v.RetryAfter)
	}
	// What remains is compared, not summed: a wait of 292 years must not wrap around.
	if limit := r.policy.MaxElapsed; limit > 0 && wait > limit-(r.line.Now()-r.start) {
		r.failure.Causes = append(r.failure.Causes, ErrElapsed)
		return 0, &r.failure
	}
	// A deadline is real time, whatever the policy's clock is.
	if deadline, ok := ctx.Deadline(); ok && wait > deadline.Sub(clock.Real{}.Now()) {
		r.failure.Causes = append(r.failure.Causes, context.DeadlineExceeded)
		return 0, &r.failure
	}
	return wait, nil
}

// sleep waits, and returns the error that ends the run if ctx ends first.
func (r *run) sleep(ctx context.Context, wait time.Duration) error {
	select {
	case <-r.policy.Clock.After(wait):
	case <-ctx.Done():
	}
	if ctx.Err() != nil {
		r.failure.Class = Canceled
		return r.ended(ctx)
	}
	return nil
}

// ended adds the context's error, and its cause if that is another, to the
// causes. The context may be alive: a classifier can say Canceled of its own.
func (r *run) ended(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		r.failure.Causes = append(r.failure.Causes, err)
		if cause := context.Cause(ctx); !errors.Is(cause, err) {
			r.failure.Causes = append(r.failure.Causes, cause)
		}
	}
	return &r.failure
}

// marks reports whether err holds an Error, and whether it holds a
// *backoff.PermanentError. errors.As would not come back from a chain that is a
// circle.
func marks(err error) (done, permanent bool) {
	evidence.Walk(err, func(err error) bool {
		switch err.(type) {
		case *Error:
			done = true
		case *backoff.PermanentError:
			permanent = true
		}
		return !done
	})
	return done, permanent
}
