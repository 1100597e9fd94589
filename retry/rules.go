package retry

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
)

// A finding is a class and what decided it.
type finding struct {
	class Class
	kind  string // of the evidence, such as "code"
	what  string // the evidence itself
	deaf  bool   // waits stated beside it are not to be believed
	plan  bool   // a long wait makes it a plan's window
}

// decide weighs the facts. The rules stand in the order of their weight: exact
// codes of limits before the status, which stands for many things; the status
// before words; and the words that say "plan" or "balance" before those that say
// "rate", since errors of the first kind quote the second.
func (f *facts) decide() finding {
	for _, rule := range [...]func(*facts) finding{
		(*facts).tooLarge, (*facts).googleQuota, (*facts).stopCodes, (*facts).planWindow, (*facts).lockCodes, (*facts).otherCodes,
		(*facts).stopPhrases, (*facts).lockPhrases, (*facts).throttleCodes, (*facts).capacityPhrases, (*facts).allowances, (*facts).crowdedCodes, (*facts).byStatus, (*facts).byGRPC,
	} {
		if found := rule(f); found.class != Unknown {
			return found
		}
	}
	return finding{}
}

// appendRule appends what decided, in words, to b.
func (f *facts) appendRule(b []byte, found finding) []byte {
	start := len(b)
	b = append(b, found.kind...)
	switch {
	case found.what == "":
	case found.kind == "words":
		b = append(append(append(b, " \""...), found.what...), '"')
	default:
		b = append(append(b, ' '), found.what...)
	}
	if f.status == 0 && f.GRPC == 0 {
		return b
	}
	closing := ""
	if len(b) > start {
		b, closing = append(b, " ("...), ")"
	}
	if f.status != 0 {
		b = strconv.AppendInt(append(b, "status "...), int64(f.status), 10)
	} else {
		b = strconv.AppendInt(append(b, "gRPC code "...), int64(f.GRPC), 10)
	}
	return append(b, closing...)
}

func (f *facts) tooLarge() finding {
	if limit, requested, over := f.requestedOverLimit(); over {
		return finding{class: Fatal, kind: "requested", what: fmt.Sprintf("%d of a limit of %d", requested, limit)}
	}
	return finding{}
}

// googleQuota reads the names of Google's quotas. Its sentence about plan and
// billing comes with limits per minute too, and RetryInfo with limits per day.
func (f *facts) googleQuota() finding {
	if f.limitZero() {
		found := finding{class: QuotaExhausted, kind: "limit 0"}
		found.deaf = true
		return found
	}
	long, short := f.quotaWindow()
	switch {
	case long != "":
		found := finding{class: QuotaExhausted, kind: "quota", what: long}
		found.deaf = true
		return found
	case short != "" && f.codes[stopCode] == "":
		return finding{class: RateLimited, kind: "quota", what: short}
	}
	return finding{}
}

func (f *facts) stopCodes() finding {
	soft, stop := f.codes[softStopCode], f.codes[stopCode]
	switch {
	case f.hasCode("openrouter_in_flight_budget") && f.Header.HasRetryAfter():
		return finding{class: RateLimited, kind: "limit_source openrouter_in_flight_budget with Retry-After"}
	case stop != "" && !f.isLabel(stop):
		found := finding{class: QuotaExhausted, kind: "code", what: stop}
		found.deaf = strings.Contains(strings.ToLower(stop), "g1_credits") // its RetryInfo is not for it
		return found
	case f.Links().TokenLimit:
		return finding{class: RateLimited, kind: "link to DashScope's limit of tokens per minute"}
	case f.hasCode("INSUFFICIENT QUOTA"):
		return finding{class: RateLimited, kind: "label INSUFFICIENT QUOTA"}
	case soft != "":
		return finding{class: QuotaExhausted, kind: "code", what: soft}
	}
	return finding{}
}

