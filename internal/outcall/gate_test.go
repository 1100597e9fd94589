package outcall_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdoff-go/holdoff/internal/outcall"
	"github.com/holdoff-go/holdoff/limiter"
	"github.com/holdoff-go/holdoff/retry"
)

func newGroup(t *testing.T) *limiter.Group {
	t.Helper()
	g, err := limiter.NewGroup(limiter.GroupConfig{})
	require.NoError(t, err)
	return g
}

// Where a refusal lands, by the keys that a gate has and the scope of the verdict.
func TestReport_LandsOnTheScopeOfTheVerdict(t *testing.T) {
	account := limiter.Key{Scope: "account", Name: "a"}
	key := limiter.Key{Scope: "key", Name: "k"}
	org := limiter.Key{Scope: "org", Name: "o"}
	model := limiter.Key{Scope: "model", Name: "m"}
	for _, c := range []struct {
		keys  []limiter.Key
		scope retry.Scope
		lands limiter.Key
	}{
		{[]limiter.Key{account, key, model}, "", model},
		{[]limiter.Key{account, key, model}, retry.ScopeModel, model},
		{[]limiter.Key{account, key, model}, retry.ScopeKey, key},
		{[]limiter.Key{account, key, model}, retry.ScopeAccount, account},
		{[]limiter.Key{account, key, model}, retry.ScopeOrg, account},
		{[]limiter.Key{account, key, model}, retry.ScopeProject, account},
		{[]limiter.Key{account, key, model}, retry.ScopeWorkspace, account},
		{[]limiter.Key{account, key, model}, retry.ScopeNamespace, account},
		{[]limiter.Key{account, key, model}, retry.ScopeIP, account},
		{[]limiter.Key{org, account, model}, retry.ScopeOrg, org},
		{[]limiter.Key{account, model}, retry.ScopeKey, account},
		{[]limiter.Key{model, account}, "", account},
		{[]limiter.Key{account, key}, retry.ScopeModel, key},
		{[]limiter.Key{model}, retry.ScopeOrg, model},
	} {
		for _, class := range []retry.Class{retry.RateLimited, retry.Overloaded, retry.Transient} {
			g := newGroup(t)
			slot, err := g.Of(c.keys...).TryAcquire()
			require.NoError(t, err)
			outcall.Report(slot, retry.Verdict{Class: class, Scope: c.scope, RetryAfter: time.Minute})
			for _, k := range c.keys {
				refused := k == c.lands && class != retry.Transient
				require.Equal(t, refused, g.Of(k).Status().Storm, "%v %q %v: %v", c.keys, c.scope, class, k)
			}
			slot.Release()
		}
	}
}

// own is a host's limiter; it cannot be compared.
type own struct{ _ []int }

func TestSameAndNone(t *testing.T) {
	l, err := limiter.New(limiter.Config{})
	require.NoError(t, err)
	other, err := limiter.New(limiter.Config{})
	require.NoError(t, err)
	g, k := newGroup(t), limiter.Key{Name: "k"}
	require.True(t, outcall.Same(l, l))
	require.True(t, outcall.Same(g.Of(k), g.Of(k)))
	for _, pair := range [][2]any{
		{l, other}, {l, nil}, {nil, nil}, {l, g.Of(k)}, {g.Of(k), l}, {g.Of(k), g.Of()},
		{g.Of(k), newGroup(t).Of(k)}, {own{}, own{}}, {l, own{}},
	} {
		require.False(t, outcall.Same(pair[0], pair[1]))
	}
	for _, none := range []any{nil, (*limiter.Limiter)(nil), (*limiter.Gate)(nil)} {
		require.True(t, outcall.None(none))
	}
	for _, some := range []any{l, g.Of(k), own{}} {
		require.False(t, outcall.None(some))
	}
}
