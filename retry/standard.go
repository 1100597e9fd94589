package retry

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/cenkalti/backoff/v4"

	"github.com/holdoff-go/holdoff/internal/clock"
)

// Standard returns the classifier that knows the errors of HTTP APIs, of the
// standard library, and of any type that offers its status and delay by
// exported methods. Times such as "resets 3pm" are read against c; nil is the
// real clock. It is safe for concurrent use.
func Standard(c Clock) Classifier { return standard{clock.Or(c)} }

type standard struct{ clock Clock }

func (s standard) Classify(ctx context.Context, err error) Verdict {
	if ctx != nil && ctx.Err() != nil {
		return Verdict{Class: Canceled, Rule: "the context has ended"}
	}
	var done *Error
	if errors.As(err, &done) {
		return Verdict{Class: done.Class, Rule: "already retried to the end"}
	}
	var class Class
	if errors.As(err, &class) {
		return s.withDelay(Verdict{Class: class, Rule: "the error is a class"}, err)
	}
	var permanent *backoff.PermanentError
	if errors.As(err, &permanent) {
		return Verdict{Class: Fatal, Rule: "backoff.PermanentError"}
	}
	if status, ok := statusOf(err); ok {
		return s.withDelay(Verdict{Class: classOfStatus(status), Rule: fmt.Sprintf("status %d", status)}, err)
	}
	var process *ProcessError
	if errors.As(err, &process) && process.ExitCode == ExitTryLater {
		return Verdict{Class: RateLimited, Rule: "exit code 75"}
	}
	if errors.Is(err, context.Canceled) {
		return Verdict{Class: Canceled, Rule: "context.Canceled"}
	}
	if strings.Contains(messageOf(err), "would exceed context deadline") {
		return Verdict{Class: Canceled, Rule: "a local limiter that cannot wait"}
	}
	var unknownAuthority x509.UnknownAuthorityError
	var hostname x509.HostnameError
	var dns *net.DNSError
	if errors.As(err, &unknownAuthority) || errors.As(err, &hostname) || errors.As(err, &dns) && dns.IsNotFound {
		return Verdict{Class: Fatal, Rule: "the peer cannot be trusted or found"}
	}
	var netErr net.Error
	if errors.As(err, &netErr) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, syscall.EPIPE) {
		return Verdict{Class: Transient, Rule: "network error"}
	}
	return Verdict{}
}

func statusOf(err error) (int, bool) {
	var response *ResponseError
	if errors.As(err, &response) {
		return response.StatusCode, response.StatusCode >= 400
	}
	var a interface{ StatusCode() int }
	var b interface{ HTTPStatusCode() int }
	var c interface{ HTTPCode() int }
	status := 0
	switch {
	case errors.As(err, &a):
		status = a.StatusCode()
	case errors.As(err, &b):
		status = b.HTTPStatusCode()
	case errors.As(err, &c):
		status = c.HTTPCode()
	}
	return status, status >= 400 && status < 600
}

func classOfStatus(status int) Class {
	switch {
	case status == http.StatusTooManyRequests:
		return RateLimited
	case status == http.StatusServiceUnavailable || status == 529:
		return Overloaded
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		return Auth
	case status == http.StatusPaymentRequired:
		return QuotaExhausted
	case status == http.StatusRequestTimeout || status == http.StatusTooEarly || status >= 500:
		return Transient
	case status == 499:
		return Canceled
	default:
		return Fatal
	}
}

func (s standard) withDelay(v Verdict, err error) Verdict {
	if !v.Class.Retryable() && v.Class != QuotaExhausted {
		return v
	}
	var response *ResponseError
	if errors.As(err, &response) {
		v.RetryAfter, v.Stated = retryAfter(response.Header.Get("Retry-After"), s.clock.Now())
		return v
	}
	var a interface{ RetryAfter() time.Duration }
	var b interface{ GetRetryAfter() time.Duration }
	var c interface{ NextRetryDelay() time.Duration }
	switch {
	case errors.As(err, &a):
		v.RetryAfter = a.RetryAfter()
	case errors.As(err, &b):
		v.RetryAfter = b.GetRetryAfter()
	case errors.As(err, &c):
		v.RetryAfter = c.NextRetryDelay()
	}
	v.Stated = v.RetryAfter > 0
	return v
}

func retryAfter(value string, now time.Time) (time.Duration, bool) {
	if seconds, err := strconv.ParseFloat(value, 64); err == nil && seconds >= 0 && value[0] != '+' {
		if seconds > float64(1<<63-1)/float64(time.Second) {
			return 1<<63 - 1, seconds < 1e300
		}
		return time.Duration(seconds * float64(time.Second)), true
	}
	if at, err := http.ParseTime(value); err == nil {
		return max(0, at.Sub(now)), true
	}
	return 0, false
}