// isLabel reports whether a stop code only names a limit that was met, beside
// words that say it is one of rate: AWS's LimitExceeded can be either.
func (f *facts) isLabel(code string) bool {
	plain := string(plainCode(make([]byte, 0, 80), code))
	if plain == "quotaexceeded" { // Firebase's, of a rate
		return f.status == 429 && f.words[throttlePhrase] != "" && f.words[stopPhrase] == ""
	}
	return strings.HasPrefix(plain, "limitexceeded") && f.words[throttlePhrase] != ""
}

func (f *facts) hasCode(code string) bool {
	for _, c := range f.Codes {
		if c == code {
			return true
		}
	}
	return false
}

func (f *facts) planWindow() finding {
	switch {
	case f.Rejected:
		return finding{class: QuotaExhausted, kind: "the plan's window is rejected"}
	case f.Header.PlanRejected() && (f.status == 429 || f.status == 0):
		return finding{class: QuotaExhausted, kind: "anthropic-ratelimit-unified-status rejected"}
	}
	return finding{}
}

// lockCodes are of conflicts that pass, though they may come as a 429.
func (f *facts) lockCodes() finding {
	if code := f.codes[lockCode]; code != "" {
		return finding{class: Transient, kind: "code", what: code}
	}
	return finding{}
}

func (f *facts) lockPhrases() finding {
	p := f.words[lockPhrase]
	if p == "is locked" { // on other answers it is an account that is
		switch f.status {
		case 0, 409, 423, 429:
		default:
			return finding{}
		}
	}
	if p == "" {
		return finding{}
	}
	return finding{class: Transient, kind: "words", what: p}
}

func (f *facts) otherCodes() finding {
	capacity, fatal, auth := f.codes[capacityCode], f.codes[fatalCode], f.codes[authCode]
	stopped := f.stopPhrase() != ""
	switch {
	case capacity != "" && f.codes[throttleCode] == "" && !stopped:
		return finding{class: Overloaded, kind: "code", what: capacity}
	case fatal != "" && !stopped:
		return finding{class: Fatal, kind: "code", what: fatal}
	case auth != "" && !stopped && f.codes[throttleCode] == "" && f.codes[crowdedCode] == "" && f.status != 429:
		return finding{class: Auth, kind: "code", what: auth}
	}
	return finding{}
}

// stopPhrase returns the words that say a plan or a balance is used up.
func (f *facts) stopPhrase() string {
	if f.status == 404 || f.status == 413 {
		return "" // pages about limits, and requests that are too large
	}
	if p := f.words[stopPhrase]; p != "" && !f.isSetting(p) && !(strings.HasSuffix(strings.TrimSuffix(p, "s"), "quota") && (f.google() || f.dotted())) {
		return p
	}
	if p := f.words[fundsPhrase]; p != "" && (f.status != 0 || f.GRPC != 0) {
		return p
	}
	if p := f.words[billingPhrase]; p != "" && !f.google() {
		return p
	}
	if p := f.words[periodPhrase]; p != "" && !f.sliding() {
		return p
	}
	return ""
}

// isSetting reports whether a phrase names a limit that the request was to set to a
// value which is not allowed, rather than one that it met.
func (f *facts) isSetting(p string) bool {
	if f.status != 400 && f.status != 422 {
		return false
	}
	p, _, _ = strings.Cut(p, "*")
	switch lastWord(strings.TrimSuffix(p, "s")) {
	case "limit", "quota", "cap", "request", "call":
		_, after, _ := strings.Cut(f.spaced, p)
		return containsAny(sentence(after), demands[:])
	}
	return false
}

// demands are what a value that was sent must be.
var demands = [...]string{"must be", "must not", "should be", "should not", "cannot exceed the", "cannot exceed $", "may not exceed", "cannot be", "allowed maximum", "maximum allowed", "maximum value", "at most", "at least", "between"}

