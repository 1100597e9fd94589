// Package evidence collects what an error shows of its cause: statuses, codes,
// messages, stated waits. It reads HTTP answers, JSON envelopes, streams,
// markup, free text, and the exported methods and fields of foreign error types,
// all within bounds of time and memory. What it means is for package retry to say.
package evidence

import (
	"strings"
	"time"

	"github.com/holdoff-go/holdoff/retry/internal/when"
)

// Bounds on what is read of one error.
const (
	maxText  = 64 << 10 // bytes of one body or text
	maxDepth = 24       // brackets, through JSON in strings in JSON: some five of these
	maxSaid  = 16 << 10 // bytes of messages
	maxItems = 16       // elements of an array of errors, details, violations
)

// A Source is where a stated wait was found, in the order of trust.
type Source int

const (
	Millis     Source = iota // retry-after-ms and its kin
	RetryAfter               // Retry-After, and a method or field of that name
	Body                     // a field of the body, or the details of a status
	Buckets                  // the reset of an empty bucket
	sources
)

// A Wait is a stated wait and where it was read.
type Wait struct {
	For   time.Duration
	From  string
	Found bool
}

// Evidence is what was found. The zero value is ready, once Now is set.
type Evidence struct {
	Now time.Time

	Status   int  // the HTTP status of the answer; 0 when there was none
	Inner    int  // the HTTP status that a body or text speaks of
	GRPC     int  // the gRPC code; 0 when there was none
	Envelope bool // a body, a record or a status said that this is an error
	ExitCode int  // of a subprocess, if Exited
	Exited   bool

	Codes    []string // machine-readable codes and types, as written
	Quotas   []string // names of the quotas that were violated
	Reset    bool     // RetryInfo or a kin of it was there
	ZeroMax  bool     // the limit is 0
	Rejected bool     // a plan's window is used up, by the provider's own word
	Header   Header
	Waits    [sources]Wait
	Scopes   Scopes

	said  strings.Builder // messages from envelopes, one a line
	free  strings.Builder // text around and without envelopes
	links Links
	codes [8]string // room for the usual few
}

// Scopes is what the structure of an error says about whose limit it is.
type Scopes struct {
	Model, Project, Namespace bool
}

// Links is what the addresses in the messages point at. They are cut out of
// the messages, whose words they would drown.
type Links struct {
	TokenLimit     bool // DashScope's page on its limit per minute
	SecondaryLimit bool // GitHub's page on its secondary limits
}

// Links returns what the messages link to.
func (e *Evidence) Links() Links { return e.links }

// Said returns the messages of the envelopes, cleaned, one a line.
func (e *Evidence) Said() string { return e.said.String() }

// Free returns the text that stood in no envelope, cleaned.
func (e *Evidence) Free() string { return e.free.String() }

// AnyStatus returns the status that counts: an inner one where the outer one
// says nothing, or is the 400, 500 or 502 that a gateway puts around it.
func (e *Evidence) AnyStatus() int {
	switch {
	case e.Inner == 0:
		return e.Status
	case e.Status < 400, e.Status == 400, e.Status == 500, e.Status == 502, e.Inner == 429 && e.Status > 500:
		return e.Inner
	}
	return e.Status
}

// State notes a wait; the longest of a source counts.
func (e *Evidence) State(source Source, d time.Duration, from string) {
	w := &e.Waits[source]
	if !w.Found || d > w.For {
		*w = Wait{d, from, true}
	}
}

// Code notes a machine-readable code.
func (e *Evidence) Code(code string) {
	code = strings.TrimSpace(code)
	if code == "" || len(code) > 200 || len(e.Codes) == 32 {
		return
	}
	if e.Codes == nil {
		e.Codes = e.codes[:0]
	}
	e.Codes = append(e.Codes, code)
}

// inner notes an HTTP status found inside; 429 is kept above all others, and a
// deeper one above an outer one.
func (e *Evidence) inner(status int) {
	if status >= 400 && status < 600 && e.Inner != 429 {
		e.Inner = status
	}
}

// HTTP notes an answer: its status, headers and body.
func (e *Evidence) HTTP(status int, header map[string][]string, body string) {
	e.HTTPStatus(status)
	e.Header.read(header)
	e.Text(body, status >= 400)
}

// HTTPStatus notes the status of an answer. An earlier one of an error stays.
func (e *Evidence) HTTPStatus(status int) {
	if e.Status < 400 && status > 0 {
		e.Status = status
	}
}

// duration notes a wait given in seconds.
func (e *Evidence) seconds(n float64, from string) {
	if d, ok := when.Units(n, time.Second); ok {
		e.State(Body, d, from)
	}
}
