package evidence

import (
	"net/http"
	"strings"
)

// statusIn returns the HTTP status that a cleaned text speaks of, or 0. Three
// digits alone are no status: the words around them must make them one. 429 is
// preferred to others.
func statusIn(text string) int {
	found := 0
	lower := ""
	for at := 0; at < len(text); at++ {
		if !isDigit(text[at]) {
			continue
		}
		end := at
		for end < len(text) && isDigit(text[end]) {
			end++
		}
		if end-at == 3 && (text[at] == '4' || text[at] == '5') {
			status := int(text[at]-'0')*100 + int(text[at+1]-'0')*10 + int(text[at+2]-'0')
			if found == 0 || status == http.StatusTooManyRequests {
				if lower == "" {
					lower = lowerASCII(text)
				}
				n := numeral{text, lower[:at], lower[end:], status}
				if n.isStatus() {
					found = status
				}
			}
		}
		at = end
	}
	return found
}

// A numeral is three digits in a text: what stands before and after them, in
// lower case.
type numeral struct {
	text          string // the whole, as written
	before, after string
	status        int
}

func (n *numeral) isStatus() bool {
	switch {
	case n.isNPM():
		return true
	case n.isPart():
		return false
	}
	// The status's own name or a noun behind it.
	after := strings.TrimLeft(n.after, " -)]\"'`,<")
	if isNamed(strings.TrimLeft(after, ": ("), n.status) || startsWithWord(after, nounsBehind) {
		return !n.isAssertion()
	}
	if behind := strings.TrimLeft(n.after, " "); startsWithAny(behind, counted) || startsWithWord(behind, units) {
		return false
	}
	// A noun or a verb before it.
	before := strings.TrimRight(n.before, " :=\"'`([")
	if endsWithWord(trimCopula(before), cues) {
		return !n.isAssertion() && !n.isCompared(before) && !endsWithWord(before, otherStatuses)
	}
	if startsWithAny(strings.TrimLeft(n.after, " "), tallied) {
		return false
	}
	return n.isCode(before) || n.isOfError(before) || n.isAnswer(before)
}

// isNPM reports whether the digits are those of npm's E429.
func (n *numeral) isNPM() bool {
	b, ok := strings.CutSuffix(n.before, "e")
	return ok && (b == "" || b[len(b)-1] == ' ') && !n.goesOn()
}

// isPart reports whether the digits belong to a longer word or number, or are a
// place in a file.
func (n *numeral) isPart() bool {
	b := n.before
	if b == "" || n.goesOn() {
		return n.goesOn()
	}
	c := b[len(b)-1]
	return isWord(c) || c == '.' || c == '-' || c == '/' || c == '#' || c == ':' && len(b) > 1 && isWord(b[len(b)-2])
}

func (n *numeral) goesOn() bool {
	a := n.after
	return a != "" && (isWord(a[0]) || len(a) > 1 && strings.IndexByte(".:,-/", a[0]) >= 0 && isDigit(a[1]))
}

// cues are the words behind which three digits are a status.
var cues = []string{
	"status", "status code", "statuscode", "status_code", "error status", "last status",
	"http", "http/1.0", "http/1.1", "http/2", "http/2.0", "http/3", "http error", "http status", "http code", "httpstatus", "http_status", "http_code", "httpcode", "http response",
	"error code", "errcode", "api error", "apierror", "client error", "server error", "response", "response code", "response_code", "responsecode", "returned error", "request rejected", "indicate success",
	"responded with", "server returned", "failed with", "rejected with", "resulted in",
	"request failed", "call failed", "fetch failed", "query failed", "download failed", "upload failed", "handshake failed",
}

// nounsBehind make the digits before them a status: "429 Client Error",
// "too many 503 error responses", "402 status code (no body)", "403, message='…'".
var nounsBehind = []string{"status code", "status", "client error", "server error", "error response", "error responses", "http error", "http response", "unknown status code", "message="}

