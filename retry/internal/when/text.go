package when

import (
	"strings"
	"time"
)

// InText returns the wait that a message states in words, and what it was read
// from. A point in time is preferred to a span, as the more exact of the two. A
// time counts only behind a word that makes it the end of the wait, such as
// "resets" or "try again"; other times in a message are none of ours.
func InText(text string, now time.Time, naive *time.Location) (wait time.Duration, evidence string, ok bool) {
	if d, ev, ok := afterPipe(text, now); ok {
		return d, ev, true
	}
	var span time.Duration
	var spanText string
	spanned := false
	for at := 0; at < len(text); {
		end, found := cue(text, at)
		if !found {
			at = end
			continue
		}
		rest := filler(text[end:])
		if d, ok := At(rest, now, naive); ok {
			return d, quote(text[at:], 60), true
		}
		d, _, ok := Span(rest)
		if !ok && strings.Contains(strings.ToLower(text[at:len(text)-len(rest)]), "after") {
			d, ok = bare(rest)
		}
		if ok && !spanned {
			span, spanText, spanned = d, quote(text[at:], 40), true
		}
		at = end
	}
	if !spanned {
		if d, ev, ok := inChinese(text, now, naive); ok {
			return d, ev, true
		}
	}
	return span, spanText, spanned
}

// bare reads seconds without their unit, as in "retry after 14" and
// "Retry-After: 14": a number that ends its sentence.
func bare(text string) (time.Duration, bool) {
	end := 0
	for end < len(text) && (text[end] >= '0' && text[end] <= '9') {
		end++
	}
	if end == 0 || end > 9 || end < len(text) && strings.IndexByte("\n.,;)]}\"'`", text[end]) < 0 {
		return 0, false
	}
	if end+1 < len(text) && text[end+1] >= '0' && text[end+1] <= '9' {
		return 0, false // 1,000 and 2.5 of something
	}
	n, _ := number(text[:end])
	return Units(n, time.Second)
}

// cues are the words behind which the end of the wait is told.
var cues = map[string]bool{
	"reset": true, "resets": true, "resetting": true, "again": true, "until": true, "access": true,
	"retry": true, "wait": true, "renews": true, "renew": true, "renewed": true, "refreshes": true, "refreshed": true, "refresh": true,
	"available": true, "allowed": true, "resume": true, "resumes": true, "unlocks": true, "expires": true,
	"retry_after": true, "retryafter": true, "retrydelay": true,
}

// cue looks at the word that starts at or after at, and returns its end.
func cue(text string, at int) (int, bool) {
	for at < len(text) && !isWordByte(text[at]) {
		at++
	}
	end := at
	for end < len(text) && isWordByte(text[end]) {
		end++
	}
	var lower [12]byte
	if n := end - at; n == 0 || n > len(lower) {
		return end, false
	}
	for i := at; i < end; i++ {
		c := text[i]
		if c >= 'A' && c <= 'Z' {
			c += 'a' - 'A'
		}
		lower[i-at] = c
	}
	return end, cues[string(lower[:end-at])]
}

func isWordByte(b byte) bool {
	return b|0x20 >= 'a' && b|0x20 <= 'z' || b >= '0' && b <= '9' || b == '_' || b == '\''
}

// fillers may stand between the cue and the time.
var fillers = map[string]bool{
	"at": true, "on": true, "in": true, "after": true, "for": true, "is": true, "will": true, "be": true, "about": true, "approximately": true,
	"around": true, "by": true, "least": true, "again": true, "within": true, "another": true, "time": true, "roughly": true, "until": true, "reset": true, "automatically": true,
}

// filler returns s without the words and signs that may stand before a time.
func filler(s string) string {
	for range 6 {
		s = strings.TrimLeft(s, " \t:·∙~=\"'`-–—,(*")
		end := 0
		for end < len(s) && s[end]|0x20 >= 'a' && s[end]|0x20 <= 'z' {
			end++
		}
		if end == 0 || !fillers[strings.ToLower(s[:end])] {
			return s
		}
		s = s[end:]
	}
	return s
}

// afterPipe reads "usage limit reached|1796036400".
func afterPipe(text string, now time.Time) (time.Duration, string, bool) {
	at := strings.IndexByte(text, '|')
	if at < 0 {
		return 0, "", false
	}
	p := parser{text: text, at: at + 1}
	t, ok := p.epoch()
	if !ok || !strings.Contains(strings.ToLower(text[:at]), "limit") {
		return 0, "", false
	}
	return until(t, now), text[at : at+1+len(p.digits())], true
}

// inChinese reads 将在 2026-11-30 21:31:39 重置 and 30 秒后重试.
func inChinese(text string, now time.Time, naive *time.Location) (time.Duration, string, bool) {
	if at := strings.Index(text, "在"); at >= 0 {
		rest := strings.TrimLeft(text[at+len("在"):], " ")
		if d, ok := At(rest, now, naive); ok {
			return d, quote(text[at:], 60), true
		}
	}
	if at := strings.Index(text, "后"); at > 0 {
		start := strings.LastIndexAny(text[:at], "0123456789")
		for start > 0 && (text[start-1] >= '0' && text[start-1] <= '9' || text[start-1] == '.') {
			start--
		}
		if start >= 0 {
			if d, rest, ok := Span(text[start:]); ok && strings.HasPrefix(strings.TrimLeft(rest, " "), "后") {
				return d, text[start:at], true
			}
		}
	}
	return 0, "", false
}

// quote returns the start of s, whole words of at most limit bytes.
func quote(s string, limit int) string {
	s = strings.TrimSpace(s)
	if len(s) <= limit {
		return s
	}
	s = s[:limit]
	if space := strings.LastIndexByte(s, ' '); space > 0 {
		s = s[:space]
	}
	return strings.ToValidUTF8(s, "")
}
