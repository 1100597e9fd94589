package outcall

import (
	"reflect"

	"github.com/holdoff-go/holdoff/limiter"
	"github.com/holdoff-go/holdoff/retry"
)

// None reports whether l, which is a limiter to a room that takes several kinds,
// is none.
func None(l any) bool {
	switch l := l.(type) {
	case nil:
		return true
	case *limiter.Limiter:
		return l == nil
	case *limiter.Gate:
		return l == nil
	default:
		return false
	}
}

// Same reports whether a and b are one limiter, or gates of the same keys.
func Same(a, b any) bool {
	if gate, ok := a.(*limiter.Gate); ok {
		other, ok := b.(*limiter.Gate)
		return ok && gate.Equal(other)
	}
	// A host's own kind need not be comparable.
	return a != nil && b != nil && reflect.TypeOf(a).Comparable() && reflect.TypeOf(b).Comparable() && a == b
}

// A Reporter is a limiter.Slot or a limiter.Call.
type Reporter interface {
	At(scopes ...string) *limiter.Call
	ReportSuccess()
}

// Report tells the limiter that v says it belongs to of a refusal; of nothing else.
// overload are the scopes that an overload belongs to where v names none that to
// has: it is nobody's credential that the provider is short for.
func Report(to Reporter, v retry.Verdict, overload ...string) {
	switch v.Class {
	case retry.RateLimited:
		to.At(scopes(v.Scope)...).ReportRateLimited(v.RetryAfter)
	case retry.Overloaded:
		to.At(append(scopes(v.Scope), overload...)...).ReportOverloaded(v.RetryAfter)
	}
}

// scopes returns the limiters that a refusal of scope may belong to, the best first.
// All but a model's limits are shared by what an account does: where a gate has no
// key of the very scope, the account is the nearest that is not too narrow. With no
// scope it is the narrowest limiter: to pause one model too few costs a call, and
// one account too many a fleet.
func scopes(scope retry.Scope) []string {
	switch scope {
	case "":
		return nil
	case retry.ScopeModel:
		return []string{string(scope)}
	default:
		return []string{string(scope), string(retry.ScopeAccount)}
	}
}