// counted are the words that make a number before them a count, and tallied
// those that do where little else makes it a status.
var (
	counted = []string{
		"byte", "file", "line", "item", "test", "errors", "times", "record", "row", "token", "of ", "requests", "responses", "character", "word", "page", "result", "entr",
	}
	units   = []string{"kb", "mb", "gb", "ms", "s"}
	tallied = []string{
		"passed", "failed", "pass", "fail", "ok", "skipped", "problem", "warning", "issue", "second", "minute", "hour", "day", "%", "retries", "attempt", "users", "messages", "connections", "column",
	}
)

// otherStatuses are of other things than answers.
var otherStatuses = []string{"order status", "payment status", "invoice status", "shipment status", "delivery status", "ticket status", "exit status"}

// isCompared reports whether a program compares or sets the status that stands at
// the end of before, or it is a flag's, or a part of a key: "$status = 429",
// "status == 429", "--status 429", "dup key: { status: 429 }".
func (n *numeral) isCompared(before string) bool {
	sign := n.before[len(before):]
	if strings.Contains(sign, "==") {
		return true
	}
	start := len(before)
	for start > 0 && (isWord(before[start-1]) || before[start-1] == '.' || before[start-1] == '-') {
		start--
	}
	if strings.HasPrefix(before[start:], "--") {
		return true
	}
	before = before[:start]
	return strings.HasSuffix(before, "$") || strings.HasSuffix(strings.TrimRight(before, " {"), " key:")
}

// trimCopula cuts the word between a cue and its status: "the response code was",
// "rejected with a".
func trimCopula(before string) string {
	for _, word := range [...]string{" was", " is", " of", " a"} {
		if b, ok := strings.CutSuffix(before, word); ok {
			return b
		}
	}
	return before
}

// isCode reports whether the digits stand behind "code=429", or behind "code: 429"
// where that starts a clause. An area code or an exit code is none.
func (n *numeral) isCode(before string) bool {
	rest, ok := strings.CutSuffix(before, "code")
	if !ok || rest != "" && isWord(rest[len(rest)-1]) {
		return false
	}
	rest = strings.TrimRight(rest, " ")
	starts := rest == "" || strings.IndexByte("\n:;,.([{-|]", rest[len(rest)-1]) >= 0
	switch sign := strings.TrimLeft(n.before[len(before):], " \"'"); {
	case strings.HasPrefix(sign, "="):
		return !strings.HasSuffix(rest, "exit")
	case strings.HasPrefix(sign, ":"):
		return starts
	}
	return false
}

// isOfError reports whether the digits stand behind an error's name, and before
// what cannot be counted: "ClientResponseError: 403, …", "InvalidArgument: 400
// Request contains", "Error: 402 You have". "error: 429 widgets are broken" counts.
func (n *numeral) isOfError(before string) bool {
	gap := n.before[len(before):]
	const reach = 100 // of a name with its path
	name := before[max(0, len(before)-reach):]
	name = name[strings.LastIndexAny(name, " \n(\"'`[")+1:]
	if name == "url" { // GET URL: 403 You have …, URL: [503 ] …
		return strings.Contains(gap, ": ")
	}
	if !strings.HasSuffix(name, "error") && !strings.HasSuffix(name, "exception") && !n.isNameOf(name[strings.LastIndexByte(name, '.')+1:]) || n.isAssertion() {
		return false
	}
	rest, _, _ := strings.Cut(n.after, "\n")
	rest = strings.TrimSpace(rest)
	if rest == "" || strings.IndexByte(",:({[)", rest[0]) >= 0 {
		return true
	}
	said := strings.TrimLeft(n.text[len(n.text)-len(n.after):], " ")
	return strings.HasPrefix(gap, ":") && said[0] >= 'A' && said[0] <= 'Z' // a sentence
}

// isNameOf reports whether name is that of the status or of a gRPC code, as
// google.api_core calls its exceptions.
func (n *numeral) isNameOf(name string) bool {
	return name != "" && (grpcCodeNamed(name) != 0 || name == lowerASCII(strings.ReplaceAll(http.StatusText(n.status), " ", "")))
}

