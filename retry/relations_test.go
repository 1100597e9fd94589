package retry_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdoff-go/holdoff/retry"
)

// A relation changes a sample in a way that must not change its verdict. It
// returns nil where it does not apply.
type relation struct {
	name   string
	change func(t testing.TB, s *sample) error
}

var relations = []relation{
	{"header names in upper case", recase(strings.ToUpper)},
	{"header names in lower case", recase(strings.ToLower)},
	{"JSON indented", rebody(func(b []byte) []byte {
		var out bytes.Buffer
		if json.Indent(&out, b, "  ", "\t") != nil {
			return nil
		}
		return out.Bytes()
	})},
	{"JSON members reversed", rebody(func(b []byte) []byte { return reorder(b) })},
	{"JSON with more members", rebody(func(b []byte) []byte {
		if !bytes.HasPrefix(b, []byte(`{"`)) {
			return nil
		}
		more := `{"request_id":"req_429529","trace":{"id":429,"url":"https://x.test/529/rate-limit?status=429"},"usage":{"limit":503},`
		return append([]byte(more), b[1:]...)
	})},
	{"body as a string in a gateway's error", inGateway("")},
	{"body behind words in a gateway's error", inGateway("upstream said: ")},
	{"text behind a prefix", retext(func(s string) string { return "2026-11-30T11:59:58Z worker-429 [ERROR] " + s })},
	{"text in colour", retext(func(s string) string {
		return "\x1b[31m\x1b[1m" + strings.ReplaceAll(s, " ", " \x1b[0m\x1b[33m") + "\x1b[0m"
	})},
	{"text with CRLF", retext(func(s string) string { return strings.ReplaceAll(s, "\n", "\r\n") + "\r\n" })},
	{"text between noise", retext(func(s string) string {
		return "processed 429 files in 3.2s\nINFO starting rate limiter, quota config loaded\n" + s + "\nmain.go:503: done\nbye\n"
	})},
	{"wrapped", wrapped(func(err error) error { return fmt.Errorf("turn 429 of agent 7: %w", err) })},
	{"wrapped twice", wrapped(func(err error) error { return fmt.Errorf("a: %w", fmt.Errorf("b: %w", err)) })},
	{"joined with another", wrapped(func(err error) error { return errors.Join(errors.New("cleanup failed"), err) })},
	{"joined inside", wrapped(func(err error) error { return fmt.Errorf("run: %w", errors.Join(err, errors.New("exit status 1"))) })},
	{"of a request", func(t testing.TB, s *sample) error {
		if s.WantClass == retry.Unknown || s.Transport == "text" && s.ExitCode == nil {
			return nil // a failed request is evidence of its own
		}
		return &url.Error{Op: "Post", URL: "https://api.example.test:42900/v1/529", Err: s.error(t)}
	}},
}

func TestRelations(t *testing.T) {
	samples := append(readSamples(t, "corpus.jsonl"), readSamples(t, "siblings.jsonl")...)
	for _, r := range relations {
		t.Run(r.name, func(t *testing.T) {
			applied := 0
			for _, s := range samples {
				changed := r.change(t, &s)
				if changed == nil {
					continue
				}
				applied++
				requireSame(t, &s, s.classify(t, s.error(t)), s.classify(t, changed), changed)
			}
			require.Greater(t, applied, 20)
			t.Logf("%d samples", applied)
		})
	}
}

func requireSame(t testing.TB, s *sample, want, got retry.Verdict, err error) {
	t.Helper()
	slack := time.Duration(min(s.ToleranceMS, 60_000) * float64(time.Millisecond))
	same := want.Class == got.Class && want.Scope == got.Scope && want.Stated == got.Stated && (want.RetryAfter-got.RetryAfter).Abs() <= slack
	require.True(t, same, "%s\n\twas %s\n\tnow %s\n\terror: %.400s", s.ID, want, got, err)
	requireNotLess(t, s, got)
}

// requireNotLess fails if a verdict sends its caller back before the provider said.
func requireNotLess(t testing.TB, s *sample, v retry.Verdict) {
	t.Helper()
	if s.WantMS == nil || !v.Stated || s.BestEffort {
		return
	}
	least := *s.WantMS
	for _, ms := range s.AcceptMS {
		if ms != nil {
			least = min(least, *ms)
		}
	}
	require.GreaterOrEqual(t, float64(v.RetryAfter)/float64(time.Millisecond), least-s.ToleranceMS-.001, "%s: %s", s.ID, v)
}

