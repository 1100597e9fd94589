package when

import (
	"strings"
	"time"
)

// inSigns reads the waits of languages that put the word behind the span, or the
// sign before the time: 将在 2026-11-30 21:31:39 重置, 30 秒后重试, 請 1 分 30 秒後再試,
// 20秒後にもう一度, 30초 후에 다시, 请等待 30 秒.
func inSigns(text string, now time.Time, naive *time.Location) (time.Duration, string, bool) {
	if isASCII(text) {
		return 0, "", false
	}
	if at := strings.Index(text, "在"); at >= 0 {
		rest := strings.TrimLeft(text[at+len("在"):], " ")
		if d, ok := At(rest, now, naive); ok {
			return d, quote(text[at:], 60), true
		}
	}
	for at := 0; at < len(text); at++ {
		if !startsNumber(text, at) {
			continue
		}
		d, rest, ok := Span(text[at:])
		if !ok {
			continue
		}
		end := len(text) - len(rest)
		if hasAnyPrefix(strings.TrimLeft(rest, " "), signsAfter[:]) || hasAnySuffix(strings.TrimRight(text[:at], " :："), signsBefore[:]) {
			return d, text[at:end], true
		}
		at = end - 1
	}
	return 0, "", false
}

var (
	signsAfter  = [...]string{"后", "後", "之后", "之後", "以后", "以後", "후", "뒤", "待", "お待", "間待", "間お待"}
	signsBefore = [...]string{"等待", "等候", "请等", "請等", "稍等"}
)

// startsNumber reports whether a number starts at at.
func startsNumber(text string, at int) bool {
	isDigit := func(c byte) bool { return c >= '0' && c <= '9' }
	return isDigit(text[at]) && (at == 0 || !isDigit(text[at-1]) && text[at-1] != '.')
}

func hasAnyPrefix(text string, prefixes []string) bool {
	for _, prefix := range prefixes {
		if strings.HasPrefix(text, prefix) {
			return true
		}
	}
	return false
}

func hasAnySuffix(text string, suffixes []string) bool {
	for _, suffix := range suffixes {
		if strings.HasSuffix(text, suffix) {
			return true
		}
	}
	return false
}

func isASCII(text string) bool {
	for i := range len(text) {
		if text[i] >= 0x80 {
			return false
		}
	}
	return true
}
