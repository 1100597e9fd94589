package retry

import "strings"

// phrases are what was found in a text: for each kind the phrase, or "".
type phrases [phraseKinds]string

// A phrase is an entry of phraseList, taken apart.
type phrase struct {
	kind   phraseKind
	text   string   // as listed
	parts  []string // between the stars
	whole  bool     // must end with a word
	needed bool     // counts near a verb only
	said   bool     // counts as a predicate only
}

// phraseIndex holds the phrases by their first word.
var phraseIndex = func() map[string][]phrase {
	index := make(map[string][]phrase)
	for _, group := range phraseList {
		for _, text := range group.phrases {
			p := phrase{kind: group.kind, text: strings.TrimRight(text, "!|?")}
			p.whole = strings.HasSuffix(text, "|")
			p.needed = strings.HasSuffix(text, "!")
			p.said = strings.HasSuffix(text, "?")
			p.parts = strings.Split(p.text, "*")
			first := wordAt(p.text, 0)
			index[first] = append(index[first], p)
		}
	}
	return index
}()

// maxGap is how far apart the parts of a phrase, and a verb from it, may be.
const maxGap = 48

// findPhrases looks for every phrase in a cleaned text, of which spaced and own are
// what spaceOut returns.
func findPhrases(text, spaced string, own []span) (found phrases) {
	for at := 0; at < len(spaced); {
		word := wordAt(spaced, at)
		if word == "" {
			at++
			continue
		}
		for len(own) > 0 && own[0].end <= at {
			own = own[1:]
		}
		next := at + len(word)
		starting := phraseIndex[word]
		for i := range starting {
			p := &starting[i]
			end := p.match(spaced, at)
			if end < 0 || len(own) > 0 && own[0].start <= at && end <= own[0].end || isElse(spaced, at, end, word) {
				continue
			}
			if found[p.kind] == "" {
				found[p.kind] = p.text
			}
			next = at + len(p.parts[0]) // its words are spoken for
			break
		}
		at = next
	}
	for i := range len(text) {
		if c := text[i]; c >= 0xe4 || c == 0xd0 || c == 0xd1 { // in UTF-8 Chinese, Japanese and Korean start here, and Russian
			found.signs(text)
			break
		}
	}
	return found
}

// match returns the end of the phrase if it starts at at, else -1.
func (p *phrase) match(text string, at int) int {
	if !strings.HasPrefix(text[at:], p.parts[0]) {
		return -1
	}
	end := at + len(p.parts[0])
	for _, part := range p.parts[1:] {
		gap := sentence(text[end:min(len(text), end+maxGap+len(part))])
		i := strings.Index(gap, part)
		if i < 0 {
			return -1
		}
		end += i + len(part)
	}
	switch {
	case p.whole && end < len(text) && isLetter(text[end]), p.needed && !nearVerb(text, at, end, p.kind), p.said && !isPredicate(text, at, end):
		return -1
	}
	return end
}

var (
	// verbs say that a limit has been met.
	verbs = [...]string{"reach", "exceed", "exhaust", "hit ", "hit.", "used up", "used all", "surpass", "out of ", "over the ", "over your "}
	// soon says that it has not.
	soon = [...]string{"%", "almost", "nearly", "close to", "approach", "about to", "soon"}
	// short says that the limit is one that passes by waiting a little.
	short = [...]string{"per minute", "per second", "per hour", "perminute", "/ minute", "/minute", "minutes period", "seconds period", "(tpm)", "(rpm)"}
)

// nearVerb reports whether a verb stands near text[start:end] in its sentence,
// and nothing that weakens it.
func nearVerb(text string, start, end int, kind phraseKind) bool {
	before := text[max(0, start-maxGap):start]
	if i := strings.LastIndexByte(before, '\n'); i >= 0 {
		before = before[i+1:]
	}
	if i := strings.LastIndex(before, ". "); i >= 0 {
		before = before[i+2:]
	}
	after := sentence(text[end:min(len(text), end+2*maxGap)])
	if containsAny(before, soon[:]) || containsAny(after, soon[:]) || kind == stopPhrase && (containsAny(before, short[:]) || containsAny(after, short[:])) {
		return false
	}
	return containsAny(before, verbs[:]) || containsAny(after[:min(len(after), maxGap)], verbs[:])
}

func containsAny(text string, parts []string) bool {
	for _, part := range parts {
		if strings.Contains(text, part) {
			return true
		}
	}
	return false
}

// sentence returns text up to the end of its first sentence.
func sentence(text string) string {
	if i := strings.IndexByte(text, '\n'); i >= 0 {
		text = text[:i]
	}
	if i := strings.Index(text, ". "); i >= 0 {
		text = text[:i+1]
	}
	return text
}

// isQuiet reports whether no phrase, status or structure can be in text: none of
// its words is the first of a phrase. It may be wrong about texts that are not.
func isQuiet(text string) bool {
	if len(text) > 1<<10 {
		return false
	}
	var word [16]byte
	n := 0
	for i := range len(text) {
		c := text[i]
		switch {
		case c >= 'A' && c <= 'Z':
			if i > 0 && isLetter(text[i-1]) {
				return false // CamelCase
			}
			c += 'a' - 'A'
		case isLetter(c), c >= '0' && c <= '9', c == '/' && n > 0:
		case c == '{', c == '[', c == '<', c == '=', c == '|', c < ' ', c >= 0x7f:
			return false
		default:
			if isCue(word[:min(n, len(word))]) {
				return false
			}
			n = 0
			continue
		}
		if n < len(word) {
			word[n] = c
		}
		n++
	}
	return !isCue(word[:min(n, len(word))])
}

// isCue reports whether word starts a phrase, or can be a status.
func isCue(word []byte) bool {
	switch {
	case len(word) == 0:
		return false
	case word[0] == 'e' && len(word) == 4 && word[1] <= '9':
		word = word[1:] // npm's E429
	}
	if len(word) == 3 && (word[0] == '4' || word[0] == '5') {
		return true
	}
	return phraseIndex[string(word)] != nil
}

// wordAt returns the word that starts at at: letters, digits, and "/" inside.
func wordAt(text string, at int) string {
	end := at
	for end < len(text) && (isLetter(text[end]) || text[end] >= '0' && text[end] <= '9' || text[end] == '/' && end > at) {
		end++
	}
	return text[at:end]
}

func isLetter(c byte) bool { return c >= 'a' && c <= 'z' }
