package retry

// Short numbers mean one thing in one provider's table and another in the next
// one's, and the table is not known here. They count where the answer itself says
// that it is the refusal they stand for, and where the words do.

// isNumber reports whether a code has no name.
func isNumber(code string) bool {
	for i := range len(code) {
		if code[i] < '0' || code[i] > '9' {
			return false
		}
	}
	return code != ""
}

// countsNumber reports whether a code that is a number counts by itself.
func (f *facts) countsNumber(code string, kind codeKind) bool {
	switch {
	case len(code) >= 8: // nobody else has this one
		return true
	case len(code) == 5 && (kind == lockCode || kind == capacityCode || kind == transientCode): // SQLSTATE, which comes over no HTTP
		return f.Status == 0
	}
	switch f.status {
	case 0:
		return f.Status != 0 // an envelope in an answer of status 200
	case 402, 429:
		return true
	case 503:
		return kind == capacityCode
	}
	return false
}

// sayKind reports whether the words mean what a code of that kind does, on an
// answer that is not about the request itself.
func (f *facts) sayKind(kind codeKind) bool {
	if f.ofRequest() {
		return false
	}
	switch kind {
	case stopCode:
		return f.words[stopPhrase] != "" || f.words[periodPhrase] != "" || f.words[windowPhrase] != ""
	case throttleCode:
		return f.words[throttlePhrase] != ""
	case capacityCode:
		return f.words[capacityPhrase] != ""
	}
	return false
}
