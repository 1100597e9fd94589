package retry

import "strings"

// byStatus is what an HTTP status means when nothing more exact was said.
func (f *facts) byStatus() finding {
	status := f.status
	if status == 0 {
		return finding{}
	}
	throttle := f.words[throttlePhrase]
	switch status {
	case 401, 407:
		return finding{class: Auth}
	case 402:
		return finding{class: QuotaExhausted}
	case 403:
		return f.forbidden(throttle)
	case 408, 423, 425:
		return finding{class: Transient}
	case 409:
		if code := f.codes[transientCode]; code != "" {
			return finding{class: Transient, kind: "code", what: code}
		}
		if p := f.inviting(); p != "" {
			return finding{class: Transient, kind: "words", what: p}
		}
		return finding{class: Fatal}
	case 420, 429: // 420 is Telegram's, and was Twitter's
		return finding{class: RateLimited}
	case 424: // Bedrock's, of a model that failed
		if f.codes[transientCode] != "" || f.words[transientPhrase] != "" {
			return finding{class: Transient}
		}
		return finding{class: Fatal}
	case 498: // Groq's flex tier; of others an invalid token
		if f.full() == "" && strings.Contains(f.spaced, "token") {
			return finding{class: Auth, kind: "words", what: "token"}
		}
		return finding{class: Overloaded}
	case 499:
		return finding{class: Canceled}
	case 501, 505:
		return finding{class: Fatal}
	case 529:
		return finding{class: Overloaded}
	case 400:
		if p := f.words[authPhrase]; p != "" {
			return finding{class: Auth, kind: "words", what: p}
		}
		return finding{class: Fatal}
	case 413: // RFC 9110: with Retry-After the condition is temporary
		if throttle != "" && f.Header.HasRetryAfter() && f.words[fatalPhrase] == "" {
			return finding{class: RateLimited, kind: "Retry-After"}
		}
		return finding{class: Fatal}
	case 404, 422: // such an answer may quote the words
		return finding{class: Fatal}
	}
	switch {
	case throttle != "" && (status < 500 || f.Envelope || f.Status == 0):
		return finding{class: RateLimited, kind: "words", what: throttle}
	case status == 503:
		return finding{class: Overloaded}
	case status >= 500:
		return finding{class: Transient}
	}
	return finding{class: Fatal}
}

// inviting returns the words of a conflict that invite to do the same once more.
func (f *facts) inviting() string {
	if containsAny(f.spaced, barring[:]) {
		return ""
	}
	for _, words := range [...]string{"try again", "retry"} {
		if strings.Contains(f.spaced, words) {
			return words
		}
	}
	return ""
}

// barring are words of a conflict that no repetition will end.
var barring = [...]string{"already", "different", "another", "not retry", "unique", "duplicate"}

// forbidden tells the 403 of a limit from that of a permission. Only an allowance
// of exactly 0 speaks for the first: GitHub reports it on every answer.
func (f *facts) forbidden(throttle string) finding {
	switch {
	case throttle != "":
		return finding{class: RateLimited, kind: "words", what: throttle}
	case f.Links().SecondaryLimit:
		return finding{class: RateLimited, kind: "link to GitHub's secondary limits"}
	case f.words[fatalPhrase] != "":
		return finding{class: Fatal, kind: "words", what: f.words[fatalPhrase]}
	case f.Header.HasRetryAfter():
		return finding{class: RateLimited, kind: "Retry-After"}
	case f.Header.Empty():
		return finding{class: RateLimited, kind: "nothing remaining"}
	}
	return finding{class: Auth}
}

// grpcClasses is what the codes of gRPC mean when nothing more exact was said.
var grpcClasses = [17]Class{
	1: Canceled, 2: Transient, 3: Fatal, 4: Transient, 5: Fatal, 6: Fatal, 7: Auth, 8: RateLimited, 9: Fatal,
	10: Transient, 11: Fatal, 12: Fatal, 13: Transient, 14: Transient, 15: Transient, 16: Auth,
}

// byGRPC is byStatus for gRPC. UNAVAILABLE is a broken connection, unless the
// server took the trouble to say when to come back.
func (f *facts) byGRPC() finding {
	code := f.GRPC
	if code <= 0 || code >= len(grpcClasses) {
		return finding{}
	}
	if p := f.words[fatalPhrase]; p != "" && (code == 8 || code == 2 || code == 13 || code == 14) {
		return finding{class: Fatal, kind: "words", what: p}
	}
	if p := f.full(); p != "" && (code == 8 || code == 14) && f.words[transientPhrase] == "" {
		return finding{class: Overloaded, kind: "words", what: p}
	}
	if code == 14 && f.Reset {
		return finding{class: Overloaded, kind: "RetryInfo"}
	}
	return finding{class: grpcClasses[code]}
}
