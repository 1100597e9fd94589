package evidence

import "strings"

// withoutOperands returns a cleaned text without the quoted phrases that name what
// an action was about, such as a file, a branch, a title: parsing "429 Too Many
// Requests" fails for other reasons. What an error quotes of a cause stays.
func withoutOperands(text string) string {
	var kept strings.Builder
	from := 0
	for at := 0; at < len(text); at++ {
		quote := text[at]
		if quote != '"' && quote != '\'' && quote != '`' || at > 0 && strings.IndexByte(" ([\n", text[at-1]) < 0 {
			continue
		}
		end := closing(text[at+1:], quote)
		if end < 0 {
			continue
		}
		inside, after := text[at+1:at+1+end], text[at+2+end:]
		if strings.IndexByte(inside, ' ') >= 0 && isOperand(text[:at], after) {
			kept.WriteString(text[from : at+1])
			from = at + 1 + end
		}
		at += end + 1
	}
	if from == 0 {
		return text
	}
	kept.WriteString(text[from:])
	return kept.String()
}

// closing returns where the quotation that text is the rest of ends, or -1.
func closing(text string, quote byte) int {
	for i := range min(len(text), 300) {
		switch {
		case text[i] == '\n':
			return -1
		case text[i] == quote && (i+1 == len(text) || !isWord(text[i+1]|0x20)):
			return i
		}
	}
	return -1
}

// operandLeads are the words before the name of a thing.
var operandLeads = wordSet(`parsing parse opening open reading read writing write removing remove renaming rename stat unlink create delete find import
	issue request pr commit branch tag file directory folder path pathspec title titled subject name named called module member database relation table column
	constraint index function method class type field key label test tests case job step task target option flag argument parameter attribute property variable value
	license near string literal symbol identifier it describe context scenario spec expected want expect section heading template command worker agent stage item pool group`)

// namers are the words before a colon and the name of a thing.
var namers = []string{"keyerror", "value", "title", "subject", "symbol", "literal", "key"}

// reportLeads are the words before what was said.
var reportLeads = wordSet(`error errors status message reason response desc description detail details said says with returned returns replied responded answered
	got received code body stderr output cause exception warning failure because as a an by metric limit`)

// denials follow the name of a thing that is wrong with itself.
var denials = [...]string{": invalid", ": no such", ": not ", ": unknown", ": unexpected", ": syntax", ": file exists", " is not ", " does not ", " did not ", " was not ", " not found", " already exists", " has no "}

// isOperand reports whether a quotation between before and after names a thing.
func isOperand(before, after string) bool {
	if strings.Contains(before[max(0, len(before)-64):], "parsing regexp: ") {
		return true
	}
	before = strings.TrimRight(before, " ([")
	if named, ok := strings.CutSuffix(before, ":"); ok && endsWithWord(lowerASCII(named[max(0, len(named)-12):]), namers) {
		return true
	}
	start := len(before)
	for start > 0 && isWord(before[start-1]|0x20) {
		start--
	}
	word := strings.ToLower(before[start:])
	if of, ok := strings.CutSuffix(before[:start], " "); ok && (word == "for" || word == "of") { // tests for "…"
		last := strings.ToLower(of[strings.LastIndexByte(of, ' ')+1:])
		return operandLeads[strings.TrimSuffix(last, "s")]
	}
	switch {
	case operandLeads[word], start > 0 && before[start-1] == '#': // issue #12 "…"
		return true
	case strings.HasPrefix(after, " should "):
		return true
	case word != "" && reportLeads[word]:
		return false
	}
	for _, denial := range denials {
		if len(after) >= len(denial) && strings.EqualFold(after[:len(denial)], denial) {
			return true
		}
	}
	return false
}

func wordSet(words string) map[string]bool {
	set := make(map[string]bool)
	for _, word := range strings.Fields(words) {
		set[word] = true
	}
	return set
}
