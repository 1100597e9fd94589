package provider

import (
	"fmt"
	"net/http"
	"strconv"
	"time"
)

// An Answer is what becomes of one call. The zero value accepts it.
type Answer struct {
	Status              int           // HTTP status; 0 is 200
	Type, Code, Message string        // of the error envelope, with a Status of 400 and more
	RetryAfter          time.Duration // the stated wait; 0 states nothing
	Header              http.Header   // further headers
	Delay               time.Duration // before the first byte; 0 is Config.Latency when accepted and none when refused
	Text                string        // the reply of an accepted call; empty is a short sentence
	Tool                ToolCall      // asked for instead of Text, where it has a Name; a stream has the Text
	Broken              bool          // accepted, then the connection is cut halfway through the reply
	Late                bool          // the error comes after a 200: as the body, or as an event halfway through a stream
}

// A ToolCall is what a model asks its caller to do.
type ToolCall struct {
	Name      string
	Arguments string // JSON
}

// RateLimited is OpenAI's 429 for a full window. It states retryAfter, or
// nothing when that is 0.
func RateLimited(retryAfter time.Duration) Answer {
	message := "Rate limit reached for requests per min (RPM): Limit 60, Used 60, Requested 1."
	if retryAfter > 0 {
		message += fmt.Sprintf(" Please try again in %v.", retryAfter)
	}
	return Answer{
		Status: http.StatusTooManyRequests, Type: "requests", Code: "rate_limit_exceeded",
		Message: message, RetryAfter: retryAfter,
	}
}

// QuotaExhausted is OpenAI's 429 that no waiting cures.
func QuotaExhausted() Answer {
	return Answer{
		Status: http.StatusTooManyRequests, Type: "insufficient_quota", Code: "insufficient_quota",
		Message: "You exceeded your current quota, please check your plan and billing details.",
	}
}

// Overloaded is a 503, the provider's own shortage; set Status to 529 for the
// status other providers give it. It states retryAfter, or nothing when that is 0.
func Overloaded(retryAfter time.Duration) Answer {
	return Answer{
		Status: http.StatusServiceUnavailable, Type: "server_error", Code: "overloaded",
		Message: "The engine is currently overloaded, please try again later.", RetryAfter: retryAfter,
	}
}

// InvalidKey is the 401 for a key the provider does not accept.
func InvalidKey() Answer {
	return Answer{
		Status: http.StatusUnauthorized, Type: "invalid_request_error", Code: "invalid_api_key",
		Message: "Incorrect API key provided.",
	}
}

func (a Answer) refuses() bool { return a.Status >= http.StatusBadRequest }

// state writes the stated wait as OpenAI does: in whole seconds, rounded up so
// that who reads only that is never early, and exactly in milliseconds when the
// seconds are not exact.
func (a Answer) state(h http.Header) {
	if a.RetryAfter <= 0 {
		return
	}
	seconds := a.RetryAfter / time.Second
	if rest := a.RetryAfter % time.Second; rest > 0 {
		seconds++
		ms := (a.RetryAfter + time.Millisecond - 1) / time.Millisecond
		h.Set("Retry-After-Ms", strconv.FormatInt(int64(ms), 10))
	}
	h.Set("Retry-After", strconv.FormatInt(int64(seconds), 10))
}