// sliding reports whether a limit per day is OpenAI's or Groq's, which slides, and
// passes within minutes.
func (f *facts) sliding() bool {
	return strings.Contains(f.text, "(TPD)") || strings.Contains(f.text, "(RPD)") || strings.Contains(f.text, ", Used ")
}

// dotted reports whether the throttle code is one of DashScope's.
func (f *facts) dotted() bool { return strings.HasPrefix(f.codes[throttleCode], "Throttling.") }

func (f *facts) stopPhrases() finding {
	if p := f.stopPhrase(); p != "" {
		return finding{class: QuotaExhausted, kind: "words", what: p}
	}
	if p := f.words[windowPhrase]; p != "" && f.status != 404 && f.status != 413 {
		found := finding{class: RateLimited, kind: "words", what: p}
		found.plan = true
		return found
	}
	return finding{}
}

func (f *facts) throttleCodes() finding {
	if code := f.codes[throttleCode]; code != "" && f.status != 413 {
		return finding{class: RateLimited, kind: "code", what: code}
	}
	if code := f.codes[exhaustedCode]; code != "" && f.status != 413 && f.words[fatalPhrase] == "" && f.full() == "" {
		return finding{class: RateLimited, kind: "code", what: code}
	}
	return finding{}
}

// capacityPhrases are no evidence on an answer about the request itself. A 400 is
// such an answer too, but some refuse with it for want of machines.
func (f *facts) capacityPhrases() finding {
	strong, weak := cmp.Or(f.words[capacityPhrase], f.words[scarcePhrase]), f.words[unavailablePhrase]
	switch f.status {
	case 0, 401, 404, 413, 422:
		return finding{}
	case 400:
		if weak = ""; f.words[fatalPhrase] != "" {
			strong = ""
		}
	case 503, 529:
	default:
		if f.status >= 500 && !f.Envelope {
			weak = "" // the heading of a page
		}
	}
	switch {
	case strong != "":
		return finding{class: Overloaded, kind: "words", what: strong}
	case weak != "":
		return finding{class: Overloaded, kind: "words", what: weak}
	}
	return finding{}
}

// allowances are words that say which allowance is used up, on an answer that says
// itself that one is.
func (f *facts) allowances() finding {
	p := f.words[allowancePhrase]
	if p == "" || f.words[throttlePhrase] != "" || f.google() {
		return finding{}
	}
	switch f.status {
	case 402, 403, 429:
		return finding{class: QuotaExhausted, kind: "words", what: p}
	}
	return finding{}
}

// crowdedCodes say the status 429 in words, and weigh as little as it does.
func (f *facts) crowdedCodes() finding {
	if code := f.codes[crowdedCode]; code != "" && f.status != 413 {
		return finding{class: RateLimited, kind: "code", what: code}
	}
	return finding{}
}

// full returns the words that say the provider is.
func (f *facts) full() string {
	return cmp.Or(f.words[capacityPhrase], f.words[scarcePhrase], f.words[unavailablePhrase])
}

// byWords is for errors of which nothing but words is known.
func (f *facts) byWords() finding {
	for _, w := range [...]struct {
		kind  phraseKind
		class Class
	}{
		{canceledPhrase, Canceled}, {fatalPhrase, Fatal}, {throttlePhrase, RateLimited}, {capacityPhrase, Overloaded}, {unavailablePhrase, Overloaded}, {authPhrase, Auth}, {transientPhrase, Transient},
	} {
		if p := f.words[w.kind]; p != "" {
			found := finding{class: w.class, kind: "words", what: p}
			found.plan = w.class == RateLimited
			return found
		}
	}
	for _, c := range [...]struct {
		kind  codeKind
		class Class
	}{
		{canceledCode, Canceled}, {authCode, Auth}, {missingCode, Overloaded}, {transientCode, Transient}, {badCode, Fatal},
	} {
		if code := f.codes[c.kind]; code != "" {
			return finding{class: c.class, kind: "code", what: code}
		}
	}
	return finding{}
}
