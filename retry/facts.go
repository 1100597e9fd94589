package retry

import (
	"strconv"
	"strings"

	"github.com/holdoff-go/holdoff/retry/internal/evidence"
)

// facts are what a piece of evidence comes to: the first code of each kind, the
// phrases, and the numbers. The rules ask nothing else.
type facts struct {
	evidence.Evidence
	status int // HTTP; 0 when there is none
	codes  [missingCode + 1]string
	words  phrases
	text   string // what the phrases were found in
	spaced string // the same, as spaceOut returns it

	number     string // a code that counts only beside words of its kind
	numberKind codeKind
}

// readCodes reads the status and the codes of the evidence. Its words are read when
// they are needed.
func (f *facts) readCodes() {
	f.status = f.AnyStatus()
	if f.status < 400 {
		f.status = 0 // an answer that was no failure by itself
	}
	for _, code := range f.Codes {
		f.addCode(code)
	}
	if name := f.Header.ErrorType(); name != "" {
		f.addCode(name)
	}
}

func (f *facts) addCode(code string) {
	kind := kindOf(code)
	if kind == capacityCode && code == "slow_down" && f.status/100 == 4 {
		kind = throttleCode // RFC 8628's, of a client that polls too often
	}
	switch {
	case kind == noCode || f.codes[kind] != "" || isSentence(code) && kind == capacityCode && f.ofRequest():
	case isNumber(code) && !f.countsNumber(code, kind):
		f.number, f.numberKind = code, kind
	default:
		f.codes[kind] = code
	}
}

// isSentence reports whether a code is words: the whole of {"error":"…"}.
func isSentence(code string) bool { return strings.IndexByte(code, ' ') > 0 }

// ofRequest reports whether the answer is about the request itself, whose words it
// may quote.
func (f *facts) ofRequest() bool {
	switch f.status {
	case 400, 401, 404, 413, 422:
		return true
	}
	return false
}

// read looks for phrases in text.
func (f *facts) read(text string) {
	if text == f.text {
		return
	}
	var own []span
	f.text = text
	f.spaced, own = spaceOut(text)
	f.words = findPhrases(f.text, f.spaced, own)
	if f.number != "" && f.sayKind(f.numberKind) {
		f.codes[f.numberKind] = f.number
	}
}

// structured reports whether the error is known to be a provider's by more than
// its words.
func (f *facts) structured() bool { return f.Status >= 400 || f.GRPC != 0 || f.Envelope }

// requestedOverLimit returns the numbers when the request alone is larger than the
// whole limit, as in "Limit 30000, Requested 37313".
func (f *facts) requestedOverLimit() (limit, requested int, over bool) {
	requested, ok := numberAfter(f.spaced, "requested")
	if !ok {
		return 0, 0, false
	}
	limit, ok = numberAfter(f.spaced, "limit")
	return limit, requested, ok && limit > 0 && requested > limit
}

// numberAfter returns the number that follows the first word that has one.
func numberAfter(text, word string) (int, bool) {
	for {
		_, after, found := strings.Cut(text, word)
		if !found {
			return 0, false
		}
		text = after
		digits := strings.TrimLeft(after, " :~")
		end := 0
		for end < len(digits) && (digits[end] >= '0' && digits[end] <= '9' || digits[end] == ',' && end+1 < len(digits) && digits[end+1] >= '0' && digits[end+1] <= '9') {
			end++
		}
		if end > 0 && end < 16 {
			n, err := strconv.ParseInt(strings.ReplaceAll(digits[:end], ",", ""), 10, 32)
			return int(n), err == nil
		}
	}
}

// quotaWindow returns the name of a violated quota that is counted by the day or
// longer, and of one that is counted by less.
func (f *facts) quotaWindow() (long, short string) {
	for _, name := range f.Quotas {
		plain := strings.ToLower(strings.NewReplacer(" ", "", "_", "", "-", "").Replace(name))
		switch {
		case strings.Contains(plain, "perday"), strings.Contains(plain, "daily"), strings.Contains(plain, "permonth"), strings.Contains(plain, "monthly"), strings.Contains(plain, "perweek"):
			long = name
		case strings.Contains(plain, "perminute"), strings.Contains(plain, "persecond"), strings.Contains(plain, "perhour"), strings.Contains(plain, "seconds"):
			short = name
		}
	}
	if long == "" && (f.google() || f.codes[throttleCode] != "") {
		switch _, limit, _ := strings.Cut(f.spaced, "limit '"); {
		case limit == "":
		case strings.Contains(limit, "per day"), strings.Contains(limit, "per month"):
			long = "per day"
		case short == "" && (strings.Contains(limit, " seconds") || strings.Contains(limit, "per minute")):
			short = "per minute or less"
		}
	}
	return long, short
}

// google reports whether the error speaks in Google's terms.
func (f *facts) google() bool {
	return f.codes[exhaustedCode] != "" || f.GRPC == 8 || len(f.Quotas) > 0
}

// limitZero reports whether the limit itself is 0, so that no wait will help.
func (f *facts) limitZero() bool {
	return f.ZeroMax || f.google() && strings.Contains(f.text, "limit: 0") && !strings.Contains(f.text, "limit: 0.")
}
