package retry

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"syscall"

	"github.com/holdoff-go/holdoff/retry/internal/evidence"
)

// goErrors reads how a Go error came about: the types and values of the standard
// library, and what an error says of itself. A rule without a class is final: the
// error is understood, and is none of the others.
func (r *reading) goErrors(f *facts, chain []error, hints *evidence.Hints) finding {
	if f.words[canceledPhrase] != "" {
		return finding{class: Canceled, kind: "a local limiter that cannot wait"}
	}
	fetched := false // beneath a *url.Error of net/http
	for _, err := range chain {
		found := r.goError(err, &fetched)
		if found.class != Unknown || found.kind != "" {
			return found
		}
	}
	switch {
	case hints.Canceled:
		return finding{class: Canceled, kind: "CanceledError()"}
	case fetched:
		if found := f.byWords(); found.class != Unknown {
			return found
		}
		return finding{class: Transient, kind: "a request failed"}
	}
	if f.structured() || f.words[throttlePhrase] != "" {
		return finding{}
	}
	switch {
	case hints.NonRetryable && f.full() == "" && f.words[authPhrase] == "":
		return finding{class: Fatal, kind: "NonRetryable()"}
	case hints.Timeout:
		return finding{class: Transient, kind: "Timeout()"}
	case hints.Temporary, hints.Connection, hints.Retryable && f.full() == "" && !f.Waits[evidence.RetryAfter].Found:
		return finding{class: Transient, kind: "the error says it is temporary"}
	}
	return finding{}
}

func (r *reading) goError(err error, fetched *bool) finding {
	switch {
	case is(err, context.Canceled):
		if r.alive {
			return finding{kind: "context.Canceled, but the caller's context is alive"}
		}
		return finding{class: Canceled, kind: "context.Canceled"}
	case is(err, context.DeadlineExceeded), is(err, os.ErrDeadlineExceeded):
		return finding{class: Transient, kind: "a deadline of this attempt"}
	case err == io.ErrUnexpectedEOF, err == net.ErrClosed, *fetched && err == io.EOF:
		return finding{class: Transient, kind: "the connection was cut"}
	case err == http.ErrSchemeMismatch:
		return finding{class: Fatal, kind: "HTTP spoken to HTTPS"}
	}
	switch x := err.(type) {
	case *url.Error:
		if x.Op == "parse" {
			return finding{class: Fatal, kind: "the URL is malformed"}
		}
		*fetched = true
	case *net.DNSError:
		if x.IsNotFound {
			return finding{class: Fatal, kind: "no such host"}
		}
		return finding{class: Transient, kind: "name resolution failed"}
	case *tls.CertificateVerificationError, x509.UnknownAuthorityError, x509.HostnameError, x509.CertificateInvalidError, x509.SystemRootsError:
		return finding{class: Fatal, kind: "the peer's certificate is not to be trusted"}
	case tls.RecordHeaderError, *net.AddrError, *net.ParseError, net.InvalidAddrError, net.UnknownNetworkError:
		return finding{class: Fatal, kind: "the address or its protocol is wrong"}
	case syscall.Errno:
		return errno(x)
	case *net.OpError:
		if _, several := x.Err.(*net.DNSError); !several && !wrapsErrno(x.Err) && !isAddress(x.Err) {
			return finding{class: Transient, kind: "network " + x.Op + " failed"}
		}
	}
	return finding{}
}

// is reports whether err itself is target, or says so; it does not look further
// down, as errors.Is does, for ever if the chain is a circle.
func is(err, target error) (yes bool) {
	if err == target {
		return true
	}
	x, ok := err.(interface{ Is(error) bool })
	if !ok {
		return false
	}
	defer func() { _ = recover() }()
	return x.Is(target)
}

// errno reads the errors of a socket. The others are the work's own.
func errno(n syscall.Errno) finding {
	switch n {
	case syscall.ECONNRESET, syscall.ECONNREFUSED, syscall.ECONNABORTED, syscall.EPIPE, syscall.ETIMEDOUT, syscall.EHOSTUNREACH, syscall.ENETUNREACH, syscall.ENETDOWN, syscall.ENETRESET, syscall.EHOSTDOWN:
		return finding{class: Transient, kind: n.Error()}
	case syscall.EDQUOT:
		return finding{class: Fatal, kind: n.Error()}
	}
	return finding{}
}

func wrapsErrno(err error) bool {
	var syscallErr *os.SyscallError
	if errors.As(err, &syscallErr) {
		err = syscallErr.Err
	}
	n, ok := err.(syscall.Errno)
	return ok && errno(n).class != Unknown
}

func isAddress(err error) bool {
	switch err.(type) {
	case *net.AddrError, *net.ParseError, net.InvalidAddrError, net.UnknownNetworkError, x509.UnknownAuthorityError, x509.HostnameError:
		return true
	}
	return false
}
