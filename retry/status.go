package retry

// byStatus is what an HTTP status means when nothing more exact was said.
func (f *facts) byStatus() finding {
	status := f.status
	if status == 0 {
		return finding{}
	}
	throttle := f.words[throttlePhrase]
	switch status {
	case 401, 407:
		return f.found(Auth, "status %d", status)
	case 402:
		return f.found(QuotaExhausted, "status 402")
	case 403:
		return f.forbidden(throttle)
	case 408, 423, 425:
		return f.found(Transient, "status %d", status)
	case 409:
		if code := f.codes[transientCode]; code != "" {
			return f.found(Transient, "status 409, code %s", code)
		}
		return f.found(Fatal, "status 409")
	case 429:
		return f.found(RateLimited, "status 429")
	case 498: // Groq's flex tier
		return f.found(Overloaded, "status 498")
	case 499:
		return f.found(Canceled, "status 499")
	case 501, 505:
		return f.found(Fatal, "status %d", status)
	case 529:
		return f.found(Overloaded, "status 529")
	case 400:
		if p := f.words[authPhrase]; p != "" {
			return f.found(Auth, "status 400, words %q", p)
		}
		return f.found(Fatal, "status 400")
	case 404, 413, 422: // such an answer may quote the words
		return f.found(Fatal, "status %d", status)
	}
	switch {
	case throttle != "" && (status < 500 || f.Envelope):
		return f.found(RateLimited, "status %d, words %q", status, throttle)
	case status == 503:
		return f.found(Overloaded, "status 503")
	case status >= 500:
		return f.found(Transient, "status %d", status)
	}
	return f.found(Fatal, "status %d", status)
}

// forbidden tells the 403 of a limit from that of a permission. Only an allowance
// of exactly 0 speaks for the first: GitHub reports it on every answer.
func (f *facts) forbidden(throttle string) finding {
	switch {
	case throttle != "":
		return f.found(RateLimited, "status 403, words %q", throttle)
	case f.Links().SecondaryLimit:
		return f.found(RateLimited, "status 403, link to GitHub's secondary limits")
	case f.words[fatalPhrase] != "":
		return f.found(Fatal, "status 403, words %q", f.words[fatalPhrase])
	case f.Header.HasRetryAfter():
		return f.found(RateLimited, "status 403 with Retry-After")
	case f.Header.Empty():
		return f.found(RateLimited, "status 403 with nothing remaining")
	}
	return f.found(Auth, "status 403")
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
	if p := f.words[fatalPhrase]; p != "" && (code == 8 || code == 2 || code == 13) {
		return f.found(Fatal, "gRPC code %d, words %q", code, p)
	}
	if p := f.words[capacityPhrase]; p != "" && (code == 8 || code == 14) && f.words[transientPhrase] == "" {
		return f.found(Overloaded, "gRPC code %d, words %q", code, p)
	}
	if code == 14 && f.Reset {
		return f.found(Overloaded, "gRPC code 14 with RetryInfo")
	}
	return f.found(grpcClasses[code], "gRPC code %d", code)
}
