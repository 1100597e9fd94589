package httplimit

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// split feeds body in pieces of size n and returns the messages, and what is left.
func split(s splitter, body string, n int) (messages []string, rest string) {
	for body != "" && !s.blind() {
		piece := []byte(body[:min(n, len(body))])
		body = body[len(piece):]
		for len(piece) > 0 && !s.blind() {
			var m []byte
			if m, piece = s.next(piece); m != nil {
				messages = append(messages, string(m))
			}
		}
	}
	return messages, string(s.rest())
}

func TestEvents(t *testing.T) {
	large := strings.Repeat("x", maxMessage)
	cases := map[string]struct {
		body     string
		messages []string
		rest     string
	}{
		"one":                     {"data: a\n\n", []string{"data: a\n"}, ""},
		"two, with a name":        {"data: a\n\nevent: error\ndata: b\n\n", []string{"data: a\n", "event: error\ndata: b\n"}, ""},
		"CRLF":                    {"data: a\r\ndata: b\r\n\r\ndata: c\r\n\r\n", []string{"data: a\ndata: b\n", "data: c\n"}, ""},
		"CR":                      {"data: a\r\rdata: b\r\r", []string{"data: a\n", "data: b\n"}, ""},
		"comments are no message": {": OPENROUTER PROCESSING\n\n: and\n: more\n\ndata: a\n: within\n\n", []string{"data: a\n"}, ""},
		"blank lines are none":    {"\n\n\r\n\ndata: a\n\n\n\n", []string{"data: a\n"}, ""},
		"a byte-order mark":       {"\xef\xbb\xbfdata: a\n\n", []string{"data: a\n"}, ""},
		"a colon within":          {"data: a\ndata::b\n\n", []string{"data: a\ndata::b\n"}, ""},
		"unfinished":              {"data: a\n\ndata: b\nda", []string{"data: a\n"}, "data: b\nda"},
		"too large, then another": {"data: " + large + "\ndata: z\n\ndata: a\n\n", []string{"", "data: a\n"}, ""},
		"a large comment":         {": " + large + "\n\ndata: a\n\n", []string{"data: a\n"}, ""},
		"too large, unfinished":   {"data: " + large, nil, ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			for _, n := range []int{1, 2, 3, 7, 1 << 20} {
				messages, rest := split(&events{}, c.body, n)
				require.Equal(t, c.messages, messages, "pieces of %d", n)
				require.Equal(t, c.rest, rest, "pieces of %d", n)
			}
		})
	}
}

func TestValues(t *testing.T) {
	large := `{"a":"` + strings.Repeat("x", maxMessage) + `"}`
	cases := map[string]struct {
		body     string
		messages []string
		rest     string
		blind    bool
	}{
		"one":                        {` {"a":{"b":[1,"}"]}} `, []string{`{"a":{"b":[1,"}"]}}`}, "", false},
		"lines":                      {"{\"a\":1}\n{\"b\":2}\n", []string{`{"a":1}`, `{"b":2}`}, "", false},
		"RFC 7464":                   {"\x1e{\"a\":1}\n", []string{`{"a":1}`}, "", false},
		"an array's elements":        {`[{"a":1}, {"b":[2]}]`, []string{`{"a":1}`, `{"b":[2]}`}, "", false},
		"quotes and escapes":         {`{"a":"\"}\\"}{"b":"{"}`, []string{`{"a":"\"}\\"}`, `{"b":"{"}`}, "", false},
		"unfinished":                 {`{"a":1}{"b"`, []string{`{"a":1}`}, `{"b"`, false},
		"nothing yet":                {" \n", nil, "", false},
		"no object":                  {`"text"`, nil, "", true},
		"HTML":                       {`<html>`, nil, "", true},
		"numbers in an array":        {`[1,2]`, nil, "", true},
		"an array in an array":       {`[[{}]]`, nil, "", true},
		"closed without being open":  {`]{"a":1}`, nil, "", true},
		"too large":                  {large, nil, "", true},
		"too large, after a message": {`{"a":1}` + large, []string{`{"a":1}`}, "", true},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			for _, n := range []int{1, 2, 3, 7, 1 << 20} {
				s := &values{}
				messages, rest := split(s, c.body, n)
				require.Equal(t, c.messages, messages, "pieces of %d", n)
				require.Equal(t, c.blind, s.blind(), "pieces of %d", n)
				if !c.blind {
					require.Equal(t, c.rest, rest, "pieces of %d", n)
				}
			}
		})
	}
}

