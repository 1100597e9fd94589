package when

import (
	"strings"
	"time"
)

// Span reads the span of time at the start of text and returns what follows it:
// "7m12.5s", "17h58m27s", "2 days 17 hours 14 minutes", "6hr 29min", "26
// seconds", "'17' seconds", "an hour", "00:01:30", "PT1M30S". A number without a unit is none.
func Span(text string) (total time.Duration, rest string, ok bool) {
	if d, rest, ok := colons(text, 3); ok {
		return d, rest, true
	}
	rest = text
	if after, found := strings.CutPrefix(text, "PT"); found { // ISO 8601's, of a time
		rest = after
	}
	for {
		amount, after, found := amountAt(strings.TrimLeft(rest, " \t'\"`*~"))
		if !found {
			return total, rest, ok
		}
		unit, after := unitAt(strings.TrimLeft(after, " \t'\"`*-"))
		if unit == 0 {
			return total, rest, ok
		}
		d, valid := Units(amount, unit)
		if !valid {
			return total, rest, ok
		}
		if total += d; total < 0 {
			total = Forever
		}
		ok, rest = true, after
		joined := strings.TrimLeft(after, " \t,")
		joined = strings.TrimPrefix(joined, "and ")
		if _, _, more := amountAt(strings.TrimLeft(joined, " \t'\"`*~")); !more {
			return total, rest, ok
		}
		rest = joined
	}
}

// amountAt reads a number, or an article that stands for one.
func amountAt(s string) (float64, string, bool) {
	end := 0
	for end < len(s) && (s[end] >= '0' && s[end] <= '9' || s[end] == '.' && end+1 < len(s) && s[end+1] >= '0' && s[end+1] <= '9') {
		end++
	}
	if end > 0 {
		n, ok := number(s[:end])
		return n, s[end:], ok
	}
	for _, article := range [...]string{"an ", "a ", "one ", "einer ", "einem ", "une ", "un ", "una "} {
		if len(s) > len(article) && strings.EqualFold(s[:len(article)], article) {
			return 1, s[len(article):], true
		}
	}
	return 0, s, false
}

// unitAt reads a unit of time, which must end with the word.
func unitAt(s string) (time.Duration, string) {
	end := 0
	for end < len(s) && (s[end]|0x20 >= 'a' && s[end]|0x20 <= 'z' || s[end] >= 0x80) {
		end++
	}
	// "1m20s": the letters end where the next number begins, so a unit is whole.
	var lower [16]byte
	if end <= len(lower) {
		for i := range end {
			lower[i] = s[i]
			if c := s[i]; c >= 'A' && c <= 'Z' {
				lower[i] = c + 'a' - 'A'
			}
		}
		if unit := units[string(lower[:end])]; unit != 0 {
			return unit, s[end:]
		}
	}
	signs := strings.TrimPrefix(s, " ")
	for _, u := range &unitSigns {
		if after, found := strings.CutPrefix(signs, u.sign); found {
			return u.unit, after
		}
	}
	return 0, s
}