func TestRelations_NowMovesWithAllTimes(t *testing.T) {
	applied := 0
	for _, s := range append(readSamples(t, "corpus.jsonl"), readSamples(t, "siblings.jsonl")...) {
		if s.Transport == "goerror" {
			continue
		}
		later := s
		later.Now = s.Now.AddDate(0, 0, 7)
		later.Body, later.Text = shift(s.Body), shift(s.Text)
		later.Headers = map[string]string{}
		for name, value := range s.Headers {
			later.Headers[name] = shift(value)
		}
		if later.Body != s.Body || later.Text != s.Text || fmt.Sprint(later.Headers) != fmt.Sprint(s.Headers) {
			applied++
		}
		requireSame(t, &s, s.classify(t, s.error(t)), later.classify(t, later.error(t)), later.error(t))
	}
	require.Greater(t, applied, 30)
	t.Logf("%d samples have absolute times", applied)
}

func TestRelations_SameOnEveryRunAndNeverLessThanStated(t *testing.T) {
	for _, s := range append(readSamples(t, "corpus.jsonl"), readSamples(t, "siblings.jsonl")...) {
		v := s.classify(t, s.error(t))
		for range 5 {
			require.Equal(t, v, s.classify(t, s.error(t)), s.ID)
		}
		require.GreaterOrEqual(t, v.RetryAfter, time.Duration(0), s.ID)
		requireNotLess(t, &s, v)
	}
}

func recase(f func(string) string) func(testing.TB, *sample) error {
	return func(_ testing.TB, s *sample) error {
		if s.Transport != "http" || len(s.Headers) == 0 {
			return nil
		}
		h := http.Header{}
		for name, value := range s.Headers {
			h[f(name)] = []string{value}
		}
		return &retry.ResponseError{StatusCode: s.Status, Header: h, Body: []byte(s.Body)}
	}
}

func rebody(f func([]byte) []byte) func(testing.TB, *sample) error {
	return func(t testing.TB, s *sample) error {
		if s.Transport != "http" || !json.Valid([]byte(s.Body)) {
			return nil
		}
		var compact bytes.Buffer
		require.NoError(t, json.Compact(&compact, []byte(s.Body)))
		body := f(compact.Bytes())
		if body == nil {
			return nil
		}
		changed := *s
		changed.Body = string(body)
		return changed.error(t)
	}
}

func inGateway(prefix string) func(testing.TB, *sample) error {
	return func(t testing.TB, s *sample) error {
		if s.Transport != "http" || s.Body == "" || s.WantClass == retry.Unknown {
			return nil
		}
		body, err := json.Marshal(map[string]any{"error": map[string]any{"message": prefix + s.Body}})
		require.NoError(t, err)
		changed := *s
		changed.Body = string(body)
		return changed.error(t)
	}
}

func retext(f func(string) string) func(testing.TB, *sample) error {
	return func(t testing.TB, s *sample) error {
		if s.Transport != "text" || s.BestEffort || s.Text == "" {
			return nil
		}
		changed := *s
		changed.Text = f(s.Text)
		return changed.error(t)
	}
}

func wrapped(f func(error) error) func(testing.TB, *sample) error {
	return func(t testing.TB, s *sample) error { return f(s.error(t)) }
}

// reorder writes the members of every object in reverse order.
func reorder(b []byte) []byte {
	var object map[string]json.RawMessage
	var array []json.RawMessage
	switch {
	case json.Unmarshal(b, &object) == nil && object != nil:
		names := make([]string, 0, len(object))
		for name := range object {
			names = append(names, name)
		}
		slices.Sort(names)
		slices.Reverse(names)
		var parts []string
		for _, name := range names {
			quoted, _ := json.Marshal(name)
			parts = append(parts, string(quoted)+": "+string(reorder(object[name])))
		}
		return []byte("{" + strings.Join(parts, ", ") + "}")
	case json.Unmarshal(b, &array) == nil && array != nil:
		for i := range array {
			array[i] = reorder(array[i])
		}
		out, _ := json.Marshal(array)
		return out
	}
	return b
}

var absolute = regexp.MustCompile(`\b1[78]\d{8}(?:\d{3})?\b|\b20\d\d-\d\d-\d\d|\b\d\d(?:-| )(?:Nov|Dec)(?:-| )\d{2,4}|\b(?:Nov|Dec|Feb|December) \d{1,2}`)

// shift moves the absolute times in text by a week, which leaves the names of
// weekdays as they are.
func shift(text string) string {
	return absolute.ReplaceAllStringFunc(text, func(s string) string {
		if n, err := strconv.ParseInt(s, 10, 64); err == nil {
			if len(s) == 13 {
				return fmt.Sprint(n + 7*24*3600*1000)
			}
			return fmt.Sprint(n + 7*24*3600)
		}
		for _, layout := range []string{"2006-01-02", "02-Jan-06", "02 Jan 2006", "Jan 2", "January 2", "Jan 02"} {
			if at, err := time.Parse(layout, s); err == nil {
				if at.Year() == 0 {
					at = at.AddDate(2026, 0, 0)
				}
				return at.AddDate(0, 0, 7).Format(layout)
			}
		}
		return s
	})
}
