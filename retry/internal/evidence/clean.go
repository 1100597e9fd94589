package evidence

import (
	"bytes"
	"strings"
)

// say notes a message of an envelope, and looks into it.
func (e *Evidence) say(message string, depth int) { e.text(message, depth, true, true) }

// note appends cleaned text to b, within its bound.
func (e *Evidence) note(b *strings.Builder, text string) {
	if room := maxSaid - b.Len(); len(text) > room {
		text = text[:max(0, room)]
	}
	text = e.clean(text)
	if text == "" || strings.HasSuffix(b.String(), text) {
		return // nested envelopes repeat their message
	}
	if b.Len() > 0 {
		b.WriteByte('\n')
	}
	b.WriteString(text)
}

// url stands in a cleaned text for every address.
const url = "URL"

// clean returns text as lines of words: without addresses, colours and other
// control characters, with plain apostrophes and single spaces.
func (e *Evidence) clean(text string) string {
	if isClean(text) {
		return text
	}
	b := make([]byte, 0, len(text)+len(url))
	for i := 0; i < len(text); {
		switch c := text[i]; {
		case c == ':' && strings.HasPrefix(text[i:], "://"):
			i += e.address(text[i:])
			b = append(bytes.TrimRight(b, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ+"), url...)
		case c <= ' ' || c == 0x7f:
			b = space(b, c)
			i++
		case c < 0x80:
			b = append(b, c)
			i++
		case strings.HasPrefix(text[i:], "’"):
			b = append(b, '\'')
			i += len("’")
		case strings.HasPrefix(text[i:], "\u00a0"):
			b = space(b, ' ')
			i += len("\u00a0")
		case strings.HasPrefix(text[i:], "\u202f"): // stands before AM and PM
			b = space(b, ' ')
			i += len("\u202f")
		default:
			b = append(b, c)
			i++
		}
	}
	return string(bytes.TrimRight(b, " \n"))
}

// space appends a space to b, or the end of a line, unless it ends so already.
func space(b []byte, c byte) []byte {
	if len(b) == 0 {
		return b
	}
	last := &b[len(b)-1]
	switch {
	case c == '\n' && *last == ' ':
		*last = '\n'
	case *last == ' ' || *last == '\n':
	case c == '\n':
		b = append(b, '\n')
	default:
		b = append(b, ' ')
	}
	return b
}

func isClean(s string) bool {
	for i := range len(s) {
		switch c := s[i]; {
		case c < ' ', c == 0x7f, c >= 0x80,
			c == ' ' && (i == 0 || i == len(s)-1 || s[i+1] == ' '),
			c == ':' && strings.HasPrefix(s[i:], "://"):
			return false
		}
	}
	return true
}

// plain returns text without colours, which would hide the structure in it.
func plain(text string) string {
	if strings.IndexByte(text, 0x1b) < 0 {
		return text
	}
	b := make([]byte, 0, len(text))
	for i := 0; i < len(text); {
		if text[i] == 0x1b {
			i += ansi(text[i:])
			continue
		}
		b = append(b, text[i])
		i++
	}
	return string(b)
}

// ansi returns the length of the escape sequence at the start of s.
func ansi(s string) int {
	if len(s) < 2 || s[1] != '[' && s[1] != ']' {
		return 1
	}
	for i := 2; i < len(s) && i < 64; i++ {
		if c := s[i]; s[1] == '[' && c >= 0x40 && c <= 0x7e || s[1] == ']' && c == 0x07 {
			return i + 1
		}
	}
	return 2
}

// address returns the length of the address at whose "://" s starts. A colon or
// a full stop behind it is the sentence's.
func (e *Evidence) address(s string) int {
	end := 0
	for end < len(s) && s[end] > ' ' && s[end] < 0x80 && strings.IndexByte("\"'<>)]}`\\", s[end]) < 0 {
		end++
	}
	link := s[:end]
	e.links.TokenLimit = e.links.TokenLimit || strings.Contains(link, "#token-limit")
	e.links.SecondaryLimit = e.links.SecondaryLimit || strings.Contains(link, "secondary-rate-limits")
	return max(len("://"), len(strings.TrimRight(link, ".,;:")))
}
