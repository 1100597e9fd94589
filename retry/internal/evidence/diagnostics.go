package evidence

import "strings"

// withoutDiagnostics returns text without the lines that compilers, linters, test
// runners, stack traces, version control and authors write, and without what is indented
// below them. They quote the program that is being worked on, not a provider: its
// names, its tests, its history, its documents may well be about rate limits.
func withoutDiagnostics(text string) string {
	d := diagnostics{pointers: strings.IndexByte(text, '^') >= 0}
	kept, from := strings.Builder{}, 0 // text[from:at] is not yet in kept
	for at := 0; at < len(text); {
		end := strings.IndexByte(text[at:], '\n') + 1
		if end == 0 {
			end = len(text) - at
		}
		line := text[at : at+end]
		if d.drops(line) || d.pointers && isPointer(text[at+end:]) {
			kept.WriteString(text[from:at])
			if strings.HasSuffix(strings.TrimRight(line, "\r\n"), " {") {
				kept.WriteString("{\n") // Node prints an error's members behind its stack
			}
			from = at + end
		}
		at += end
	}
	if from == 0 {
		return text
	}
	kept.WriteString(text[from:])
	return kept.String()
}

// diagnostics is where in such output a line stands.
type diagnostics struct {
	below   int  // 1 + the indentation of the line that opened a block; 0 outside
	report  bool // a test runner counts its failures
	hunk    bool // in a patch
	section bool // up to the next empty line

	pointers bool // there may be lines that point at a place in the line above
}

func (d *diagnostics) drops(line string) bool {
	trimmed := strings.TrimLeft(line, " \t")
	indent := len(line) - len(trimmed)
	trimmed = strings.TrimRight(trimmed, " \t\r\n")
	if d.below > 0 && (trimmed == "" || indent >= d.below) {
		return true
	}
	d.below = 0
	said := unlogged(trimmed)
	if d.hunk = isPatch(said) || d.hunk && line != "" && strings.IndexByte("+- \r\n", line[0]) >= 0; d.hunk {
		return true
	}
	if d.section = trimmed != "" && (d.section || isSection(said)); d.section {
		return true
	}
	d.report = d.report || isTally(said)
	switch {
	case trimmed == "":
		return false
	case isPlaced(trimmed), isFrame(trimmed), isTest(said), isExcerpt(trimmed), isStylish(trimmed), isCompilerCode(said), isCommit(said), isDocument(said), d.report && isNumbered(trimmed):
		d.below = indent + 1
		return true
	}
	return false
}

// unlogged returns a line without what a logger puts before it, up to a level in
// brackets.
func unlogged(line string) string {
	for _, level := range [...]string{"[ERROR] ", "[WARN] ", "[INFO] ", "[error] "} {
		if i := strings.Index(line[:min(len(line), 80)], level); i >= 0 {
			return strings.TrimLeft(line[i+len(level):], " \t")
		}
	}
	return line
}

// isPlaced reports whether a line is about a place in a file: file:line: at its
// start, as compilers, linters, grep and the log of a failing test have it, or
// file:line:column: and file(line,column): anywhere.
func isPlaced(line string) bool {
	word := 0
	for at := range len(line) {
		switch line[at] {
		case ' ':
			word = at + 1
		case ':', '(':
			if IsSource(line[word:at]) {
				return isPlace(line, word, at)
			}
		case '-': // grep's lines around a match
			if IsSource(line[word:at]) {
				return at+1 < len(line) && isDigit(line[at+1])
			}
		}
	}
	return false
}

// isPlace reports whether a place of that kind follows the name of a file,
// line[word:at].
func isPlace(line string, word, at int) bool {
	first, bracket, file := word == 0, line[at] == '(', line[word:at]
	numbers := 0
	for at < len(line) && strings.IndexByte(":(,", line[at]) >= 0 {
		end := at + 1
		for end < len(line) && isDigit(line[end]) {
			end++
		}
		if end == at+1 {
			break
		}
		numbers++
		at = end
	}
	if bracket && at < len(line) && line[at] == ')' {
		at++
	}
	rest := line[at:]
	switch numbers {
	case 0: // grep's, without numbers: no space behind the colon
		return first && !bracket && len(rest) > 1 && rest[1] != ' ' && strings.IndexByte(line[:at], '/') > 0
	case 1:
		switch {
		case !first && !isTestFile(file), strings.HasPrefix(rest, ":in "): // Ruby's exceptions
			return false
		case rest == "" || rest[0] == ':':
			return true
		}
		return rest[0] == ' ' && (strings.HasSuffix(file, ".feature") || isRule(rest[1:]))
	}
	return first || rest != "" && (rest[0] == ':' || rest[0] == ' ')
}

// isRule reports whether text starts with the number of a linter's rule, such as
// DL3008.
func isRule(text string) bool {
	rule, _, _ := strings.Cut(text[:min(len(text), 24)], " ")
	rule, _, _ = strings.Cut(rule, "/")
	name := strings.TrimRight(rule, "0123456789:")
	return name != "" && len(rule) >= len(name)+3 && isDigit(rule[len(name)]) && name == strings.ToUpper(name) && isName(name)
}

