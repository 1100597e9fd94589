package retry

import "strings"

// "Overloaded" and "throttled" are also what programs call their functions and
// packages. Such words count where they are said of a service, or of a request, or
// where they are all that is said.

var (
	// services and requests are what may be overloaded or throttled.
	services = [...]string{"model", "server", "service", "api", "provider", "engine", "system", "backend", "cluster", "upstream", "endpoint", "gateway", "host", "request", "call", "operation", "traffic", "account", "client"}
	// programs are what may be called so.
	programs = [...]string{"function", "method", "operator", "constructor", "package", "template", "class ", "signature", "module", "symbol", "name '", "locate", "distribution", "when ", "import"}
)

// copulas stand between what is said and what it is said of.
var copulas = wordSet(`is are was were be been being am get gets got currently temporarily still now appears seems heavily repeated error errors status returned`)

// goesOn are the words by which a sentence goes on behind what was said.
var goesOn = wordSet(`with right at please try error errors and due for from to by now retry but on while or as until because so again`)

// isPredicate reports whether text[start:end], which is in lower case, is said of a
// service, or alone.
func isPredicate(text string, start, end int) bool {
	after := text[end:]
	if isDenied(after) {
		return false
	}
	if after != "" && strings.IndexByte("\n.,:;!)]}'|", after[0]) < 0 && after[0] < 0x80 {
		rest, spaced := strings.CutPrefix(after, " ")
		if !spaced || rest != "" && rest[0] < 0x80 && strings.IndexByte("([{-|·", rest[0]) < 0 && !goesOn[wordAt(rest, 0)] {
			return false
		}
	}
	before := text[max(0, start-maxGap):start]
	clause := before[strings.LastIndexAny(before, "\n:;]")+1:]
	if i := strings.LastIndex(clause, ". "); i >= 0 {
		clause = clause[i+2:]
	}
	if containsAny(clause, programs[:]) {
		return false
	}
	dash := strings.HasSuffix(clause, "  ") // what spaceOut leaves of one
	clause = strings.Trim(clause, " ")
	if dash || clause == "" || strings.IndexByte(clause, ' ') < 0 || containsAny(clause, services[:]) {
		return true
	}
	last := clause[len(clause)-1]
	if last >= 0x80 || strings.IndexByte(",([{]-|>=!'", last) >= 0 {
		return true
	}
	word := lastWord(clause)
	return copulas[word] || len(word) == 3 && (word[0] == '4' || word[0] == '5')
}

// kinds are words that stand for something else with another before them: of rates,
// capacities and credit there are many.
var kinds = map[string]map[string]bool{
	"rate":     wordSet(`heart pulse respiratory breathing frame bit baud sample sampling refresh tax interest exchange currency growth infusion discount conversion churn bounce mortgage clock`),
	"capacity": wordSet(`room hall seat seating venue warehouse tank vehicle truck trailer container passenger battery buffer disk memory`),
	"credit":   wordSet(`customer buyer debtor`),
}

// isElse reports whether text[start:end], a phrase whose first word is given, says
// nothing of an error's cause: it is of something else, or names what is missing,
// or only says when a limit would be met, as options and documents do.
func isElse(text string, start, end int, first string) bool {
	if isMissing(text[end:]) {
		return true
	}
	before := strings.TrimRight(text[:start], " ")
	if strings.HasSuffix(before, "command not found:") {
		return true
	}
	word := lastWord(before)
	if kinds[first][word] {
		return true
	}
	if articles[word] {
		word = lastWord(strings.TrimRight(before[:len(before)-len(word)], " "))
	}
	return conditions[word] && !containsAny(sentence(text[end:min(len(text), end+len(" have been"))]), past[:])
}

var (
	articles   = wordSet(`the a an your their its any`)
	conditions = wordSet(`when whenever if once until unless`)
	past       = [...]string{" was", " were", " had", " has", " have"}
)
