package retry

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// ErrElapsed is among the causes of an [Error] whose next wait would have ended
// after the policy's MaxElapsed.
var ErrElapsed = errors.New("the next wait would end after MaxElapsed")

// An Error says that a call was given up: retried to the end, or not worth
// retrying. It is the last word on that call: an outer [Do] does not retry it
// again, so that layers of retries never multiply.
//
// errors.Is(err, retry.RateLimited) asks for its class, and errors.Is and
// errors.As reach every cause.
type Error struct {
	// Class is that of the last attempt's failure, or Canceled when the context
	// ended the run.
	Class Class
	// Attempts is how often the call was made.
	Attempts int
	// RetryAt is when the provider said it may be tried again; zero when it did
	// not say.
	RetryAt time.Time
	// Causes holds the attempts' errors in order, and after them what ended the
	// run if that was no failure of an attempt: ErrElapsed, or the context's
	// error and cause.
	Causes []error
}

// Error returns the class, the number of attempts and the last cause.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.Class.String())
	switch {
	case e.Attempts == 1:
		b.WriteString(" after 1 attempt")
	case e.Attempts > 1:
		fmt.Fprintf(&b, " after %d attempts", e.Attempts)
	}
	if !e.RetryAt.IsZero() {
		b.WriteString(", retry at ")
		b.WriteString(e.RetryAt.Format(time.RFC3339))
	}
	if len(e.Causes) == 0 {
		return b.String()
	}
	last := len(e.Causes) - 1
	if e.Attempts > 0 && e.Attempts <= last {
		last = e.Attempts - 1
	}
	for _, cause := range e.Causes[last:] {
		if cause == nil {
			continue
		}
		b.WriteString(": ")
		b.WriteString(oneLine(messageOf(cause), maxCause))
	}
	return b.String()
}

// maxCause bounds what of one cause goes into an Error's text.
const maxCause = 1000

// messageOf returns err's text. Half-filled errors of SDKs panic when asked.
func messageOf(err error) (text string) {
	defer func() {
		if recover() != nil {
			text = fmt.Sprintf("%T", err)
		}
	}()
	return err.Error()
}

// Is reports whether target is the error's class.
func (e *Error) Is(target error) bool {
	c, ok := target.(Class)
	return ok && c == e.Class
}

// Unwrap returns every cause.
func (e *Error) Unwrap() []error { return e.Causes }
