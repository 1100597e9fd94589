package evidence

import "strings"

// isTest reports whether a line names a test and what became of it.
func isTest(line string) bool {
	for _, prefix := range [...]string{
		"--- FAIL", "--- PASS", "--- SKIP", "=== RUN", "=== CONT", "=== NAME", "=== PAUSE", "FAIL\t", "ok  \t", // go test
		"E   ", ">   ", "____", // pytest
		"FAIL: test", "ERROR: test", "FAIL: Test", "ERROR: Test", // unittest
		"assert ", "assertion ", "org.junit.ComparisonFailure",
		"to equal", "to contain ", "to match ", "Failed example:", ">> Issue: ", // Gomega, doctest, bandit
		"not ok ", "Failure/Error:", "rspec ./", "[xUnit.net ", "[  FAILED  ]", "[ RUN      ]", "Test Case ", "failures:",
		"Feature: ", "Scenario: ", "Scenario Outline: ", "Given the ", "Given a ", "Given an ", "Then the ", "Then a ", "Then an ", // Cucumber
	} {
		if strings.HasPrefix(line, prefix) {
			return true
		}
	}
	if strings.HasPrefix(line, "Benchmark") && strings.Contains(line, " ns/op") {
		return true
	}
	first, rest, _ := strings.Cut(line, " ")
	if strings.Contains(first, "AssertionError") || strings.Contains(first, "AssertionFailedError") || isExpectation(line) {
		return true // what a test expected of the program, not what a provider said
	}
	switch first {
	case "FAILED", "FAIL", "ERROR", "PASSED", "PASS":
		name, _, _ := strings.Cut(strings.TrimLeft(rest, " "), " ")
		return strings.Contains(name, "::") || name == "[" || IsSource(name)
	case "Expected", "Expected:", "Actual:", "Got:", "Received:":
		return rest == "" // what is below it
	case "⧗": // commitlint
		return true
	case "test": // cargo
		return strings.Contains(rest, " ... ")
	case "Failed", "Passed": // dotnet
		return isTimed(line)
	case "----", "===":
		return strings.HasSuffix(line, first)
	case "●", "✕", "✗", "✘", "✖", "×", "❯", "✓", "√", "✔": // jest, vitest, mocha, ava; spinners have them too
		return isTimed(line) || strings.Contains(rest, " › ") || strings.Contains(rest, " > ")
	}
	if strings.Contains(line, " [It] ") || strings.Contains(line, " [BeforeEach] ") { // Ginkgo
		return true
	}
	for _, words := range [...]string{"Unable to find an element", "Expected to find "} { // of a page under test
		if strings.Contains(line, words) {
			return true
		}
	}
	return strings.HasPrefix(line, "=====") || strings.HasSuffix(line, "[FAIL]") || strings.HasSuffix(line, "| FAIL |") || strings.HasSuffix(line, " ... FAILED") ||
		strings.Contains(line, " > ") && strings.HasSuffix(line, " FAILED") || strings.Contains(line, "Test #") && strings.Contains(line, "***")
}

// isExpectation reports whether a line compares what was wanted with what came.
func isExpectation(line string) bool {
	wants := hasWord(line, "want") || hasWord(line, "wanted") || hasWord(line, "expected")
	if !wants {
		return false
	}
	for _, came := range [...]string{", got ", ", have ", " but got ", " but was", "got: ", "actual: "} {
		if strings.Contains(line, came) {
			return true
		}
	}
	return hasWord(line, "got") && strings.Contains(line, ", want ")
}

// isTimed reports whether a line ends with a duration in brackets.
func isTimed(line string) bool {
	line = strings.TrimRight(line, ")]")
	if line == "" || line[len(line)-1] != 's' {
		return false
	}
	line = strings.TrimRight(line, "ms ")
	return line != "" && isDigit(line[len(line)-1]) && strings.LastIndexAny(line, "([") > 0
}

// isTally reports whether a line counts the failures that are listed below it.
func isTally(line string) bool {
	switch {
	case line == "Failures:", strings.HasPrefix(line, "There was ") && strings.HasSuffix(line, ":"), strings.HasPrefix(line, "There were ") && strings.HasSuffix(line, ":"):
		return true
	}
	count, ok := strings.CutSuffix(line, " failing")
	return ok && count != "" && isDigit(count[len(count)-1])
}

// isNumbered reports whether a line starts with a number, as in "1) title".
func isNumbered(line string) bool {
	end := 0
	for end < len(line) && isDigit(line[end]) {
		end++
	}
	return end > 0 && strings.HasPrefix(line[end:], ") ")
}

// isPatch reports whether a line starts a patch or a part of one.
func isPatch(line string) bool {
	for _, prefix := range [...]string{"diff --git ", "@@ -", "--- a/", "+++ b/", "- Expected ", "+ Received ", "- Snapshot ", "Snapshot name: ", "+ actual - expected", "index "} {
		if strings.HasPrefix(line, prefix) {
			return prefix != "index " || strings.Contains(line, "..")
		}
	}
	return false
}

// isCommit reports whether a line gives the title of a commit, or stands above its
// message.
func isCommit(line string) bool {
	for _, prefix := range [...]string{"Applying: ", "Patch failed at ", "Author: ", "Date:   ", "Subject: [PATCH"} {
		if strings.HasPrefix(line, prefix) {
			return true
		}
	}
	line = strings.TrimLeft(line, `*|/\ `) // of git log --graph
	before := ""
	for range 6 {
		word, rest, more := strings.Cut(line, " ")
		if isHash(strings.TrimRight(word, ".:]")) {
			switch strings.ToLower(before) {
			case "", "at", "apply", "revert", "pick", "cherry-pick", "commit", "fixup", "drop", "reword", "edit", "squash":
				return true
			}
			return before[0] == '[' // [main 1a2b3c4] title
		}
		if !more {
			break
		}
		before, line = word, rest
	}
	return false
}

// isHash reports whether a word is git's name of a commit: whole, or as short as
// git prints it.
func isHash(word string) bool {
	if len(word) != 40 && (len(word) < 7 || len(word) > 10) {
		return false
	}
	digits, letters := false, false
	for i := range len(word) {
		switch c := word[i]; {
		case isDigit(c):
			digits = true
		case c >= 'a' && c <= 'f':
			letters = true
		default:
			return false
		}
	}
	return digits && letters
}
