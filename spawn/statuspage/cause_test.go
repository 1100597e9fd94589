package statuspage

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

func TestCause(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"dial tcp [::1]:443: connect: connection refused", "dial tcp [::1]:443: connect: connection refused"},
		{`POST "https://api.openai.com/v1/chat/completions": 429 Too Many Requests {"message":"slow down"}`, `POST "https://api.openai.com/v1/chat/completions": 429 Too Many Requests`},
		{"status 502 Bad Gateway: <html><body>nginx</body></html>", "status 502 Bad Gateway"},
		{`{"error":{"message":"no"}}`, "(a body, not shown)"},
		{`[{"error":1}]`, "(a body, not shown)"},
		{"first line\nsecond line: a prompt", "first line"},
		{"model claude-sonnet-4-20250514 is gone, request 3f1c2d4e-1111-4222-8333-abcdefabcdef", "model claude-sonnet-4-20250514 is gone, request 3f1c2d4e-1111-4222-8333-abcdefabcdef"},
		{`Get "https://generativelanguage.googleapis.com/v1/models?key=AIzaSyD-9tSrke72PouQMnMX": EOF`, `Get "https://generativelanguage.googleapis.com/v1/models?…": EOF`},
		{"dial https://user:hunter2@proxy.example:3128: EOF", "dial https://…@proxy.example:3128: EOF"},
		{"Incorrect API key provided: sk-proj-****abcd. You can find it", "Incorrect API key provided: … You can find it"},
		{"bad key sk-ant-api03-abcDEF_ghi", "bad key …"},
		{"header Authorization: Bearer abc123.def", "header Authorization: Bearer …"},
		{"aws says AKIAIOSFODNN7EXAMPLE", "aws says AKIA…"},
		{"digest 9f86d081884c7d659a2feaa0c55ad015 differs", "digest … differs"},
		{"missing key in map, wrong token count", "missing key in map, wrong token count"},
		{"", ""},
	} {
		require.Equal(t, c.want, explain(line, errors.New(c.in)), "%q", c.in)
	}
	require.Empty(t, explain(line, nil))
	require.Equal(t, "status 429 Too Many Requests", explain(line, fmt.Errorf("turn 3: %w", refused)))
}

type panicky struct{}

func (*panicky) Error() string { panic("half filled") }

func TestCauseThatPanics(t *testing.T) {
	require.Equal(t, "*statuspage.panicky", explain(line, &panicky{}))
}

func FuzzCause(f *testing.F) {
	f.Add("status 429: {}")
	f.Add(strings.Repeat("é", 300))
	f.Add("\xff\x00\u202e")
	f.Add("https://a?" + strings.Repeat("k", 9999))
	f.Fuzz(func(t *testing.T, in string) {
		for _, how := range []func(error) string{line, error.Error} {
			got := explain(how, errors.New(in))
			require.True(t, utf8.ValidString(got))
			require.LessOrEqual(t, len(got), maxText)
			require.NotContains(t, got, "\n")
			require.NotContains(t, got, "\u202e")
		}
		require.NotContains(t, explain(line, errors.New(in)), "{")
	})
}
