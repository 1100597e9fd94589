package retry

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxRule bounds a Verdict's Rule, so that a log line stays one.
const maxRule = 240

// oneLine folds s into one line of at most limit bytes. Marks that have no shape of
// their own, such as those that turn the direction of writing, are dropped: what
// they do to a log does not end with the line.
func oneLine(s string, limit int) string {
	if len(s) <= limit && isLine(s) {
		return s
	}
	if len(s) > 4*limit { // far beyond what can be shown: do not fold it all
		s = s[:4*limit]
	}
	s = strings.Join(strings.Fields(strings.Map(shown, strings.ToValidUTF8(s, ""))), " ")
	if len(s) <= limit {
		return s
	}
	cut := limit - len("…")
	for cut > 0 && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut] + "…"
}

// isLine reports whether s needs no folding.
func isLine(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c >= 0x7f {
			return false
		}
	}
	return true
}

// shown drops the runes that are only there to format others.
func shown(r rune) rune {
	if unicode.Is(unicode.Cf, r) {
		return -1
	}
	return r
}
