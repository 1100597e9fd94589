package evidence

import (
	"net/http"
	"strings"
)

// statusIn returns the HTTP status that a cleaned text in lower case speaks of,
// or 0. Three digits alone are no status: they must follow a word such as
// "status", or be followed by the status's own name. 429 is preferred to others.
func statusIn(lower string) int {
	found := 0
	for at := 0; at < len(lower); at++ {
		if !isDigit(lower[at]) {
			continue
		}
		end := at
		for end < len(lower) && isDigit(lower[end]) {
			end++
		}
		if end-at == 3 && (lower[at] == '4' || lower[at] == '5') {
			status := int(lower[at]-'0')*100 + int(lower[at+1]-'0')*10 + int(lower[at+2]-'0')
			if (found == 0 || status == http.StatusTooManyRequests) && isStatus(lower, at, end, status) {
				found = status
			}
		}
		at = end
	}
	return found
}

// statusCues are the words behind which three digits are a status.
var statusCues = []string{
	"status", "status code", "statuscode", "status_code", "error status", "last status",
	"http", "http/1.0", "http/1.1", "http/2", "http/2.0", "http error", "http status", "http code",
	"error code", "errcode", "api error", "apierror", "response", "returned error", "request rejected",
	"responded with", "server returned", "failed with", "rejected with", "url", "error",
}

// counted are the words that make a number before them a count.
var counted = []string{
	"byte", "kb", "mb", "ms", "file", "line", "item", "test", "error", "time", "record", "row", "token", "of ", "request", "character", "word", "page", "result", "entr",
}

func isStatus(text string, at, end, status int) bool {
	if end < len(text) && (isWord(text[end]) || end+1 < len(text) && strings.IndexByte(".:,-/", text[end]) >= 0 && isDigit(text[end+1])) {
		return false // part of a longer word or number, or a place in a file
	}
	before := text[:at]
	if before != "" {
		switch c := before[len(before)-1]; {
		case c == 'e':
			return len(before) == 1 || before[len(before)-2] == ' ' // npm's E429
		case isWord(c), c == '.', c == '-', c == '/', c == ':' && len(before) > 1 && isWord(before[len(before)-2]):
			return false
		}
	}
	after := strings.TrimLeft(text[end:], " :-)]\"'")
	if isNamed(after, status) {
		return !isAssertion(before)
	}
	for _, word := range counted {
		if strings.HasPrefix(strings.TrimLeft(text[end:], " "), word) {
			return false
		}
	}
	before = strings.TrimRight(before, " :=\"'#(")
	for _, cue := range statusCues {
		b, ok := strings.CutSuffix(before, cue)
		if !ok || b != "" && isWord(b[len(b)-1]) {
			continue
		}
		switch cue {
		case "error": // too common a word: "error: 429 widgets are broken"
			return strings.TrimSpace(text[end:]) == "" || strings.IndexByte(",:({[)", strings.TrimLeft(text[end:], " ")[0]) >= 0
		case "url": // GET URL: 403 You have …
			return strings.HasSuffix(text[:at], ": ")
		}
		return !isAssertion(before)
	}
	return false
}

// isAssertion reports whether the words before a status are a failed test's.
func isAssertion(before string) bool {
	before = before[max(0, len(before)-32):]
	if i := strings.LastIndex(before, "expected "); i >= 0 && (i < 2 || before[i-2:i] != "un") {
		return true
	}
	return strings.HasSuffix(before, "got ") || strings.Contains(before, "want ") || strings.Contains(before, "wanted ")
}

// isNamed reports whether text starts with the status's own name.
func isNamed(text string, status int) bool {
	name := http.StatusText(status)
	if status == 529 {
		name = "overloaded"
	}
	return name != "" && len(text) >= len(name) && strings.EqualFold(text[:len(name)], name)
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func isWord(c byte) bool { return c >= 'a' && c <= 'z' || isDigit(c) || c == '_' }
