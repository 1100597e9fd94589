package retry

import "fmt"

// A Class says what kind of failure an error is, and so what may be done about
// it. The zero value, Unknown, is the harmless one: nothing is retried and
// nothing is paused for it.
//
// A Class is an error value. errors.Is(err, retry.RateLimited) holds for an
// [Error] of that class, and a worker may return or wrap a Class itself to say
// what happened, without any error of a provider:
//
//	return fmt.Errorf("the queue is full: %w", retry.Overloaded)
type Class int

const (
	// Unknown is a failure without evidence of any of the others: the work's own.
	Unknown Class = iota
	// RateLimited means a window of requests or tokens is full. It passes by waiting.
	RateLimited
	// Overloaded means the provider is short of capacity, whoever asks.
	Overloaded
	// QuotaExhausted means a plan, a balance or a hard limit is used up. It does
	// not pass by trying again soon; another credential may still work.
	QuotaExhausted
	// Auth means the credential was refused.
	Auth
	// Transient means a failure of the network or of one call: a 5xx, a reset
	// connection, a timeout of this attempt.
	Transient
	// Fatal means that this same request can never pass.
	Fatal
	// Canceled means the caller's own context has ended.
	Canceled
)

var classNames = [...]string{
	Unknown:        "unknown",
	RateLimited:    "rate_limited",
	Overloaded:     "overloaded",
	QuotaExhausted: "quota_exhausted",
	Auth:           "auth",
	Transient:      "transient",
	Fatal:          "fatal",
	Canceled:       "canceled",
}

// String returns the class's stable name, such as "rate_limited".
func (c Class) String() string {
	if !c.valid() {
		return fmt.Sprintf("class(%d)", int(c))
	}
	return classNames[c]
}

// Error makes a Class an error; it returns the same as String.
func (c Class) Error() string { return c.String() }

// Refusal reports whether the class is one the provider answers to everybody
// who asks now, RateLimited or Overloaded: the classes a fleet pauses for.
func (c Class) Refusal() bool { return c == RateLimited || c == Overloaded }

// Retryable reports whether the same call may pass later on the same
// credential, so that a ladder of waits makes sense: RateLimited, Overloaded
// and Transient.
func (c Class) Retryable() bool { return c.Refusal() || c == Transient }

// MarshalText returns the stable name; a value that is no class is an error.
func (c Class) MarshalText() ([]byte, error) {
	if !c.valid() {
		return nil, fmt.Errorf("retry: no such class: %d", int(c))
	}
	return []byte(classNames[c]), nil
}

// UnmarshalText reads a stable name.
func (c *Class) UnmarshalText(text []byte) error {
	for i, name := range classNames {
		if name == string(text) {
			*c = Class(i)
			return nil
		}
	}
	return fmt.Errorf("retry: no such class: %q", text)
}

func (c Class) valid() bool { return c >= 0 && int(c) < len(classNames) }
