package evidence

import (
	"strings"

	"github.com/holdoff-go/holdoff/retry/internal/when"
)

// printedCodes notes the codes that SDKs print among their words, where a label
// says that they are codes.
func (e *Evidence) printedCodes(text string) {
	for _, label := range [...]string{
		"api error ", "An error occurred (", // AWS, in Go and in Python
		"Error Code: ", "ERROR CODE: ", "ErrorCode: ", "Code=", // OCI, Azure, Alibaba, Tencent
		"Error from server (", // Kubernetes
	} {
		if _, rest, found := strings.Cut(text, label); found {
			e.printedCode(rest)
		}
	}
	if _, rest, found := strings.Cut(text, "ERROR: ("); found && rest != "" && rest[0] >= 'A' && rest[0] <= 'Z' { // Azure; Google names its command there
		e.printedCode(rest)
	}
	if before, _, found := strings.Cut(text, "status code: "); found && strings.Contains(text, ", request id: ") { // AWS, the first version in Go
		e.printedCode(lastCode(before))
	}
	if _, rest, found := strings.Cut(text, "googleapi: Error "); found { // …: message, reason
		line, _, _ := strings.Cut(rest, "\n")
		if comma := strings.LastIndex(line, ", "); comma >= 0 {
			e.printedCode(line[comma+len(", "):])
		}
	}
	// AWS's typed exceptions: in Java they come first, in Go where the others have
	// "api error".
	if name, _, found := strings.Cut(text, ": "); found && strings.HasSuffix(name, "Exception") && strings.Contains(text, "(Service: ") {
		e.printedCode(name[strings.LastIndexAny(name, ". ")+1:])
	}
	for rest := text; ; {
		_, after, found := strings.Cut(rest, "RequestID: ")
		if !found {
			return
		}
		rest = after
		for range 2 { // RequestID, and HostID
			_, name, _ := strings.Cut(after, ", ")
			if code, _, ok := strings.Cut(name, ":"); ok && strings.HasSuffix(code, "Exception") {
				e.printedCode(name)
			}
			after = name
		}
	}
}

// printedCode notes the code that text starts with: a name, which ends with a mark
// or a line rather than in a sentence. Numbers are left to statusIn.
func (e *Evidence) printedCode(text string) {
	end := 0
	for end < len(text) && (isWord(text[end]|0x20) || text[end] == '.' && end+1 < len(text) && isWord(text[end+1]|0x20)) {
		end++
	}
	if end < len("Slow") || isDigit(text[0]) || end < len(text) && strings.IndexByte(".,:;)\r\n", text[end]) < 0 {
		return
	}
	e.Envelope = true
	e.Code(text[:end])
}

// lastCode returns text from the last name on that a colon and a message follow,
// such as "VpcLimitExceeded: The maximum …".
func lastCode(text string) string {
	for colon := strings.LastIndex(text, ": "); colon > 0; colon = strings.LastIndex(text[:colon], ": ") {
		start := colon
		for start > 0 && (isWord(text[start-1]|0x20) || text[start-1] == '.') {
			start--
		}
		if name := text[start:colon]; name != "" && name[0] >= 'A' && name[0] <= 'Z' && name != "Error" && (start == 0 || text[start-1] == ' ' || text[start-1] == '\n') {
			return text[start:]
		}
	}
	return ""
}

// printedHeaders notes the headers of an answer that languages print as members of
// their errors: 'retry-after': '8', "x-ratelimit-reset": "1796040120", Rust's
// retry_after: Some(9s), and those that are printed as they came.
func (e *Evidence) printedHeaders(text string) {
	for rest := text; ; {
		name, after, found := strings.Cut(rest, ": ")
		if !found {
			return
		}
		rest, after = after, after[:min(len(after), 256)] // no header of interest is longer
		if wait, ok := strings.CutPrefix(after, "Some("); ok && endsWithWord(lowerASCII(name[max(0, len(name)-12):]), []string{"retry_after"}) {
			wait, _, _ = strings.Cut(wait, ")")
			if d, ok := when.Reset(wait, e.Now); ok {
				e.State(Body, d, "retry_after")
			}
			continue
		}
		inside, quoted := quotedEnd(name)
		value, ok := quotedStart(strings.TrimLeft(after, "[ "))
		if !quoted { // as they came over the wire, or as curl shows them
			inside = strings.TrimLeft(name[strings.LastIndexByte(name, '\n')+1:], "< ")
			value, _, _ = strings.Cut(after, "\n")
			value, ok = strings.TrimRight(value, "\r"), isName(inside)
		}
		if lower := lowerASCII(inside); ok && (quoted && strings.Contains(lower, "retry-after") || strings.Contains(lower, "ratelimit")) {
			e.Header.set(inside, value)
		}
	}
}

// quotedEnd returns what stands in the quotation marks that text ends with.
func quotedEnd(text string) (string, bool) {
	end := len(text) - 1
	if end < 1 || text[end] != '"' && text[end] != '\'' {
		return "", false
	}
	start := strings.LastIndexByte(text[:end], text[end])
	return text[start+1 : end], start >= 0
}

// quotedStart returns what stands in the quotation marks that text starts with.
func quotedStart(text string) (string, bool) {
	if text == "" || text[0] != '"' && text[0] != '\'' {
		return "", false
	}
	value, _, found := strings.Cut(text[1:], text[:1])
	return value, found
}
