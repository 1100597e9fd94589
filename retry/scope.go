package retry

import "strings"

// scopeWords are words in a message that tell whose limit it is, the most exact
// first. They are matched against text in lower case with "-" and "_" as spaces.
var scopeWords = []struct {
	scope Scope
	words []string
}{
	{ScopeIP, []string{"pull rate limit", "exceeded for ip", "your ip", "ip address", "ip banned", "error 1015", "code: 1015"}},
	{ScopeNamespace, []string{"namespace", "exceeded quota:"}},
	{ScopeWorkspace, []string{"workspace"}},
	{ScopeKey, []string{"api key", "trial key", "key limit", "this key", "production key", "security token", "a key with", "subscription key", "max budget", "please run /login", "x api key"}},
	{ScopeModel, []string{"this model", "for model", "selected model", "model is overloaded", "model is currently", "per model", "opus", "sonnet", "upstream.", "rate limited upstream", "long context requests", "base model", "is currently loading", "tokens per day, please"}},
	{ScopeOrg, []string{"in organization", "organization", "your team", "your org", "specified api usage limits", "your current quota, please check your plan"}},
	{ScopeProject, []string{"consumer 'project", "consumer 'projects", "for project", "project number", "this project", "your project"}},
	{ScopeAccount, []string{"account", "user id", "usage limit", "balance", "credit", "plan", "billing", "free models per", "session limit", "weekly limit", "hit your", "extra usage", "hour limit", "spend limit", "free quota", "quota exceeded", "limit exceeded"}},
}

// A scopeWord is an entry of scopeWords with its rank.
type scopeWord struct {
	rank  int
	words string
}

// scopeIndex holds scopeWords by their first word.
var scopeIndex = func() map[string][]scopeWord {
	index := make(map[string][]scopeWord)
	for rank, group := range scopeWords {
		for _, words := range group.words {
			first := wordAt(words, 0)
			index[first] = append(index[first], scopeWord{rank, words})
		}
	}
	return index
}()

// scopeIn returns the most exact scope that text speaks of. Only a quota belongs
// to an account: a throttle of one is nobody else's business, unless it says so.
func scopeIn(text string, class Class) Scope {
	best := len(scopeWords)
	for at := 0; at < len(text); {
		word := wordAt(text, at)
		for _, s := range scopeIndex[word] {
			scope := scopeWords[s.rank].scope
			if s.rank >= best || !strings.HasPrefix(text[at:], s.words) ||
				class == Auth && scope != ScopeKey || scope == ScopeAccount && class != QuotaExhausted && s.words != "user id" {
				continue
			}
			best = s.rank
		}
		at += max(1, len(word))
	}
	if best == len(scopeWords) {
		return ""
	}
	return scopeWords[best].scope
}

// scope returns whose limit it is, where the provider told. Structure is asked
// before words.
func (f *facts) scope(class Class) Scope {
	switch class {
	case RateLimited, Overloaded, QuotaExhausted, Auth:
	default:
		return ""
	}
	switch {
	case f.Header.IsPlan() && class == QuotaExhausted:
		return ScopeAccount
	case f.hasCode("openrouter_in_flight_budget"), f.hasCode("API_KEY_INVALID"), f.hasCode("invalid_api_key"):
		return ScopeKey
	case f.hasCode("1015"):
		return ScopeIP
	case f.Scopes.Namespace:
		return ScopeNamespace
	case f.Scopes.Model:
		return ScopeModel
	case f.Scopes.Project:
		return ScopeProject
	}
	text := f.spaced
	if class == RateLimited && namesAddress(text) {
		return ScopeIP
	}
	if scope := scopeIn(text, class); scope != "" {
		return scope
	}
	if class == QuotaExhausted && f.codes[stopCode] != "" {
		return ScopeAccount
	}
	return ""
}

// namesAddress reports whether text says that the limit is of an IP address, as
// GitHub's "exceeded for 203.0.113.9".
func namesAddress(text string) bool {
	_, after, found := strings.Cut(text, "exceeded for ")
	if !found {
		return false
	}
	dots := 0
	for i := range len(after) {
		switch c := after[i]; {
		case c == '.':
			dots++
		case c < '0' || c > '9':
			return dots >= 3
		}
	}
	return dots >= 3
}
