package evidence

import "strings"

// isDocument reports whether a line is of what people write about limits, rather
// than of an error: an option's help, a setting, a table, a plan, a list of changes,
// a remark on a line of code. What is indented below it belongs to it.
func isDocument(line string) bool {
	switch {
	case strings.HasPrefix(line, "npm warn "), strings.HasPrefix(line, "npm WARN "): // of packages; its errors say "npm error"
		return true
	case strings.HasPrefix(line, "On instance"), strings.HasPrefix(line, "Failed validating "): // a schema's
		return true
	}
	for _, prefix := range [...]string{"##[debug]", "::debug::", "::error file=", "::warning "} { // of GitHub's and Azure's pipelines
		if strings.HasPrefix(line, prefix) {
			return true
		}
	}
	return isOption(line) || isSetting(line) || isRow(line) || isMetric(line) || isChange(line) || isRemark(line)
}

// isOption reports whether a line explains an option, in a column of its own.
func isOption(line string) bool {
	if len(line) > 4 && line[0] == '-' && strings.HasPrefix(line[2:], ", --") {
		line = line[4:]
	}
	name, ok := strings.CutPrefix(line, "--")
	if !ok || name == "" || !isWord(name[0]|0x20) {
		return false
	}
	return strings.Contains(name, "  ") || strings.Contains(name, "\t") || strings.IndexByte(name, ' ') < 0
}

// isSetting reports whether a line sets something about limits, or opens the block
// that does: "rate_limit:", "'429':" in a description of an API, RATE_LIMIT_STATUS=429.
func isSetting(line string) bool {
	if key, ok := strings.CutSuffix(line, ":"); ok {
		key = strings.Trim(key, `"'`)
		return isName(key) && (isOfLimits(key) || len(key) == 3 && isDigit(key[0]))
	}
	trace, traced := strings.CutPrefix(line, "+ ") // bash -x
	key, _, ok := strings.Cut(strings.TrimPrefix(trace, "export "), "=")
	if traced {
		return ok && isName(key)
	}
	return ok && isName(key) && key == strings.ToUpper(key) && isOfLimits(key)
}

// isSection reports whether a line opens a part of a file about limits, or of a
// script with a remark on it, that goes on to the next empty line.
func isSection(line string) bool {
	if strings.HasPrefix(line, "In ") && strings.HasSuffix(line, ":") && strings.Contains(line, " line ") { // shellcheck
		file, _, _ := strings.Cut(line[len("In "):], " line ")
		return IsSource(file)
	}
	key, opened := strings.CutPrefix(line, "[")
	key, closed := strings.CutSuffix(key, "]")
	key = strings.ReplaceAll(key, ".", "_")
	return opened && closed && isName(key) && isOfLimits(key)
}

func isOfLimits(name string) bool {
	name = lowerASCII(name)
	for _, part := range [...]string{"limit", "quota", "throttl"} {
		if strings.Contains(name, part) {
			return true
		}
	}
	return false
}

// isName reports whether all of s is a name.
func isName(s string) bool {
	for i := range len(s) {
		if !isWord(s[i]|0x20) && s[i] != '-' && s[i] != '_' {
			return false
		}
	}
	return s != ""
}

// isRow reports whether a line is a row of a table.
func isRow(line string) bool {
	return len(line) > 2 && line[0] == '|' && line[len(line)-1] == '|' && strings.Count(line, "|") > 2
}

// isMetric reports whether a line is a sample as Prometheus has it.
func isMetric(line string) bool {
	name, rest, _ := strings.Cut(line, "{")
	labels, value, ok := strings.Cut(rest, "} ")
	return ok && isName(name) && strings.Contains(labels, `="`) && value != "" && isDigit(value[0])
}

// isChange reports whether a line tells of a change that was made or is planned.
func isChange(line string) bool {
	item := withoutMarker(line)
	if strings.HasPrefix(item, "[ ] ") || strings.HasPrefix(item, "[x] ") {
		return item != line
	}
	kind, _, ok := strings.Cut(item[:min(len(item), 40)], ": ")
	if !ok {
		return false
	}
	kind, scope, scoped := strings.Cut(strings.TrimSuffix(kind, "!"), "(")
	if scoped && (!strings.HasSuffix(scope, ")") || strings.IndexByte(scope, ' ') >= 0) {
		return false
	}
	switch kind {
	case "feat", "fix", "chore", "refactor":
		return true
	case "docs", "test", "build", "ci", "perf", "style":
		return scoped
	case "Added", "Changed", "Deprecated", "Removed", "Fixed", "Security":
		return item != line
	}
	return false
}

// isRemark reports whether a line is an item of a list about a place in a file, as
// in "- `retry.go:42`: …".
func isRemark(line string) bool {
	item := withoutMarker(line)
	word, _, ok := strings.Cut(item, " ")
	file, number, _ := strings.Cut(strings.Trim(word, "*`:[]()"), ":")
	return ok && IsSource(file) && (word[0] == '`' && strings.HasSuffix(word, ":") || item != line && number != "" && isDigit(number[0]))
}

// withoutMarker returns a line without the mark of an item of a list.
func withoutMarker(line string) string {
	end := 0
	for end < len(line) && isDigit(line[end]) {
		end++
	}
	switch {
	case end == 0 && (strings.HasPrefix(line, "- ") || strings.HasPrefix(line, "* ")):
		return line[2:]
	case end > 0 && (strings.HasPrefix(line[end:], ". ") || strings.HasPrefix(line[end:], ") ")):
		return line[end+2:]
	}
	return line
}