// verbs are those by which an answer came, and peers who it came from: "received
// a 503 from upstream", "HTTP response from …, got 429".
var (
	verbs = []string{"received", "got", "returned", "responded", "answered", "answered with", "replied", "replied with", "gave", "sent", "sends", "returns"}
	peers = []string{"http", "server", "upstream", "api", "endpoint", "url", "proxy", "gateway", "provider", "backend", "response", "host", "origin", "service", "registry", "remote", "peer", "request"}
)

func (n *numeral) isAnswer(before string) bool {
	if !strings.HasSuffix(n.before, " ") || before != strings.TrimRight(n.before, " ") {
		return false // "Received: 429" is a test's
	}
	before = strings.TrimSuffix(strings.TrimSuffix(before, " a"), " an")
	return endsWithWord(before, verbs) && n.hasPeer() && !n.isAssertion()
}

// line returns what stands before and after the digits in their line, within reach.
func (n *numeral) line() (before, after string) {
	const reach = 160
	before = n.before[max(0, len(n.before)-reach):]
	before = before[strings.LastIndexByte(before, '\n')+1:]
	after, _, _ = strings.Cut(n.after[:min(len(n.after), reach)], "\n")
	return before, after
}

// hasPeer reports whether the line speaks of someone who could have answered.
func (n *numeral) hasPeer() bool {
	before, after := n.line()
	if name := strings.TrimLeft(after, " "); isNamed(name, n.status) { // "Internal Server Error" is no server
		after = name[len(http.StatusText(n.status)):]
	}
	for _, peer := range peers {
		if hasWord(before, peer) || hasWord(after, peer) {
			return true
		}
	}
	return false
}

// isAssertion reports whether the line is a failed test's: "expected 200, got 429",
// "got 429, want 200".
func (n *numeral) isAssertion() bool {
	const reach = 40
	before, after := n.line()
	before, after = before[max(0, len(before)-reach):], after[:min(len(after), reach)]
	if strings.HasPrefix(after, " expected") {
		return true
	}
	for _, word := range [...]string{"expected", "expect", "want", "wanted", "assert"} {
		if hasWord(before, word) {
			return true
		}
	}
	return hasWord(after, "want") || hasWord(after, "wanted") || strings.HasSuffix(before, "got ") && !n.hasPeer()
}

// isNamed reports whether text starts with the status's own name.
func isNamed(text string, status int) bool {
	name := http.StatusText(status)
	if status == 529 {
		name = "overloaded"
	}
	return name != "" && len(text) >= len(name) && strings.EqualFold(text[:len(name)], name)
}

// startsWithWord reports whether text starts with one of the words, whole.
func startsWithWord(text string, words []string) bool {
	for _, w := range words {
		if strings.HasPrefix(text, w) && (len(text) == len(w) || !isWord(text[len(w)]) || w[len(w)-1] == '=') {
			return true
		}
	}
	return false
}

func startsWithAny(text string, starts []string) bool {
	for _, s := range starts {
		if strings.HasPrefix(text, s) {
			return true
		}
	}
	return false
}

// endsWithWord reports whether text ends with one of the words, whole.
func endsWithWord(text string, words []string) bool {
	for _, w := range words {
		if rest, ok := strings.CutSuffix(text, w); ok && (rest == "" || !isWord(rest[len(rest)-1])) {
			return true
		}
	}
	return false
}

// hasWord reports whether word stands in text, whole.
func hasWord(text, word string) bool {
	for {
		i := strings.Index(text, word)
		if i < 0 {
			return false
		}
		end := i + len(word)
		if (i == 0 || !isWord(text[i-1])) && (end == len(text) || !isWord(text[end])) {
			return true
		}
		text = text[end:]
	}
}

// lowerASCII is strings.ToLower for the letters whose length it does not change.
func lowerASCII(text string) string {
	b := []byte(text)
	for i, c := range b {
		if c >= 'A' && c <= 'Z' {
			b[i] = c + 'a' - 'A'
		}
	}
	return string(b)
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func isWord(c byte) bool { return c >= 'a' && c <= 'z' || isDigit(c) || c == '_' }
