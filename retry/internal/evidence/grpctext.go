package evidence

import (
	"strconv"
	"strings"
)

// grpcCodeIn returns the gRPC code that a text names in the form of one of its
// libraries, or 0. The names alone are common words.
func grpcCodeIn(text string) int {
	for _, form := range [...]struct{ before, after string }{
		{"code = ", ""},                  // Go
		{"StatusRuntimeException: ", ""}, // Java
		{"StatusException: ", ""},
		{"StatusCode.", ""},           // Python
		{`StatusCode="`, `"`},         // C#
		{"status: ", ", message: \""}, // Rust
		{"ConnectError: [", "]"},      // JavaScript, of Connect
		{"twirp error ", ":"},
	} {
		_, after, found := strings.Cut(text, form.before)
		if !found {
			continue
		}
		if name := grpcName(after); strings.HasPrefix(after[len(name):], form.after) {
			if code := grpcCodeNamed(name); code != 0 {
				return code
			}
		}
	}
	return grpcCodeNumbered(text)
}

// grpcCodeNumbered reads the "14 UNAVAILABLE: …" of JavaScript's library: a number
// with its own name.
func grpcCodeNumbered(text string) int {
	for at := 0; ; at++ {
		colon := strings.IndexByte(text[at:], ':')
		if colon < 0 {
			return 0
		}
		at += colon
		from := max(0, at-len(" failed_precondition")) // no name is longer
		start := from + strings.LastIndexByte(text[from:at], ' ') + 1
		code := grpcCodeNamed(text[start:at])
		if code == 0 || start == from {
			continue
		}
		number := text[:start-1]
		if number[strings.LastIndexByte(number, ' ')+1:] == strconv.Itoa(code) {
			return code
		}
	}
}

// grpcName returns the letters and underscores at the start of text.
func grpcName(text string) string {
	end := 0
	for end < len(text) && (text[end]|0x20 >= 'a' && text[end]|0x20 <= 'z' || text[end] == '_') {
		end++
	}
	return text[:end]
}

// grpcNames are the codes as grpc-go prints them, in lower case, by number.
var grpcNames = [...]string{
	1: "canceled", "unknown", "invalidargument", "deadlineexceeded", "notfound", "alreadyexists", "permissiondenied", "resourceexhausted",
	"failedprecondition", "aborted", "outofrange", "unimplemented", "internal", "unavailable", "dataloss", "unauthenticated",
}

// grpcCodeNamed returns the code of that name, in any of the spellings
// ResourceExhausted, RESOURCE_EXHAUSTED and resource_exhausted, or 0.
func grpcCodeNamed(name string) int {
	var plain [len("failedprecondition")]byte
	n := 0
	for i := range len(name) {
		c := name[i]
		switch {
		case c == '_':
			continue
		case c >= 'A' && c <= 'Z':
			c += 'a' - 'A'
		}
		if n == len(plain) {
			return 0
		}
		plain[n] = c
		n++
	}
	switch string(plain[:n]) {
	case "":
		return 0
	case "cancelled": // everywhere but in Go
		return 1
	}
	for code, known := range grpcNames {
		if known == string(plain[:n]) {
			return code
		}
	}
	return 0
}
