package retry_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/holdoff-go/holdoff/retry"
)

// brief is a policy whose waits are short enough for an example.
var brief = retry.Policy{Initial: time.Millisecond, Max: time.Millisecond}

func ExampleDo() {
	calls := 0
	answer, err := retry.Do(context.Background(), brief, func(context.Context) (string, error) {
		calls++
		if calls < 3 {
			return "", &retry.ResponseError{StatusCode: http.StatusServiceUnavailable}
		}
		return "hello", nil
	})
	fmt.Println(answer, err, calls)
	// Output: hello <nil> 3
}

// What no retry will mend ends the run at once, and the error says why.
func ExampleDo_givenUp() {
	_, err := retry.Do(context.Background(), brief, func(context.Context) (string, error) {
		return "", &retry.ResponseError{StatusCode: 429, Body: []byte(`{"error":{"code":"insufficient_quota"}}`)}
	})
	var e *retry.Error
	fmt.Println(errors.Is(err, retry.QuotaExhausted), errors.As(err, &e) && e.Attempts == 1)
	// Output: true true
}

func ExampleResponse() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "20")
		http.Error(w, `{"error":{"code":"rate_limit_exceeded"}}`, http.StatusTooManyRequests)
	}))
	defer server.Close()

	resp, err := server.Client().Get(server.URL)
	if err == nil {
		err = retry.Response(resp)
	}
	fmt.Println(retry.Ask(context.Background(), retry.Standard(nil), err))
	// Output: rate_limited, retry after 20s: code rate_limit_exceeded (status 429), wait from Retry-After
}

// Times of day are read against the clock that Standard is given.
func ExampleStandard() {
	noon := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	err := &retry.ProcessError{ExitCode: 1, Stderr: []byte("You've hit your session limit · resets 3pm (UTC)")}
	v := retry.Ask(context.Background(), retry.Standard(frozen(noon)), err)
	fmt.Println(v.Class, v.RetryAfter, v.Scope)
	// Output: quota_exhausted 3h0m0s account
}

// The rules of a provider of one's own stand before the standard ones. What they
// do not know is the zero Verdict.
func ExampleFirst() {
	mine := retry.ClassifierFunc(func(_ context.Context, err error) retry.Verdict {
		var e *printerError
		if !errors.As(err, &e) {
			return retry.Verdict{}
		}
		switch e.Light {
		case "paper":
			return retry.Verdict{Class: retry.QuotaExhausted, Rule: "out of paper"}
		case "warming up":
			return retry.Verdict{Class: retry.Overloaded, RetryAfter: 30 * time.Second, Rule: "warming up"}
		}
		return retry.Verdict{}
	})
	classifier := retry.First(mine, retry.Standard(nil))

	for _, err := range []error{&printerError{"warming up"}, &printerError{"paper"}, &retry.ResponseError{StatusCode: 502}} {
		fmt.Println(retry.Ask(context.Background(), classifier, err))
	}
	// Output:
	// overloaded, retry after 30s: warming up
	// quota_exhausted: out of paper
	// transient: status 502
}

type printerError struct{ Light string }

func (e *printerError) Error() string { return "the light says " + e.Light }

// A verdict of another classifier can be changed before it is returned: here one
// provider's refusals get at least a minute, and its 409 is worth a retry.
func ExampleClassifierFunc() {
	standard := retry.Standard(nil)
	stern := retry.ClassifierFunc(func(ctx context.Context, err error) retry.Verdict {
		v := standard.Classify(ctx, err)
		var e *retry.ResponseError
		switch {
		case v.Class.Refusal() && v.RetryAfter < time.Minute:
			v.RetryAfter, v.Rule = time.Minute, v.Rule+", raised to a minute"
		case errors.As(err, &e) && e.StatusCode == http.StatusConflict:
			v.Class, v.Rule = retry.Transient, "a conflict here is a race"
		}
		return v
	})

	for _, status := range []int{429, 409, 404} {
		fmt.Println(retry.Ask(context.Background(), stern, &retry.ResponseError{StatusCode: status}))
	}
	// Output:
	// rate_limited, retry after 1m0s: status 429, raised to a minute
	// transient: a conflict here is a race
	// fatal: status 404
}

// Failures without evidence are not retried, unless the policy's classifier says
// they are Transient.
func ExampleFirst_retryUnknown() {
	policy := brief
	policy.Classifier = retry.First(retry.Standard(nil), retry.ClassifierFunc(func(context.Context, error) retry.Verdict {
		return retry.Verdict{Class: retry.Transient, Rule: "anything else"}
	}))
	calls := 0
	_, err := retry.Do(context.Background(), policy, func(context.Context) (int, error) {
		calls++
		return 0, errors.New("flaky")
	})
	fmt.Println(calls, err)
	// Output: 4 transient after 4 attempts: flaky
}

func ExampleProcessError() {
	// What os/exec and the pipes of a child process gave:
	err := &retry.ProcessError{ExitCode: retry.ExitTryLater, Stderr: []byte("the model is overloaded, come back later")}
	fmt.Println(retry.Ask(context.Background(), nil, err))

	// Its exit code was 0, but its last event was an error:
	err = &retry.ProcessError{Record: []byte(`{"type":"error","error":{"type":"rate_limit_error","message":"slow down"}}`)}
	fmt.Println(retry.Ask(context.Background(), nil, err))
	// Output:
	// overloaded, scope model: words "overloaded"
	// rate_limited: code rate_limit_error
}

func ExamplePolicy_BackOff() {
	ladder := retry.Policy{}.BackOff()
	fmt.Println(ladder.NextBackOff(), ladder.NextBackOff(), ladder.NextBackOff(), ladder.NextBackOff() < 0)
	// Output: 3s 6s 12s true
}
