package retry_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdoff-go/holdoff/retry"
)

// says returns a classifier that always says v.
func says(v retry.Verdict) retry.Classifier {
	return retry.ClassifierFunc(func(context.Context, error) retry.Verdict { return v })
}

var panics = retry.ClassifierFunc(func(context.Context, error) retry.Verdict { panic("oh\nno") })

func TestAsk_MakesEveryVerdictUsable(t *testing.T) {
	broken := errors.New("broken")
	cases := map[string]struct {
		classifier retry.Classifier
		err        error
		want       retry.Verdict
	}{
		"a verdict as it is":       {says(retry.Verdict{Class: retry.RateLimited, RetryAfter: 5, Stated: true, Rule: "mine"}), broken, retry.Verdict{Class: retry.RateLimited, RetryAfter: 5, Stated: true, Rule: "mine"}},
		"a delay is a statement":   {says(retry.Verdict{Class: retry.RateLimited, RetryAfter: 5}), broken, retry.Verdict{Class: retry.RateLimited, RetryAfter: 5, Stated: true}},
		"stated and over":          {says(retry.Verdict{Class: retry.QuotaExhausted, Stated: true}), broken, retry.Verdict{Class: retry.QuotaExhausted, Stated: true}},
		"D7 a negative delay":      {says(retry.Verdict{Class: retry.RateLimited, RetryAfter: -5, Stated: true}), broken, retry.Verdict{Class: retry.RateLimited}},
		"the most negative delay":  {says(retry.Verdict{Class: retry.Transient, RetryAfter: math.MinInt64}), broken, retry.Verdict{Class: retry.Transient}},
		"the zero verdict":         {says(retry.Verdict{}), broken, retry.Verdict{}},
		"no such class":            {says(retry.Verdict{Class: 99, RetryAfter: 5, Stated: true}), broken, retry.Verdict{Rule: "classifier returned class(99)"}},
		"a negative class":         {says(retry.Verdict{Class: -1}), broken, retry.Verdict{Rule: "classifier returned class(-1)"}},
		"a panic":                  {panics, broken, retry.Verdict{Rule: "classifier retry.ClassifierFunc panicked: oh no"}},
		"a nil function":           {retry.ClassifierFunc(nil), broken, retry.Verdict{Rule: "classifier retry.ClassifierFunc panicked: runtime error: invalid memory address or nil pointer dereference"}},
		"a nil error is not asked": {panics, nil, retry.Verdict{}},
		"no classifier":            {nil, retry.Transient, retry.Verdict{Class: retry.Transient, Rule: "the error is a class"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, c.want, retry.Ask(t.Context(), c.classifier, c.err))
		})
	}
}

func TestFirst(t *testing.T) {
	unknown, auth, fatal := says(retry.Verdict{Rule: "no idea"}), says(retry.Verdict{Class: retry.Auth}), says(retry.Verdict{Class: retry.Fatal})
	cases := map[string]struct {
		classifiers []retry.Classifier
		want        retry.Verdict
	}{
		"the first that knows":    {[]retry.Classifier{unknown, auth, fatal}, retry.Verdict{Class: retry.Auth}},
		"past a panic":            {[]retry.Classifier{panics, fatal}, retry.Verdict{Class: retry.Fatal}},
		"past nil":                {[]retry.Classifier{nil, fatal}, retry.Verdict{Class: retry.Fatal}},
		"the last when none does": {[]retry.Classifier{says(retry.Verdict{}), unknown}, retry.Verdict{Rule: "no idea"}},
		"none":                    {nil, retry.Verdict{}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, c.want, retry.Ask(t.Context(), retry.First(c.classifiers...), errors.New("x")))
		})
	}
}

func TestFirst_KeepsItsOwnList(t *testing.T) {
	list := []retry.Classifier{says(retry.Verdict{Class: retry.Auth})}
	first := retry.First(list...)
	list[0] = says(retry.Verdict{Class: retry.Fatal})
	require.Equal(t, retry.Auth, retry.Ask(t.Context(), first, errors.New("x")).Class)
}

func TestStandard_Context(t *testing.T) {
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	refusal := &retry.ResponseError{StatusCode: 429}
	cases := map[string]struct {
		ctx  context.Context
		err  error
		want retry.Class
	}{
		"ended, whatever the error":   {ended, refusal, retry.Canceled},
		"alive":                       {context.Background(), refusal, retry.RateLimited},
		"alive, somebody's cancel":    {context.Background(), context.Canceled, retry.Unknown},
		"not known, a cancel":         {nil, context.Canceled, retry.Canceled},
		"alive, deadline of the call": {context.Background(), context.DeadlineExceeded, retry.Transient},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, c.want, retry.Standard(nil).Classify(c.ctx, c.err).Class)
		})
	}
}

