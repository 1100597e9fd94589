package retry

import "strings"

// says reports whether the name that starts at start is what an error says of
// itself, by where it stands.
func (n *name) says(text string, start int) bool {
	before, after := text[:start], text[n.end:]
	quoted := isQuoted(text, start, n.end)
	if quoted {
		before, after = before[:start-1], after[1:]
	}
	last := text[n.last:n.end]
	if isOwn(last) || !endsClause(after, quoted) {
		return false
	}
	// The type of an exception counts wherever a message follows it.
	thrown := !quoted && strings.HasPrefix(after, ": ") && (strings.HasSuffix(last, "Error") || strings.HasSuffix(last, "Exception"))
	switch {
	case isDenied(after), quoted && strings.HasPrefix(after, ",") && (isLineStart(before) || lastWord(strings.TrimRight(before, " ")) == "got"):
		return false
	}
	return startsClause(before) || thrown && !isLead(before)
}

// isOwn reports whether an identifier is by its first word a function's or a
// test's, rather than an error's.
func isOwn(identifier string) bool {
	end := 0
	for end < len(identifier) && (isLetter(identifier[end]) || end == 0) {
		end++
	}
	if end == len(identifier) {
		return false
	}
	switch strings.ToLower(identifier[:end]) {
	case "test", "tests", "should", "handle", "handles", "is", "on", "with", "assert", "expect", "mock", "fake", "stub", "spec", "get", "set", "new", "parse", "check", "retry", "wait", "make", "when":
		return true
	}
	return false
}

// endsClause reports whether a clause ends before text, or goes on to say that
// what was named came about.
func endsClause(text string, quoted bool) bool {
	if text == "" || strings.IndexByte(":,;)]}>\n'\"", text[0]) >= 0 {
		return !quoted || text == "" || text[0] != ':' // the name of a member, or of what failed
	}
	switch text[0] {
	case '.':
		return len(text) == 1 || text[1] == ' ' || text[1] == '\n'
	case '(':
		return !quoted // the way Python prints an exception with its arguments
	case ' ':
	default:
		return text[0] >= 0x80
	}
	text = text[1:]
	if text == "" || text[0] >= 0x80 || strings.IndexByte("([{-|0123456789'\"", text[0]) >= 0 {
		return true
	}
	switch wordAt(text, 0) {
	case "error", "errors", "exception", "exceeded", "reached", "exhausted", "expired", "hit", "desc", "message", "msg", "while", "when", "after", "from", "returned", "received", "raised", "occurred", "encountered", "status":
		return !quoted
	}
	return isUpper(text[0]) // the next clause, of those who have no colons
}

// isDenied reports whether text goes on to say what is wrong with what was named
// before it, as in "rate_limited: command not found".
func isDenied(text string) bool {
	text = strings.ToLower(text[:min(len(text), 24)])
	for _, denial := range [...]string{": command not found", ": not found", ": no such", ": permission denied", ": is a ", ": cannot ", ": must ", ": undefined", ": unknown", ": invalid", ": already "} {
		if strings.HasPrefix(text, denial) {
			return true
		}
	}
	return false
}

// isMissing is isDenied for words that are no name by their looks.
func isMissing(text string) bool {
	for _, denial := range [...]string{": no such file", ": command not found", " already exists", " does not exist"} {
		if strings.HasPrefix(text, denial) {
			return true
		}
	}
	return false
}

func isLineStart(text string) bool {
	text = strings.TrimRight(text, " ")
	return text == "" || text[len(text)-1] == '\n'
}

// startsClause reports whether a clause starts behind text, and not with the name
// of a thing that is wrong with itself.
func startsClause(text string) bool {
	if isLineStart(text) {
		return true
	}
	trimmed := strings.TrimRight(text, " ")
	spaced := len(trimmed) < len(text)
	switch last := trimmed[len(trimmed)-1]; last {
	case ':', '=':
		return !isLead(trimmed[:len(trimmed)-1])
	case '(', '[', '{':
		outer := trimmed[:len(trimmed)-1]
		return outer == "" || !isLead(outer) && (strings.IndexByte(" \n[(", outer[len(outer)-1]) >= 0 || last == '(' && isVariant(outer))
	case '-', '>', '|', '.', ']', ';', '!':
		return spaced && !isLead(trimmed[:len(trimmed)-1])
	default:
		if !spaced {
			return false
		}
		if last >= 0x80 {
			return true // a mark of some kind
		}
	}
	word := lastWord(trimmed)
	if len(word) == 3 && word[0] >= '4' && word[0] <= '5' {
		return true // 429 RESOURCE_EXHAUSTED
	}
	return reports[word] && !isLead(trimmed)
}

// isVariant reports whether text ends with a word such as Err, which Rust prints
// before what an error holds.
func isVariant(text string) bool {
	start := len(text)
	for start > 0 && isNameByte(text[start-1]) {
		start--
	}
	return start < len(text) && isUpper(text[start]) && (start == 0 || text[start-1] == ' ' || text[start-1] == '(')
}

// reports are the words before what an error is called.
var reports = wordSet(`error errors exception code status reason got received raised returned returns threw thrown caught hit encountered with by cause failed`)

// labels are the words after which a code stands, whatever is said before them.
var labels = wordSet(`error errors exception code status reason type failure cause message`)

// isLead reports whether the clause that text ends with announces the name of a
// thing of the program's: "undefined", "KeyError", "invalid value for enum x".
func isLead(text string) bool {
	text = text[max(0, len(text)-64):]
	if i := strings.LastIndexAny(text, "\n"); i >= 0 {
		text = text[i+1:]
	}
	text = strings.TrimRight(text, " ")
	if i := strings.LastIndex(text, ": "); i >= 0 {
		text = text[i+2:]
	}
	clause := strings.ToLower(text)
	if labels[lastWord(clause)] {
		return false
	}
	return containsAny(clause, leads[:])
}

var leads = [...]string{
	"undefined", "undeclared", "unresolved", "unused", "not used", "not defined", "not declared", "not found", "not find", "no such", "unknown", "invalid", "duplicate", "redeclared", "redefin",
	"import", "module", "symbol", "field", "column", "table", "enum", "option", "flag", "argument", "identifier", "variable", "property", "keyerror", "attributeerror", "nameerror", "lookuperror", "referenceerror",
	"classnotfound", "noclassdef", "conflict", "merging", "branch", "expected", "expecting", "actual", "constraint", "package", "missing", "target", "label", "unexpected value", "want",
}

func lastWord(text string) string {
	end := len(text)
	start := end
	for start > 0 && isNameByte(text[start-1]) {
		start--
	}
	return strings.ToLower(text[start:end])
}
