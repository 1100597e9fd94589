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
		end, kind := cue(text, at)
		if kind == noCue {
			at = end
			continue
		}
		if kind == cueSeconds {
			p := parser{text: text, at: end}
			if n, ok := number(p.digits()); ok && !spanned {
				span, spanned = Units(n, time.Second)
				spanText = quote(text[at:], 40)
			}
			at = p.at
			continue
		}
		rest, isSpan := filler(text[end:], kind)
		d, ok := time.Duration(0), false
		if isSpan {
			d, _, ok = colons(rest, 2)
		}
		if !ok {
			if d, ok := At(rest, now, naive); ok {
				return d, quote(text[at:], 60), true
			}
			d, _, ok = Span(rest)
		}
		if !ok && (kind == cueMillis || strings.Contains(strings.ToLower(text[at:len(text)-len(rest)]), "after")) {
			d, ok = bare(rest, kind == cueMillis)
		}
		if ok && !spanned {
			span, spanText, spanned = d, quote(text[at:], 40), true
		}
		at = end
	}
	if !spanned {
		return inSigns(text, now, naive)
	}
	return span, spanText, spanned
}

// bare reads a number without its unit, as in "retry after 14", or with the unit
// before it, as in "Retry-After-Ms: 14" and "retry after (seconds): 14". The number
// must end its sentence.
func bare(text string, millis bool) (time.Duration, bool) {
	unit := time.Second
	if millis {
		unit = time.Millisecond
	}
	if before, rest := unitAt(text); before != 0 {
		text, unit = strings.TrimLeft(rest, " :=\"')"), before
	}
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
	return Units(n, unit)
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
