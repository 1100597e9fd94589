package evidence

import (
	"strings"

	"github.com/holdoff-go/holdoff/retry/internal/loosejson"
)

// Text notes a body or a text: the envelopes in it, and the words around them.
// isError says that it is known to be that of an error; otherwise only what
// marks itself as an error counts, and the words do not.
func (e *Evidence) Text(text string, isError bool) { e.text(text, 0, isError, false) }

// Prose notes free text, such as an error's own: what it says counts, but an
// object in it must mark itself as an error.
func (e *Evidence) Prose(text string) {
	whole := withoutDiagnostics(e.logged(plain(ends(text, maxSaid/4, maxSaid*3/4))))
	text = e.structure(whole, 0, false)
	e.note(&e.free, withoutSuppositions(withoutOperands(e.clean(text))))
	free := e.Free()
	if status := statusIn(free); status != 0 && e.Inner == 0 {
		e.inner(status)
	}
	if e.GRPC == 0 {
		e.GRPC = grpcCodeIn(free)
	}
	e.printedCodes(text)
	if e.Inner != 0 {
		e.printedHeaders(whole)
	}
}

// text looks into text for structure. What is left of it counts as a message of
// an envelope, or as free text beside one, if it is an error's.
func (e *Evidence) text(text string, depth int, isError, isMessage bool) {
	if depth > maxDepth || text == "" {
		return
	}
	rest := withoutDiagnostics(e.structure(plain(bound(text)), depth, isError))
	switch {
	case !isError || rest == "":
	case isMessage:
		e.note(&e.said, rest)
	default:
		e.note(&e.free, rest)
	}
}

// structure notes the streams, objects and markup in text, and returns the rest.
func (e *Evidence) structure(text string, depth int, isError bool) string {
	if isStream(text) {
		return e.stream(text, depth)
	}
	if strings.IndexByte(text, '{') >= 0 {
		text = e.objects(text, depth, isError)
	}
	if strings.Contains(text, "map[") {
		text = e.goMaps(text)
	}
	if strings.Contains(text, "</") {
		text = e.markup(text, isError)
	}
	return text
}

func (e *Evidence) objects(text string, depth int, isError bool) string {
	found := 0
	visit := func(before string, v loosejson.Value) {
		found++
		e.value(v, depth+1, isError || announced(before) || isRefusal(v))
	}
	rest := loosejson.Find(text, maxItems, visit)
	if found > 0 {
		return rest
	}
	if trimmed := strings.TrimLeft(text, " \t\r\n"); startsValue(trimmed) {
		if v, ok := loosejson.Parse(trimmed); ok { // cut off at its end
			visit("", v)
			return ""
		}
	}
	if strings.Contains(text, `{\"`) || strings.Contains(text, `{\\\"`) { // printed with its escapes
		plain := strings.NewReplacer(`\\\"`, `"`, `\\n`, " ", `\"`, `"`, `\n`, " ").Replace(text)
		return loosejson.Find(plain, maxItems, visit)
	}
	return text
}

// announced reports whether the words before an object call it an error, as in
// "received error while streaming: {…}", "FAILED! => {…}" and "429 Too Many
// Requests {…}".
func announced(before string) bool {
	line := strings.TrimSpace(before[max(strings.LastIndexByte(before, '\n')+1, len(before)-160):])
	if strings.HasSuffix(strings.TrimRight(line, `["'`), `". Details: `) { // of Google's client for Python
		return true
	}
	if strings.HasSuffix(line, ":") && !strings.HasSuffix(line, " key:") || strings.HasSuffix(line, "=>") {
		for _, word := range [...]string{"error", "Error", "ERROR", "failed", "FAILED"} {
			if strings.Contains(line, word) {
				return true
			}
		}
	}
	if strings.HasSuffix(line, "Error") || strings.HasSuffix(line, "Exception") { // its type
		return true
	}
	if line == "" { // the body of an answer that is printed whole
		head := before[max(0, len(before)-2<<10):]
		line, _, _ = strings.Cut(head[max(0, strings.LastIndex(head, "HTTP/")):], "\n")
		if !strings.HasPrefix(line, "HTTP/") {
			return false
		}
	}
	return statusIn(line) != 0
}

// startsValue reports whether text starts as an object does, or an array of what is
// of interest, and not with a logger's brackets.
func startsValue(text string) bool {
	if text == "" || text[0] != '{' && text[0] != '[' {
		return false
	}
	inside := strings.TrimLeft(text[1:], " \t\r\n")
	end := 0
	for end < len(inside) && isWord(inside[end]|0x20) {
		end++
	}
	return inside != "" && (strings.IndexByte("{[\"'", inside[0]) >= 0 || end > 0 && strings.HasPrefix(inside[end:], ":") && text[0] == '{')
}

// isRefusal reports whether an object is an answer's body by what is in it: the
// status of an error, and what such bodies have beside it. Some SDKs print no more
// of theirs.
func isRefusal(v loosejson.Value) bool {
	var m members
	m.read(v)
	if status, ok := m[kStatusCode].Int(); ok {
		return status >= 400 && status < 600 && m[kMessage].Text() != ""
	}
	status, ok := m[kStatus].Int()
	return ok && status >= 400 && status < 600 &&
		(m[kTitle].Text() != "" || m[kMessage].Text() != "" && (m[kCode].Kind() == loosejson.String || m[kType].Kind() == loosejson.String))
}

func (e *Evidence) value(v loosejson.Value, depth int, isError bool) {
	switch v.Kind() {
	case loosejson.Object:
		e.object(v, depth, isError)
	case loosejson.Array:
		v.Elements(maxItems, func(element loosejson.Value) { e.value(element, depth+1, isError) })
	case loosejson.String:
		if isError {
			e.label(v.Text(), depth)
		}
	}
}

// isStream reports whether text is a stream of server-sent events.
func isStream(text string) bool {
	text = strings.TrimLeft(text, " \t\r\n")
	for _, field := range [...]string{"data:", "event:", "id:", "retry:", ":"} {
		if strings.HasPrefix(text, field) {
			return strings.HasPrefix(text, "data:") || strings.Contains(text, "\ndata:")
		}
	}
	return false
}

// stream notes the events of a stream that are errors. There is nothing else to
// it than events, so nothing of it is free text.
func (e *Evidence) stream(text string, depth int) string {
	event := ""
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		if name, ok := strings.CutPrefix(line, "event:"); ok {
			event = strings.TrimSpace(name)
		}
		data, ok := strings.CutPrefix(line, "data:")
		if !ok {
			continue
		}
		if v, ok := loosejson.Parse(data); ok {
			e.value(v, depth+1, event == "error")
		}
		event = ""
	}
	return ""
}

// bound returns what is read of text: of an object its start, of other texts
// both ends.
func bound(text string) string {
	if len(text) <= maxText {
		return text
	}
	if trimmed := strings.TrimLeft(text[:64], " \t\r\n"); trimmed != "" && (trimmed[0] == '{' || trimmed[0] == '[') {
		return text[:maxText]
	}
	return ends(text, maxText/4, maxText*3/4)
}

// ends returns the first head and the last tail bytes of text, in whole lines.
func ends(text string, head, tail int) string {
	if len(text) <= head+tail {
		return text
	}
	first, last := text[:head], text[len(text)-tail:]
	if end := strings.LastIndexByte(first, '\n'); end > 0 {
		first = first[:end]
	}
	if start := strings.IndexByte(last, '\n'); start >= 0 {
		last = last[start+1:]
	}
	return first + "\n" + last
}