func TestSplitterFor(t *testing.T) {
	cases := map[string]struct {
		kind, encoding string
		want           splitter
	}{
		"events":             {"text/event-stream", "", &events{}},
		"with a charset":     {"Text/Event-Stream; charset=utf-8", "", &events{}},
		"JSON":               {"application/json", "", &values{}},
		"a problem":          {"application/problem+json", "", &values{}},
		"lines":              {"application/x-ndjson", "identity", &values{}},
		"unsaid":             {"", "", &values{}},
		"text":               {"text/plain", "", nil},
		"audio":              {"audio/mpeg", "", nil},
		"compressed":         {"application/json", "gzip", nil},
		"frames of AWS":      {"application/vnd.amazon.eventstream", "", nil},
		"compressed, events": {"text/event-stream", "br", nil},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			h := http.Header{}
			h.Set("Content-Type", c.kind)
			if c.encoding != "" {
				h.Set("Content-Encoding", c.encoding)
			}
			require.Equal(t, c.want, splitterFor(h))
		})
	}
}

// FuzzEvents holds the splitter to a plain reading of the whole text, whatever
// pieces the text comes in.
func FuzzEvents(f *testing.F) {
	f.Add("data: a\n\nevent: error\ndata: b\r\n\r\n: c\rdata\r\r", 3)
	f.Add("\xef\xbb\xbf\n:\n\n\rx", 1)
	f.Fuzz(func(t *testing.T, body string, n int) {
		n = max(1, min(n, 1<<16))
		messages, rest := split(&events{}, body, n)
		want, wantRest := readEvents(body)
		if strings.Join(messages, "\x00") != strings.Join(want, "\x00") || rest != wantRest {
			t.Fatalf("got %q and %q, want %q and %q", messages, rest, want, wantRest)
		}
	})
}

// readEvents is the reference: lines first, then what they make up.
func readEvents(body string) (messages []string, rest string) {
	body = strings.ReplaceAll(body, "\r\n", "\n")
	body = strings.ReplaceAll(body, "\r", "\n")
	lines := strings.Split(body, "\n")
	var event string
	for i, line := range lines {
		last := i == len(lines)-1
		blank := line == ""
		if i == 0 && !last && !strings.HasPrefix(line, ":") {
			line = strings.TrimPrefix(line, string(byteOrderMark))
		}
		switch {
		case last && !strings.HasPrefix(line, ":"):
			event += line
		case strings.HasPrefix(line, ":") && !(i == 0 && strings.HasPrefix(lines[0], string(byteOrderMark))):
		case blank:
			if event != "" {
				messages = append(messages, event)
			}
			event = ""
		default:
			event += line + "\n"
		}
		if len(event) > maxMessage/2 {
			return nil, "" // the bound has a test of its own
		}
	}
	return messages, event
}

// FuzzValues holds the splitter to encoding/json, whatever pieces the text comes
// in.
func FuzzValues(f *testing.F) {
	f.Add(`{"a":"}\""}{"b":[1,{}]} `, 2)
	f.Add(`[{"error":{}},{}]`, 5)
	f.Add(`{"a":1`, 1)
	f.Fuzz(func(t *testing.T, body string, n int) {
		n = max(1, min(n, 1<<16))
		messages, _ := split(&values{}, body, n)
		whole, _ := split(&values{}, body, len(body)+1)
		require.Equal(t, whole, messages)
		if len(body) > maxMessage {
			return
		}
		var want []string
		d := json.NewDecoder(strings.NewReader(body))
		for {
			var v json.RawMessage
			if err := d.Decode(&v); err != nil {
				if !errors.Is(err, io.EOF) {
					return // not JSON: there is nothing to hold it to
				}
				break
			}
			if !bytes.HasPrefix(v, []byte("{")) {
				return
			}
			want = append(want, string(v))
		}
		require.Equal(t, want, messages)
	})
}
