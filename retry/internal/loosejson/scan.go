package loosejson

import "strings"

// Parse reads one value at the start of text, after white space. A value cut
// off by the end of the text counts as it is.
func Parse(text string) (Value, bool) {
	s := scanner{text: text}
	return s.value()
}

// maxTries bounds the braces that Find looks behind without success, so that a
// long text of braces costs no more than a few passes.
const maxTries = 32

// Find calls f with the objects and arrays of objects that stand in text, at
// most limit, and with the text before each. It returns the text around them,
// with a space in the place of each that was written for a machine.
func Find(text string, limit int, f func(before string, v Value)) string {
	first := strings.IndexByte(text, '{')
	if first < 0 {
		return text
	}
	var rest strings.Builder
	from := 0
	tries := 0
	for at := first; at < len(text) && limit > 0 && tries < maxTries; {
		start := at
		if b := strings.LastIndexByte(text[from:at], '['); b >= 0 && strings.TrimSpace(text[from+b+1:at]) == "" {
			start = from + b // an array around it
		}
		s := scanner{text: text, at: start, whole: true}
		v, ok := s.value()
		if !ok && start < at {
			s = scanner{text: text, at: at, whole: true}
			start = at
			v, ok = s.value()
		}
		if ok && v.wellFormed() {
			switch {
			case isPrinted(text[start:s.at]):
				rest.WriteString(text[from:s.at])
			case start > 0 || s.at < len(text): // with nothing around it there is no rest
				rest.WriteString(text[from:start])
				rest.WriteByte(' ')
			}
			f(text[from:start], v)
			limit--
			at, from = s.at, s.at
		} else {
			tries++
			at++
		}
		next := strings.IndexByte(text[at:], '{')
		if next < 0 {
			break
		}
		at += next
	}
	if from == 0 {
		return text
	}
	rest.WriteString(text[from:])
	return rest.String()
}

// isPrinted reports whether an object is the way in which Node shows one to people:
// its names stand without quotation marks.
func isPrinted(object string) bool {
	inside := strings.TrimLeft(object[1:], " \t\r\n")
	return object[0] == '{' && inside != "" && inside[0]|0x20 >= 'a' && inside[0]|0x20 <= 'z'
}

// wellFormed reports whether v is an object with a member, or an array that
// starts with one: braces in prose and in code are not.
func (v Value) wellFormed() bool {
	if v.kind == Array {
		ok := false
		v.Elements(1, func(e Value) { ok = e.wellFormed() })
		return ok
	}
	members := 0
	return v.Members(func(string, Value) { members++ }) && members > 0
}

type scanner struct {
	text  string
	at    int
	whole bool // a value cut off by the end is none
}

func (s *scanner) done() bool { return s.at >= len(s.text) }

func (s *scanner) space() {
	for s.at < len(s.text) {
		switch s.text[s.at] {
		case ' ', '\n', '\t', '\r':
			s.at++
		default:
			return
		}
	}
}

func (s *scanner) take(c byte) bool {
	if s.at < len(s.text) && s.text[s.at] == c {
		s.at++
		return true
	}
	return false
}

// key reads a member's name: a string, or a bare word as JavaScript prints it.
func (s *scanner) key() (string, bool) {
	if c := s.text[s.at]; c == '"' || c == '\'' {
		raw, ok := s.quoted()
		return unescape(raw), ok
	}
	word := s.word()
	return word, word != "" && word[0] > '9'
}

func (s *scanner) value() (Value, bool) {
	s.space()
	if s.done() {
		return Value{}, false
	}
	switch c := s.text[s.at]; c {
	case '"', '\'':
		raw, ok := s.quoted()
		return Value{raw, String}, ok
	case '{', '[':
		kind := Object
		if c == '[' {
			kind = Array
		}
		start := s.at
		ok := s.nested()
		return Value{s.text[start:s.at], kind}, ok
	}
	switch word := s.word(); word {
	case "":
		return Value{}, false
	case "null", "None", "undefined":
		return Value{word, Null}, true
	case "true", "false", "True", "False":
		return Value{word, Bool}, true
	default:
		if word[0] == '-' || word[0] >= '0' && word[0] <= '9' {
			return Value{word, Number}, true
		}
		return Value{}, false
	}
}

// quoted reads a string and returns what is between its quotes.
func (s *scanner) quoted() (string, bool) {
	quote := s.text[s.at]
	s.at++
	start := s.at
	for s.at < len(s.text) {
		switch s.text[s.at] {
		case '\\':
			s.at++
		case quote:
			s.at++
			return s.text[start : s.at-1], true
		}
		s.at++
	}
	s.at = len(s.text)
	return s.text[start:], !s.whole
}

// nested reads up to the bracket that closes the one it stands on.
func (s *scanner) nested() bool {
	depth := 0
	for s.at < len(s.text) {
		switch s.text[s.at] {
		case '"', '\'':
			if _, ok := s.quoted(); !ok {
				return false
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			depth--
			if depth == 0 {
				s.at++
				return true
			}
		}
		s.at++
	}
	return !s.whole
}

// word reads a run of letters, digits, signs, dots and underscores.
func (s *scanner) word() string {
	start := s.at
	for s.at < len(s.text) {
		c := s.text[s.at]
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-' || c == '+' || c == '.' || c == '$' {
			s.at++
			continue
		}
		break
	}
	return s.text[start:s.at]
}
