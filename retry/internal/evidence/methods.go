package evidence

import (
	"bytes"
	"net/http"
	"strings"
	"time"
)

// Hints is what an error says of itself by methods that are no statement about
// a provider: how it happened, and whether it thinks a retry makes sense.
type Hints struct {
	Timeout, Temporary, Connection, Canceled bool
	Retryable, NonRetryable                  bool
}

// Methods notes what err offers by exported methods. Each is called on its own
// under recover: half-filled errors and nil pointers of SDKs panic.
func (e *Evidence) Methods(err error, h *Hints) {
	status := func(n int) {
		if n >= 400 && n < 600 {
			e.HTTPStatus(n)
		}
	}
	if x, ok := err.(interface{ StatusCode() int }); ok {
		try(func() { status(x.StatusCode()) })
	}
	if x, ok := err.(interface{ HTTPStatusCode() int }); ok {
		try(func() { status(x.HTTPStatusCode()) })
	}
	if x, ok := err.(interface{ HTTPStatus() int }); ok {
		try(func() { status(x.HTTPStatus()) })
	}
	if x, ok := err.(interface{ GetHttpStatusCode() int }); ok {
		try(func() { status(x.GetHttpStatusCode()) })
	}
	if x, ok := err.(interface{ GetHTTPStatusCode() int }); ok {
		try(func() { status(x.GetHTTPStatusCode()) })
	}
	if x, ok := err.(interface{ GetStatusCode() int }); ok {
		try(func() { status(x.GetStatusCode()) })
	}
	if x, ok := err.(interface{ HTTPCode() int }); ok {
		try(func() { status(x.HTTPCode()) })
	}
	e.sdkMethods(err)
	e.waitMethods(err)
	h.read(err)
}

// hasMethods reports whether err's type has any of the methods asked for here.
func hasMethods(err error) bool {
	switch err.(type) {
	case interface{ StatusCode() int }, interface{ HTTPStatusCode() int }, interface{ HTTPStatus() int }, interface{ GetHttpStatusCode() int }, interface{ HTTPCode() int },
		interface{ GetHTTPStatusCode() int }, interface{ GetStatusCode() int }, interface{ GetCode() string }, interface{ RetryAfter() time.Time },
		interface{ ErrorCode() string }, interface{ ErrorMessage() string }, interface{ Reason() string }, interface{ Metadata() map[string]string },
		interface{ Meta() http.Header }, interface{ Header() http.Header }, interface{ RawJSON() string }, interface{ DumpResponse(bool) []byte },
		interface{ RetryAfter() time.Duration }, interface{ GetRetryAfter() time.Duration }, interface{ NextRetryDelay() time.Duration },
		interface{ Timeout() bool }, interface{ Temporary() bool }, interface{ ConnectionError() bool }, interface{ CanceledError() bool },
		interface{ Retryable() bool }, interface{ RetryableError() bool }, interface{ NonRetryable() bool }, interface{ ExitCode() int }:
		return true
	}
	return false
}

// sdkMethods notes the codes and bodies that SDKs offer.
func (e *Evidence) sdkMethods(err error) {
	if x, ok := err.(interface{ ErrorCode() string }); ok {
		try(func() { e.codeMethod(x.ErrorCode()) })
	}
	if x, ok := err.(interface{ GetCode() string }); ok {
		try(func() { e.Code(x.GetCode()) })
	}
	if x, ok := err.(interface{ ErrorMessage() string }); ok {
		try(func() { e.say(x.ErrorMessage(), 1) })
	}
	if x, ok := err.(interface{ Reason() string }); ok {
		try(func() { e.codeMethod(x.Reason()) })
	}
	if x, ok := err.(interface{ Metadata() map[string]string }); ok {
		try(func() { e.metadataMap(x.Metadata()) })
	}
	if x, ok := err.(interface{ Meta() http.Header }); ok {
		try(func() { e.Header.read(x.Meta()) })
	}
	if x, ok := err.(interface{ Header() http.Header }); ok {
		try(func() { e.Header.read(x.Header()) })
	}
	if x, ok := err.(interface{ RawJSON() string }); ok {
		try(func() { e.Text(x.RawJSON(), true) })
	}
}

func (e *Evidence) codeMethod(code string) {
	if code != "" {
		e.Envelope = true
		e.Code(code)
	}
}

// dump notes an answer in the form of the wire.
func (e *Evidence) dump(wire []byte) {
	head, body, _ := bytes.Cut(wire, []byte("\r\n\r\n"))
	lines := strings.Split(string(head[:min(len(head), maxText)]), "\r\n")
	_, rest, ok := strings.Cut(lines[0], " ")
	if !ok || !strings.HasPrefix(lines[0], "HTTP/") || len(rest) < 3 {
		return
	}
	status := 0
	for _, c := range rest[:3] {
		if c < '0' || c > '9' {
			return
		}
		status = 10*status + int(c-'0')
	}
	e.HTTPStatus(status)
	for _, line := range lines[1:] {
		name, value, _ := strings.Cut(line, ":")
		e.Header.set(name, strings.TrimSpace(value))
	}
	e.Text(string(body[:min(len(body), maxText)]), status >= 400)
}

// waitMethods notes the waits that methods state. 0 and less are no statement:
// they are what such a method returns when it has none.
func (e *Evidence) waitMethods(err error) {
	state := func(source Source, d time.Duration, name string) {
		if d > 0 {
			e.State(source, d, name)
		}
	}
	if x, ok := err.(interface{ RetryAfter() time.Duration }); ok {
		try(func() { state(RetryAfter, x.RetryAfter(), "RetryAfter()") })
	}
	if x, ok := err.(interface{ RetryAfter() time.Time }); ok {
		try(func() { state(RetryAfter, x.RetryAfter().Sub(e.Now), "RetryAfter()") })
	}
	if x, ok := err.(interface{ GetRetryAfter() time.Duration }); ok {
		try(func() { state(RetryAfter, x.GetRetryAfter(), "GetRetryAfter()") })
	}
	if x, ok := err.(interface{ NextRetryDelay() time.Duration }); ok {
		try(func() { state(RetryAfter, x.NextRetryDelay(), "NextRetryDelay()") })
	}
}

func (h *Hints) read(err error) {
	if x, ok := err.(interface{ Timeout() bool }); ok {
		try(func() { h.Timeout = h.Timeout || x.Timeout() })
	}
	if x, ok := err.(interface{ Temporary() bool }); ok {
		try(func() { h.Temporary = h.Temporary || x.Temporary() })
	}
	if x, ok := err.(interface{ ConnectionError() bool }); ok {
		try(func() { h.Connection = h.Connection || x.ConnectionError() })
	}
	if x, ok := err.(interface{ CanceledError() bool }); ok {
		try(func() { h.Canceled = h.Canceled || x.CanceledError() })
	}
	if x, ok := err.(interface{ Retryable() bool }); ok {
		try(func() { h.Retryable = h.Retryable || x.Retryable() })
	}
	if x, ok := err.(interface{ RetryableError() bool }); ok {
		try(func() { h.Retryable = h.Retryable || x.RetryableError() })
	}
	if x, ok := err.(interface{ NonRetryable() bool }); ok {
		try(func() { h.NonRetryable = h.NonRetryable || x.NonRetryable() })
	}
}

// try calls f and forgets its panic.
func try(f func()) {
	defer func() { _ = recover() }()
	f()
}
