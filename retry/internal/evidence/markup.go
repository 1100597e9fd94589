package evidence

import "strings"

// markup notes the codes and messages of XML, and the headings of HTML. The
// rest of a page says nothing reliable, and is dropped.
func (e *Evidence) markup(text string, isError bool) string {
	codes := 0
	for from := 0; codes < maxItems; codes++ {
		code, end := element(text, "Code", from)
		if end == 0 {
			break
		}
		from = end
		e.Envelope = true
		e.Code(code)
		if message, end := element(text, "Message", from); end > 0 {
			e.say(message, maxDepth)
		}
	}
	if codes > 0 {
		return ""
	}
	if !isError || !hasFold(text, "<html") && !hasFold(text, "<!doctype") && !hasFold(text, "<title") {
		return text
	}
	for _, name := range [...]string{"title", "h1", "h2"} {
		if heading, end := element(text, name, 0); end > 0 {
			if closing := indexFold(text, "</"+name+">", end); closing > 0 && strings.IndexByte(heading, '<') >= 0 {
				heading = untagged(text[end-len(heading) : min(closing, end+maxHeading)])
			}
			e.note(&e.free, heading)
		}
	}
	return ""
}

// maxHeading is how much of a heading that has elements inside is read.
const maxHeading = 512

// untagged returns text without its tags.
func untagged(text string) string {
	var b strings.Builder
	for {
		before, after, found := strings.Cut(text, "<")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		if _, text, found = strings.Cut(after, ">"); !found {
			return b.String()
		}
		b.WriteByte(' ')
	}
}

// element returns the text of the next element of that name, in any case, and
// where it ends; 0 when there is none.
func element(text, name string, from int) (string, int) {
	start := indexFold(text, "<"+name+">", from)
	if start < 0 {
		return "", 0
	}
	start += len(name) + 2
	end := strings.Index(text[start:], "</")
	if end < 0 {
		return "", 0
	}
	return text[start : start+end], start + end
}

func hasFold(text, part string) bool { return indexFold(text, part, 0) >= 0 }

// indexFold finds part, which starts with '<', in text in any case of letters.
func indexFold(text, part string, from int) int {
	for from < len(text) {
		at := strings.IndexByte(text[from:], part[0])
		if at < 0 || len(text)-from-at < len(part) {
			return -1
		}
		from += at
		if strings.EqualFold(text[from:from+len(part)], part) {
			return from
		}
		from++
	}
	return -1
}

// goMaps notes what Go prints of the details of a status with %v, such as
// map[@type:type.googleapis.com/google.rpc.RetryInfo retryDelay:37s].
func (e *Evidence) goMaps(text string) string {
	at := strings.Index(text, "map[")
	found := false
	for word := range strings.FieldsFuncSeq(text[at:], func(r rune) bool { return r == ' ' || r == '[' || r == ']' }) {
		key, value, ok := strings.Cut(word, ":")
		if !ok || value == "" {
			continue
		}
		found = e.detail(key, value) || found
	}
	if !found {
		return text
	}
	e.Envelope = true
	return text[:at]
}
