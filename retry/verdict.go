package retry

import (
	"strings"
	"time"
)

// A Scope says what a refusal or a quota belongs to, where that is known. It is
// a hint about who else is affected; the zero value means not known.
type Scope string

// The scopes that providers name.
const (
	ScopeOrg       Scope = "org"
	ScopeKey       Scope = "key"
	ScopeModel     Scope = "model"
	ScopeIP        Scope = "ip"
	ScopeAccount   Scope = "account"
	ScopeProject   Scope = "project"
	ScopeNamespace Scope = "namespace"
	ScopeWorkspace Scope = "workspace"
)

// A Verdict is what a [Classifier] makes of an error. The zero Verdict is the
// harmless one: nothing is known, nothing is stated.
type Verdict struct {
	Class Class
	// RetryAfter is the wait the provider stated, counted from the moment of
	// classification. It is never negative. Zero means that nothing was stated,
	// or, with Stated set, that the stated time has already passed.
	RetryAfter time.Duration
	// Stated says that RetryAfter comes from the provider. A wait nobody stated
	// is for the caller to choose. Of a classifier of your own a RetryAfter above
	// zero is taken as stated; set Stated only for a time that has passed already.
	Stated bool
	// Scope says whose limit it is, where the provider told.
	Scope Scope
	// Rule names the rule that decided and the evidence it saw, in one line.
	Rule string
}

// String returns the verdict as one line for a log, such as
//
//	rate_limited, retry after 20s, scope org: code rate_limit_exceeded (status 429)
func (v Verdict) String() string {
	var b strings.Builder
	b.WriteString(v.Class.String())
	if v.Stated {
		b.WriteString(", retry after ")
		b.WriteString(v.RetryAfter.String())
	}
	if v.Scope != "" {
		b.WriteString(", scope ")
		b.WriteString(string(v.Scope))
	}
	if v.Rule != "" {
		b.WriteString(": ")
		b.WriteString(v.Rule)
	}
	return b.String()
}
