package httplimit

import (
	"net/http"
	"strings"
)

// A splitter finds the messages in a body as it passes by in pieces.
type splitter interface {
	// next takes p in, up to the end of the first message. It returns the message,
	// which is good until the next call, and what it has not taken. nil: p has no
	// end of one.
	next(p []byte) (message, rest []byte)
	// rest is what has come of a message that has not ended.
	rest() []byte
	// blind reports that nothing more can be found.
	blind() bool
}

// splitterFor returns what finds the messages of a body of such a kind; nil for
// one that has none, or that is compressed.
func splitterFor(h http.Header) splitter {
	if encoding := h.Get("Content-Encoding"); encoding != "" && encoding != "identity" {
		return nil
	}
	kind, _, _ := strings.Cut(h.Get("Content-Type"), ";")
	kind = strings.ToLower(strings.TrimSpace(kind))
	switch {
	case kind == "text/event-stream":
		return &events{}
	case kind == "", strings.Contains(kind, "json"):
		return &values{}
	default:
		return nil
	}
}
