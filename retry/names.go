package retry

import (
	"strings"

	"github.com/holdoff-go/holdoff/retry/internal/evidence"
)

// spaceOut returns text as the phrases are matched against: in lower case, with
// spaces for "-" and "_" and between the words of CamelCase, and without ticks and
// quotation marks.
//
// It also returns where in that the names of a program's own stand, of which no
// phrase is made: an identifier says something only where an error's type or code
// would stand, as in "litellm.RateLimitError: …" and "failed (rate_limit_exceeded)",
// and the path of a file never does.
func spaceOut(text string) (string, []span) {
	var b strings.Builder
	b.Grow(len(text) + 16)
	var own []span
	for at := 0; at < len(text); {
		if c := text[at]; !startsName(text, at) {
			if c != '`' && c != '"' {
				b.WriteByte(lowered(c))
			}
			at++
			continue
		}
		n := nameAt(text, at)
		start := b.Len()
		writeWords(&b, text[at:n.end])
		if n.isPath(text[at:n.end]) || (n.isIdentifier() && !isNetwork(text[at:]) || isQuoted(text, at, n.end)) && !n.says(text, at) {
			own = append(own, span{start, b.Len()})
		}
		at = n.end
	}
	return b.String(), own
}

// A span is a part of a text.
type span struct{ start, end int }

func lowered(c byte) byte {
	switch {
	case c == '-' || c == '_':
		return ' '
	case c >= 'A' && c <= 'Z':
		return c + 'a' - 'A'
	}
	return c
}

func writeWords(b *strings.Builder, name string) {
	for i := range len(name) {
		c := name[i]
		if isUpper(c) && i > 0 && isLetter(name[i-1]) {
			b.WriteByte(' ')
		}
		b.WriteByte(lowered(c))
	}
}

// A name is a run of letters and digits, and of what joins them in identifiers,
// paths and flags.
type name struct {
	end                      int
	last                     int // where the last part of a joined name starts
	hump, under, hyphen, dot bool
	scoped                   bool // by :: or \
	dashes                   int  // before a flag
	slashes                  int
}

func startsName(text string, at int) bool {
	switch c := text[at]; {
	case isLetter(c), isUpper(c), c == '_':
		return true
	case c == '/', c == '~':
		return at+1 < len(text) && text[at+1] != ' ' && (at == 0 || !isNameByte(text[at-1]))
	case c == '.':
		return strings.HasPrefix(text[at:], "./") || strings.HasPrefix(text[at:], "../")
	case c == '-':
		flag := strings.TrimLeft(text[at:min(at+3, len(text))], "-")
		return flag != "" && isNameByte(flag[0]) && (at == 0 || !isNameByte(text[at-1]) && text[at-1] != '-')
	}
	return false
}

func nameAt(text string, at int) name {
	n := name{end: at, last: at}
	for n.end < len(text) && text[n.end] == '-' {
		n.end++
	}
	n.dashes = n.end - at
	for ; n.end < len(text); n.end++ {
		c := text[n.end]
		if isNameByte(c) {
			n.hump = n.hump || isUpper(c) && n.end > at && isLetter(text[n.end-1])
			n.under = n.under || c == '_'
			continue
		}
		joined := n.end+1 < len(text) && isNameByte(text[n.end+1])
		switch {
		case c == '/', c == '.' && strings.HasPrefix(text[n.end:], "./"), c == '.' && strings.HasPrefix(text[n.end:], "../"), c == '~':
			n.slashes++
			if c == '.' {
				n.slashes++ // ./ is a path whatever follows
			}
		case c == '.' && joined:
			n.dot = true
		case c == '-' && joined:
			n.hyphen = true
			continue
		case c == ':' && strings.HasPrefix(text[n.end:], "::"):
			n.scoped = true
			n.end++
		case c == '\\' && joined && isUpper(text[n.end+1]):
			n.scoped = true
		default:
			return n
		}
		n.last = n.end + 1
	}
	return n
}

// isPath reports whether the name s is that of a file, or a flag's. Words with a
// single slash between them are none: "weekly/monthly".
func (n *name) isPath(s string) bool {
	if n.dashes == 2 || n.dashes == 1 && n.hyphen || n.slashes > 1 || n.slashes == 1 && (n.hump || n.under || n.hyphen || n.dot) {
		return true
	}
	return n.dot && evidence.IsSource(s)
}

func (n *name) isIdentifier() bool { return n.hump || n.under || n.scoped }

// isNetwork reports whether text starts with a network's error as the resolver and
// Chromium name it, which are phrases themselves.
func isNetwork(text string) bool {
	return strings.HasPrefix(text, "EAI_") || strings.HasPrefix(text, "net::ERR_")
}

// isQuoted reports whether text[start:end] is all that stands in quotation marks.
func isQuoted(text string, start, end int) bool {
	return start > 0 && end < len(text) && text[start-1] == text[end] && strings.IndexByte("\"'`", text[end]) >= 0
}

func wordSet(words string) map[string]bool {
	set := make(map[string]bool)
	for _, word := range strings.Fields(words) {
		set[word] = true
	}
	return set
}

func isUpper(c byte) bool { return c >= 'A' && c <= 'Z' }

func isNameByte(c byte) bool { return isLetter(c) || isUpper(c) || c >= '0' && c <= '9' || c == '_' }
