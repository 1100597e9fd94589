package retry_test

import (
	"context"
	"errors"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cenkalti/backoff/v4"
	"github.com/stretchr/testify/require"

	"github.com/holdoff-go/holdoff/internal/attempt"
	"github.com/holdoff-go/holdoff/retry"
)

// refused is an error that states a wait.
type refused struct{ after time.Duration }

func (refused) Error() string               { return "slow down" }
func (refused) StatusCode() int             { return 429 }
func (r refused) RetryAfter() time.Duration { return r.after }

// calls runs a policy against an endpoint that fails with errs in turn, and
// with the last one for ever, and returns when it was called.
func calls(ctx context.Context, p retry.Policy, errs ...error) ([]time.Duration, error) {
	var at []time.Duration
	start := time.Now()
	_, err := retry.Do(ctx, p, func(context.Context) (int, error) {
		at = append(at, time.Since(start))
		err := errs[0]
		if len(errs) > 1 {
			errs = errs[1:]
		}
		return 0, err
	})
	return at, err
}

func seconds(ss ...float64) []time.Duration {
	var ds []time.Duration
	for _, s := range ss {
		ds = append(ds, time.Duration(s*float64(time.Second)))
	}
	return ds
}

func TestDo(t *testing.T) {
	broken := errors.New("broken")
	cases := []struct {
		name   string
		policy retry.Policy
		errs   []error
		at     []time.Duration
		is     error // nil: succeeds
	}{
		{"C1 C6 C8 default ladder, exact gaps, no fifth attempt", retry.Policy{}, []error{retry.Transient}, seconds(0, 3, 9, 21), retry.Transient},
		{"C8 three retries", retry.Policy{MaxRetries: 3}, []error{retry.Transient}, seconds(0, 3, 9, 21), retry.Transient},
		{"C8 no retries", retry.Policy{MaxRetries: -1}, []error{retry.Transient}, seconds(0), retry.Transient},
		{"refusals climb the same ladder", retry.Policy{}, []error{retry.RateLimited, retry.Overloaded}, seconds(0, 3, 9, 21), retry.Overloaded},
		{"the cap holds", retry.Policy{MaxRetries: 6}, []error{retry.Transient}, seconds(0, 3, 9, 21, 33, 45, 57), retry.Transient},
		{"own numbers", retry.Policy{Initial: time.Second, Max: time.Second, MaxRetries: 2}, []error{retry.Transient}, seconds(0, 1, 2), retry.Transient},
		{"A1 a stated wait replaces the step, not added to it", retry.Policy{}, []error{refused{60 * time.Second}, nil}, seconds(0, 60), nil},
		{"D2 a stated wait above the cap is kept", retry.Policy{}, []error{refused{45 * time.Second}, nil}, seconds(0, 45), nil},
		{"a stated wait below the step", retry.Policy{}, []error{refused{time.Second}, nil}, seconds(0, 3), nil},
		{"D6 D7 a negative wait states nothing", retry.Policy{}, []error{refused{-5 * time.Second}, nil}, seconds(0, 3), nil},
		{"A13 fatal", retry.Policy{}, []error{retry.Fatal}, seconds(0), retry.Fatal},
		{"quota", retry.Policy{}, []error{retry.QuotaExhausted}, seconds(0), retry.QuotaExhausted},
		{"auth", retry.Policy{}, []error{retry.Auth}, seconds(0), retry.Auth},
		{"unknown is the work's own failure", retry.Policy{}, []error{broken}, seconds(0), retry.Unknown},
		{"C3 no wait beyond MaxElapsed", retry.Policy{MaxElapsed: 15 * time.Second}, []error{retry.RateLimited}, seconds(0, 3, 9), retry.ErrElapsed},
		{"a wait that ends with MaxElapsed is made", retry.Policy{MaxElapsed: 9 * time.Second}, []error{retry.RateLimited}, seconds(0, 3, 9), retry.ErrElapsed},
		{"D11 sum of elapsed and delay does not overflow", retry.Policy{MaxElapsed: 1}, []error{refused{math.MaxInt64 - 1}}, seconds(0), retry.ErrElapsed},
		{"backoff.Permanent", retry.Policy{}, []error{backoff.Permanent(retry.Transient)}, seconds(0), retry.Transient},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				at, err := calls(t.Context(), c.policy, c.errs...)

				require.Equal(t, c.at, at)
				if c.is == nil {
					require.NoError(t, err)
					return
				}
				require.ErrorIs(t, err, c.is)
				var e *retry.Error
				require.ErrorAs(t, err, &e)
				require.Equal(t, len(at), e.Attempts)
				require.ErrorIs(t, err, c.errs[0])
			})
		})
	}
}

func TestA15_TheErrorSaysWhenItMayBeTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, err := calls(t.Context(), retry.Policy{MaxRetries: -1}, refused{120 * time.Second})

		var e *retry.Error
		require.ErrorIs(t, err, retry.RateLimited)
		require.ErrorAs(t, err, &e)
		require.Equal(t, time.Now().Add(120*time.Second), e.RetryAt)

		_, err = calls(t.Context(), retry.Policy{}, retry.Fatal)
		require.NotErrorIs(t, err, retry.RateLimited)
		require.ErrorAs(t, err, &e)
		require.Zero(t, e.RetryAt)
	})
}

func TestH5_CancellationIsNotRetried(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		n := 0
		_, err := retry.Do(ctx, retry.Policy{}, func(context.Context) (int, error) {
			n++
			cancel()
			return 0, errors.New("connection reset by peer")
		})

		require.Equal(t, 1, n)
		require.ErrorIs(t, err, retry.Canceled)
		require.ErrorIs(t, err, context.Canceled)
	})
}

func TestH6_CancelDuringTheWaitHidesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		why := errors.New("the user left")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(why) })
		start := time.Now()
		_, err := calls(ctx, retry.Policy{}, retry.Transient)

		require.Equal(t, time.Second, time.Since(start))
		require.ErrorIs(t, err, retry.Transient)
		require.ErrorIs(t, err, retry.Canceled)
		require.ErrorIs(t, err, context.Canceled)
		require.ErrorIs(t, err, why)
		require.EqualError(t, err, "canceled after 1 attempt: transient: context canceled: the user left")
	})
}

func TestDo_DeadlineBeforeTheWaitEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		at, err := calls(ctx, retry.Policy{}, retry.RateLimited)

		require.Equal(t, seconds(0, 3), at)
		require.ErrorIs(t, err, retry.RateLimited)
		require.ErrorIs(t, err, context.DeadlineExceeded)
	})
}

func TestC2_LayersDoNotMultiply(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := 0
		_, err := retry.Do(t.Context(), retry.Policy{}, func(ctx context.Context) (int, error) {
			return retry.Do(ctx, retry.Policy{}, func(context.Context) (int, error) {
				n++
				return 0, retry.Transient
			})
		})

		require.Equal(t, 4, n)
		require.ErrorIs(t, err, retry.Transient)
	})
}

func TestC2_InsideAnAttemptOnlyTransientIsRetried(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := attempt.With(t.Context())
		refusal := refused{time.Second}

		at, err := calls(ctx, retry.Policy{}, refusal)
		require.Len(t, at, 1)
		require.Equal(t, refusal, err)

		at, err = calls(ctx, retry.Policy{}, retry.Transient)
		var e *retry.Error
		require.Len(t, at, 4)
		require.ErrorAs(t, err, &e)
	})
}

func TestDo_ErrorsThatAreACircle(t *testing.T) {
	round := &circle{}
	round.next = round
	at, err := calls(t.Context(), retry.Policy{}, round)
	require.Len(t, at, 1)
	require.EqualError(t, err, "unknown after 1 attempt: circle")
}

func TestDo_ReturnsTheLastValue(t *testing.T) {
	got, err := retry.Do(t.Context(), retry.Policy{}, func(context.Context) (string, error) {
		return "half an answer", retry.Fatal
	})
	require.Error(t, err)
	require.Equal(t, "half an answer", got)
}

func TestDo_NilFunction(t *testing.T) {
	got, err := retry.Do[int](t.Context(), retry.Policy{}, nil)
	require.EqualError(t, err, "retry: Do: the function is nil: it is required")
	require.Zero(t, got)
}
