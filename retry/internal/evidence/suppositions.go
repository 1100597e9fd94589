package evidence

import "strings"

// withoutSuppositions returns a cleaned text without the sentences that say what a
// server does when a limit is met, as documents and reviews have them: "Once the
// rate limit is exceeded, it answers 429." What has come about is told in the past.
func withoutSuppositions(text string) string {
	var kept strings.Builder
	from := 0
	for at := 0; at < len(text); {
		end := at + sentenceEnd(text[at:])
		if start := at + suppositionIn(text[at:end]); start >= at {
			kept.WriteString(text[from:start])
			from = end
		}
		at = end
	}
	if from == 0 {
		return text
	}
	kept.WriteString(text[from:])
	return kept.String()
}

// sentenceEnd returns the length of the first sentence of text.
func sentenceEnd(text string) int {
	for i := range len(text) {
		switch text[i] {
		case '\n':
			return i + 1
		case '.', ';', '!':
			if i+1 == len(text) || text[i+1] == ' ' || text[i+1] == '\n' {
				return i + 1
			}
		}
	}
	return len(text)
}

var (
	// supposes are the words by which a supposition starts, and subjects what they
	// are of.
	supposes = []string{"when", "whenever", "once", "if"}
	subjects = []string{"the", "a", "an", "any", "you", "your", "we", "it", "users", "clients", "callers"}
	// those are the words by which one starts that is of whoever does something.
	those = []string{"users who", "users that", "clients who", "clients that", "callers who", "callers that", "requests that", "calls that"}
	// supposed is what of.
	supposed = []string{"limit", "quota", "throttl", "overload", "exceed", "answer", "return", "respond", "429", "503", "529"}
	// past are the words of what has come about, and of how it ends.
	past = []string{"reset", "resets", "renews", "returned", "answered", "responded", "received", "got", "was", "were", "had", "has", "have", "failed", "exhausted"}
)

// suppositionIn returns where in a sentence a supposition starts that goes on to
// its end, or -1: at its start, or behind a colon, a logger's brackets or the mark of a list.
func suppositionIn(sentence string) int {
	if len(sentence) < len("if a 429") {
		return -1
	}
	lower := ""
	for start := 0; start >= 0; {
		for start < len(sentence) && strings.IndexByte(" -*", sentence[start]) >= 0 {
			start++
		}
		if start < len(sentence) && strings.IndexByte("wWoOiIuUcCrR", sentence[start]) >= 0 {
			if lower == "" {
				lower = lowerASCII(sentence)
			}
			if isSupposition(lower[start:]) {
				return start
			}
		}
		next := strings.IndexAny(sentence[start:], ":]")
		if next < 0 {
			break
		}
		start += next + 1
	}
	return -1
}

func isSupposition(lower string) bool {
	first, rest, _ := strings.Cut(lower, " ")
	if !startsWithWord(lower, those) && !(startsWithWord(first, supposes) && startsWithWord(rest, subjects)) {
		return false
	}
	const reach, far = 64, 240
	about := lower[:min(len(lower), reach)]
	lower = lower[:min(len(lower), far)]
	of := false
	for _, part := range supposed {
		of = of || strings.Contains(about, part)
	}
	if !of {
		return false
	}
	for _, word := range past {
		if hasWord(lower, word) {
			return false
		}
	}
	return !strings.Contains(lower, "'ve ")
}