func TestStandard_JoinedErrors(t *testing.T) {
	five, sixty := &retry.ResponseError{StatusCode: 429, Header: header("Retry-After", "5")}, &retry.ResponseError{StatusCode: 503, Header: header("Retry-After", "60")}
	quota, fatal := retry.QuotaExhausted, &retry.ResponseError{StatusCode: 404}
	cases := map[string]struct {
		err  error
		want retry.Class
		wait time.Duration
	}{
		"the longer wait of two refusals": {errors.Join(five, sixty), retry.RateLimited, time.Minute},
		"quota above a refusal":           {errors.Join(five, quota), retry.QuotaExhausted, 0},
		"fatal above all":                 {errors.Join(five, quota, fatal), retry.Fatal, 0},
		"two of %w":                       {fmt.Errorf("%w and %w", errors.New("cleanup"), five), retry.RateLimited, 5 * time.Second},
		"joined in a join":                {errors.Join(errors.Join(errors.New("a"), fmt.Errorf("b: %w", sixty)), nil), retry.Overloaded, time.Minute},
		"the words around them":           {fmt.Errorf("HTTP 429 Too Many Requests: %w, %w", errors.New("a"), errors.New("b")), retry.RateLimited, 0},
		"none is known":                   {errors.Join(errors.New("a"), errors.New("b")), retry.Unknown, 0},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			v := retry.Ask(t.Context(), nil, c.err)
			require.Equal(t, c.want, v.Class, "%s", v)
			require.Equal(t, c.wait, v.RetryAfter, "%s", v)
		})
	}
}

func TestD16_ContradictoryHints(t *testing.T) {
	later := header("Retry-After", "5", "X-RateLimit-Remaining", "0", "X-RateLimit-Reset", "3600")
	v := retry.Ask(t.Context(), nil, &retry.ResponseError{StatusCode: 429, Header: later})
	require.Equal(t, 5*time.Second, v.RetryAfter, "Retry-After wins: %s", v)

	two := header("X-RateLimit-Remaining-Requests", "0", "X-RateLimit-Reset-Requests", "2s", "X-RateLimit-Remaining-Tokens", "0", "X-RateLimit-Reset-Tokens", "3600s")
	v = retry.Ask(t.Context(), nil, &retry.ResponseError{StatusCode: 429, Header: two})
	require.Equal(t, time.Hour, v.RetryAfter, "the later of two empty buckets: %s", v)
}

func TestD12_ResetInEveryUnit(t *testing.T) {
	c := retry.Standard(frozen(time.Unix(1785224566, 0)))
	for _, value := range []string{"1785228000", "1785228000000", "3434"} {
		v := retry.Ask(t.Context(), c, &retry.ResponseError{StatusCode: 429, Header: header("X-RateLimit-Remaining", "0", "X-RateLimit-Reset", value)})
		require.Equal(t, 3434*time.Second, v.RetryAfter, "%s: %s", value, v)
	}
	v := retry.Ask(t.Context(), c, &retry.ResponseError{StatusCode: 429, Header: header("X-RateLimit-Remaining", "0", "X-RateLimit-Reset", "1785220000")})
	require.False(t, v.Stated, "the past is no hint: %s", v)
}

func TestD15_HintOfAWrappedError(t *testing.T) {
	v := retry.Ask(t.Context(), nil, fmt.Errorf("turn: %w", fmt.Errorf("call: %w", hint(90*time.Second))))
	require.Equal(t, retry.RateLimited, v.Class)
	require.Equal(t, 90*time.Second, v.RetryAfter)
}

// hint is an error that offers a delay and nothing else.
type hint time.Duration

func (hint) Error() string               { return "later" }
func (h hint) RetryAfter() time.Duration { return time.Duration(h) }

func TestStandard_ErrorsOfThisPackage(t *testing.T) {
	at := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	c := retry.Standard(frozen(at))
	v := retry.Ask(t.Context(), c, fmt.Errorf("child: %w", &retry.Error{Class: retry.RateLimited, Attempts: 4, RetryAt: at.Add(time.Minute)}))
	require.Equal(t, retry.Verdict{Class: retry.RateLimited, RetryAfter: time.Minute, Stated: true, Rule: "retried to the end"}, v)

	v = retry.Ask(t.Context(), c, fmt.Errorf("the queue is full: %w", retry.Overloaded))
	require.Equal(t, retry.Overloaded, v.Class)
}

func TestVerdict_String(t *testing.T) {
	v := retry.Ask(t.Context(), nil, &retry.ResponseError{StatusCode: 429, Header: header("Retry-After", "20"), Body: []byte(`{"error":{"code":"rate_limit_exceeded","message":"in organization org-x"}}`)})
	require.Equal(t, "rate_limited, retry after 20s, scope org: code rate_limit_exceeded (status 429), wait from Retry-After", v.String())
	require.Equal(t, "unknown", retry.Verdict{}.String())
}

func TestClass_Text(t *testing.T) {
	for class := retry.Unknown; class <= retry.Canceled; class++ {
		text, err := json.Marshal(class)
		require.NoError(t, err)
		var back retry.Class
		require.NoError(t, json.Unmarshal(text, &back))
		require.Equal(t, class, back)
		require.Equal(t, class.String(), class.Error())
	}
	_, err := json.Marshal(retry.Class(99))
	require.Error(t, err)
	var c retry.Class
	require.ErrorContains(t, json.Unmarshal([]byte(`"nonsense"`), &c), "nonsense")
	require.Equal(t, "class(99)", retry.Class(99).String())
}

func TestStandard_IsSafeForConcurrentUse(t *testing.T) {
	c := retry.Standard(frozen(time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)))
	samples := readSamples(t, "corpus.jsonl")
	errs := make([]error, len(samples))
	want := make([]retry.Verdict, len(samples))
	for i := range samples {
		errs[i] = samples[i].error(t)
		want[i] = retry.Ask(t.Context(), c, errs[i])
	}
	var group sync.WaitGroup
	got := make([][]retry.Verdict, 4)
	for n := range got {
		group.Go(func() {
			for _, err := range errs {
				got[n] = append(got[n], retry.Ask(t.Context(), c, err))
			}
		})
	}
	group.Wait()
	for n := range got {
		require.Equal(t, want, got[n])
	}
}
