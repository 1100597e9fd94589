package retry_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"testing"
	"time"
	_ "time/tzdata" // named zones, on hosts that have none

	"github.com/stretchr/testify/require"

	"github.com/holdoff-go/holdoff/retry"
)

// A sample is one error of testdata/errors, with what it means.
type sample struct {
	ID, Provider, Transport string
	Status                  int
	Headers                 map[string]string
	Body, Text              string
	Now                     time.Time
	Ctx, Go                 string
	ExitCode                *int `json:"exit_code"`

	WantClass   retry.Class   `json:"want_class"`
	AcceptClass []retry.Class `json:"accept_class"`
	WantMS      *float64      `json:"want_retry_after_ms"`
	AcceptMS    []*float64    `json:"accept_retry_after_ms"`
	ToleranceMS float64       `json:"tolerance_ms"`
	WantScope   retry.Scope   `json:"want_scope"`

	Hard       int
	Basis      string
	BestEffort bool `json:"best_effort"`
	Why        string
	Source     string
}

// frozen is a clock that stands still.
type frozen time.Time

func (f frozen) Now() time.Time                       { return time.Time(f) }
func (f frozen) After(time.Duration) <-chan time.Time { return nil }

func readSamples(t testing.TB, name string) []sample {
	file, err := os.Open("../testdata/errors/" + name)
	require.NoError(t, err)
	defer file.Close()
	var samples []sample
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var s sample
		require.NoError(t, json.Unmarshal(lines.Bytes(), &s), lines.Text())
		samples = append(samples, s)
	}
	require.NoError(t, lines.Err())
	return samples
}

// error returns the sample as the error it would be in a program.
func (s *sample) error(t testing.TB) error {
	switch s.Transport {
	case "http":
		h := http.Header{}
		for name, value := range s.Headers {
			h.Set(name, value)
		}
		return &retry.ResponseError{StatusCode: s.Status, Header: h, Body: []byte(s.Body)}
	case "grpc":
		return newGRPCError(t, s)
	case "text":
		if s.ExitCode != nil {
			return &retry.ProcessError{ExitCode: *s.ExitCode, Stderr: []byte(s.Text)}
		}
		return errors.New(s.Text)
	case "goerror":
		build := goErrors[s.ID]
		require.NotNil(t, build, "no such Go error")
		return build()
	}
	require.FailNow(t, "no such transport", s.Transport)
	return nil
}

func (s *sample) context(t testing.TB) context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	if s.Ctx == "done" {
		cancel()
	} else {
		t.Cleanup(cancel)
	}
	return ctx
}

func (s *sample) classify(t testing.TB, err error) retry.Verdict {
	return retry.Ask(s.context(t), retry.Standard(frozen(s.Now)), err)
}

// wrong returns what of a verdict is wrong, or "".
func (s *sample) wrong(v retry.Verdict) string {
	if v.Class != s.WantClass && !slices.Contains(s.AcceptClass, v.Class) {
		return fmt.Sprintf("class %s, want %s", v.Class, s.WantClass)
	}
	for _, want := range append([]*float64{s.WantMS}, s.AcceptMS...) {
		if s.waits(v, want) {
			return ""
		}
	}
	if s.WantMS == nil {
		return fmt.Sprintf("wait %v, want none", v.RetryAfter)
	}
	return fmt.Sprintf("wait %v (stated: %t), want %v", v.RetryAfter, v.Stated, time.Duration(*s.WantMS*float64(time.Millisecond)))
}

func (s *sample) waits(v retry.Verdict, want *float64) bool {
	if want == nil || !v.Stated {
		return want == nil && !v.Stated
	}
	got := float64(v.RetryAfter) / float64(time.Millisecond)
	return got >= *want-s.ToleranceMS-.001 && got <= *want+s.ToleranceMS+.001
}

// required reports whether a sample must be right, rather than most of its kind.
func (s *sample) required() bool {
	return s.Basis != "memory" && s.Basis != "synthetic"
}

func TestCorpus(t *testing.T)   { testSamples(t, "corpus.jsonl") }
func TestSiblings(t *testing.T) { testSamples(t, "siblings.jsonl") }

func testSamples(t *testing.T, name string) {
	type tally struct{ right, all int }
	classes := map[retry.Class]*tally{}
	var other, scopes tally
	for _, s := range readSamples(t, name) {
		t.Run(s.ID, func(t *testing.T) {
			v := s.classify(t, s.error(t))
			wrong := s.wrong(v)
			if classes[s.WantClass] == nil {
				classes[s.WantClass] = &tally{}
			}
			classes[s.WantClass].all++
			if wrong == "" {
				classes[s.WantClass].right++
			}
			t.Logf("%s\n\terror: %.300s", v, s.error(t).Error())
			if s.WantScope != "" && !s.BestEffort {
				scopes.all++
				if v.Scope == s.WantScope {
					scopes.right++
				} else if wrong == "" {
					t.Logf("scope %q, want %q", v.Scope, s.WantScope)
				}
			}
			if wrong != "" {
				t.Logf("%s: %s", wrong, s.Why)
			}
			switch {
			case s.BestEffort:
			case s.required():
				require.Empty(t, wrong)
			default:
				other.all++
				if wrong == "" {
					other.right++
				}
			}
			require.NotContains(t, v.String(), "\n")
			if v.Class != retry.Unknown {
				require.NotEmpty(t, v.Rule)
			}
		})
	}
	for class := retry.Unknown; class <= retry.Canceled; class++ {
		if n := classes[class]; n != nil {
			t.Logf("%-16s %3d of %3d", class, n.right, n.all)
		}
	}
	t.Logf("of memory or made up: %d of %d; scopes: %d of %d", other.right, other.all, scopes.right, scopes.all)
	require.GreaterOrEqual(t, other.right*100, other.all*95)
	require.GreaterOrEqual(t, scopes.right*100, scopes.all*95)
}
