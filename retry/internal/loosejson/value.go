// Package loosejson reads JSON as errors carry it: cut off at the end, printed
// as a Python or JavaScript literal, or in the middle of a line of text. It
// reads in place and builds nothing, so that looking for an error's few fields
// in a large body costs little.
package loosejson

import (
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// A Kind is the kind of a Value.
type Kind uint8

const (
	Absent Kind = iota // the zero Value: nothing there
	Null
	Bool
	Number
	String
	Object
	Array
)

// A Value is a piece of the text that was parsed. The zero Value is absent, and
// every question to it is answered with nothing.
type Value struct {
	raw  string // the value's own text; a string's without its quotes
	kind Kind
}

// Kind returns the value's kind.
func (v Value) Kind() Kind { return v.kind }

// IsTrue reports whether the value is the literal true.
func (v Value) IsTrue() bool { return v.kind == Bool && (v.raw == "true" || v.raw == "True") }

// IsFalse reports whether the value is the literal false.
func (v Value) IsFalse() bool { return v.kind == Bool && !v.IsTrue() }

// Text returns a string's contents, or a number as it is written.
func (v Value) Text() string {
	switch v.kind {
	case String:
		return unescape(v.raw)
	case Number:
		return v.raw
	}
	return ""
}

// Float returns a number, or a string that holds one.
func (v Value) Float() (float64, bool) {
	if !v.numeric() {
		return 0, false
	}
	f, err := strconv.ParseFloat(v.raw, 64)
	return f, err == nil
}

// Int returns a whole number, or a string that holds one.
func (v Value) Int() (int, bool) {
	if !v.numeric() {
		return 0, false
	}
	n, err := strconv.Atoi(v.raw)
	return n, err == nil
}

// numeric reports whether the value may be a number. Asking strconv about every
// string would cost an error each.
func (v Value) numeric() bool {
	if v.kind != Number && v.kind != String || v.raw == "" {
		return false
	}
	c := v.raw[0]
	return c == '-' || c == '.' || c >= '0' && c <= '9'
}

// Members calls f with the members of an object, in order. It reports whether
// the value is an object without a fault before its end.
func (v Value) Members(f func(key string, value Value)) bool {
	if v.kind != Object {
		return false
	}
	s := scanner{text: v.raw, at: 1}
	for first := true; ; first = false {
		s.space()
		if s.done() {
			return true // cut off: what came counts
		}
		if s.take('}') {
			return true
		}
		if !first && !s.take(',') {
			return false
		}
		s.space()
		if s.done() || s.take('}') {
			return true
		}
		key, ok := s.key()
		if !ok {
			return false
		}
		s.space()
		if s.done() {
			return true
		}
		if !s.take(':') {
			return false
		}
		value, ok := s.value()
		if !ok {
			return s.done()
		}
		f(key, value)
	}
}

// Elements calls f with the elements of an array, in order, at most limit.
func (v Value) Elements(limit int, f func(Value)) {
	if v.kind != Array {
		return
	}
	s := scanner{text: v.raw, at: 1}
	for range limit {
		element, ok := s.value()
		if !ok {
			return
		}
		f(element)
		s.space()
		if !s.take(',') {
			return
		}
	}
}

func unescape(s string) string {
	if strings.IndexByte(s, '\\') < 0 {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			b.WriteByte(s[i])
			continue
		}
		i++
		switch c := s[i]; c {
		case 'n':
			b.WriteByte('\n')
		case 't':
			b.WriteByte('\t')
		case 'r':
			b.WriteByte('\r')
		case 'b', 'f':
			b.WriteByte(' ')
		case 'u':
			r, n := hexRune(s[i+1:])
			if n == 0 {
				b.WriteByte('u')
				continue
			}
			i += n
			if utf16.IsSurrogate(r) && strings.HasPrefix(s[i+1:], `\u`) {
				if low, n := hexRune(s[i+3:]); n > 0 {
					r = utf16.DecodeRune(r, low)
					i += 2 + n
				}
			}
			b.WriteRune(r)
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

// hexRune reads the four digits of a \u escape.
func hexRune(s string) (rune, int) {
	if len(s) < 4 {
		return 0, 0
	}
	n, err := strconv.ParseUint(s[:4], 16, 16)
	if err != nil {
		return 0, 0
	}
	r := rune(n)
	if !utf8.ValidRune(r) && !utf16.IsSurrogate(r) {
		return utf8.RuneError, 4
	}
	return r, 4
}