// sourceEndings are the endings of files that programs are made of.
var sourceEndings = func() map[string]bool {
	m := make(map[string]bool)
	for _, ending := range strings.Fields(`go mod py pyi ts tsx mts cts js jsx mjs cjs vue svelte rs java kt kts scala groovy gradle c cc cpp cxx h hh hpp
		m mm cs fs vb swift rb php pl lua ex exs erl hs ml clj dart zig nim sql sh bash ps1 tf proto css scss less html htm xml
		feature json yaml yml toml ini cfg conf md rst txt log csv lock`) {
		m[ending] = true
	}
	return m
}()

// IsSource reports whether a name is that of a file a program is made of.
func IsSource(name string) bool {
	name = name[max(0, len(name)-len("Dockerfile")):] // no ending is longer
	dot := strings.LastIndexByte(name, '.')
	return dot >= 0 && sourceEndings[name[dot+1:]] || strings.HasSuffix(name, "Makefile") || strings.HasSuffix(name, "Dockerfile")
}

// isTestFile reports whether a file holds tests by its name: nobody logs from it but
// they.
func isTestFile(file string) bool {
	for _, mark := range [...]string{"_test.", "_spec.", ".test.", ".spec.", "/test_", ".feature"} {
		if strings.Contains(file, mark) {
			return true
		}
	}
	return strings.HasPrefix(file, "test_")
}

// isFrame reports whether a line is of a stack trace, rather than the error that
// it is the trace of.
func isFrame(line string) bool {
	switch {
	case strings.HasSuffix(line, "Traceback (most recent call last):"):
		return true // all that is indented below it
	case strings.HasPrefix(line, `File "`):
		return strings.Contains(line, `", line `)
	case strings.HasPrefix(line, "goroutine "):
		return strings.HasSuffix(line, "]:")
	case strings.HasPrefix(line, "from "):
		return strings.Contains(line, ":in ")
	case strings.HasPrefix(line, "... "):
		return strings.HasSuffix(line, " more")
	case strings.HasPrefix(line, "#"): // PHP
		return len(line) > 2 && isDigit(line[1]) && strings.Contains(line, "): ")
	case strings.HasPrefix(line, "at "):
		return isCall(line[len("at "):])
	}
	return strings.Contains(line, ".go:") && strings.Contains(line, " +0x")
}

// isCall reports whether what follows "at" is a function or a place, and not the
// sentence that goes on: "at capacity".
func isCall(line string) bool {
	for _, word := range [...]string{"async ", "new "} {
		line = strings.TrimPrefix(line, word)
	}
	line = strings.TrimSuffix(line, " {")
	name, rest, _ := strings.Cut(line, " ")
	return name != "" && !isDigit(name[0]) && strings.ContainsAny(strings.TrimRight(name, ".,:"), ".(<$/:") || strings.HasPrefix(rest, "(") && strings.HasSuffix(line, ")") || strings.HasPrefix(rest, "[")
}

// isExcerpt reports whether a line is of source code: a comment, or with its number
// or an arrow before it.
func isExcerpt(line string) bool {
	if strings.HasPrefix(line, "--> ") || strings.HasPrefix(line, "// ") {
		return true
	}
	line = strings.TrimLeft(line, "> ")
	end := 0
	for end < len(line) && isDigit(line[end]) {
		end++
	}
	return end > 0 && (strings.HasPrefix(strings.TrimLeft(line[end:], " "), "|") || strings.HasPrefix(line[end:], ":  ") || strings.HasPrefix(line[end:], ":\t"))
}

// isPointer reports whether text starts with a line that only points at a place in
// the line before it, as in
//
//	throw new Error("too many requests"
//	                                  ^
func isPointer(text string) bool {
	line, _, _ := strings.Cut(text, "\n")
	line = strings.Trim(unlogged(line), " \t\r|")
	return line != "" && strings.IndexByte(line, '^') >= 0 && strings.Trim(line, "^~-") == ""
}

// isStylish reports whether a line is a linter's, below the name of the file:
// "42:10  error  …".
func isStylish(line string) bool {
	end := 0
	for end < len(line) && (isDigit(line[end]) || line[end] == ':' && end > 0) {
		end++
	}
	place, level := line[:end], strings.TrimLeft(line[end:], " ")
	return strings.IndexByte(place, ':') > 0 && startsWithAny(level, []string{"error  ", "warning  ", "error\t", "warning\t", "suggestion  "})
}

// isCompilerCode reports whether a line is an error with a compiler's number, such
// as error[E0433] and error TS2305:.
func isCompilerCode(line string) bool {
	rest, ok := strings.CutPrefix(line, "error")
	if !ok {
		return false
	}
	if strings.HasPrefix(rest, "[E") {
		return true
	}
	for _, prefix := range [...]string{" TS", " CS", " C", " MSB", " BC", " FS", " LNK", " NU"} {
		if digits, ok := strings.CutPrefix(rest, prefix); ok && digits != "" && isDigit(digits[0]) && strings.Contains(digits[:min(len(digits), 8)], ":") {
			return true
		}
	}
	return false
}
