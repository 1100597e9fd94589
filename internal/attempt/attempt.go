// Package attempt marks a context as belonging to a spawn attempt, so that a
// retry loop further down leaves refusals to the attempt that owns them.
package attempt

import "context"

type key struct{}

// With marks ctx as inside an attempt.
func With(ctx context.Context) context.Context {
	return context.WithValue(ctx, key{}, true)
}

// Within reports whether ctx belongs to an attempt.
func Within(ctx context.Context) bool {
	return ctx.Value(key{}) != nil
}
