package evidence

import "strings"

// printedCodes notes the codes that SDKs print among their words, where a label
// says that they are codes.
func (e *Evidence) printedCodes(text string) {
	for _, label := range [...]string{
		"api error ", "An error occurred (", // AWS, in Go and in Python
		"Error Code: ", "ERROR CODE: ", "ErrorCode: ", "Code=", // OCI, Azure, Alibaba, Tencent
	} {
		if _, rest, found := strings.Cut(text, label); found {
			e.printedCode(rest)
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
	if end < len("Slow") || isDigit(text[0]) || end < len(text) && strings.IndexByte(".,:;)\n", text[end]) < 0 {
		return
	}
	e.Envelope = true
	e.Code(text[:end])
}
