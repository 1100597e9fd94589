package limiter

// A Key names one limiter of a Group: what kind of thing shares a quota, and which
// one it is.
type Key struct {
	// Scope is the kind: "account", "key", "model". Where package spawn or
	// httplimit reports refusals it is a retry.Scope, so that a refusal lands where
	// the provider said that it belongs.
	Scope string
	// Name is which one of the kind, and of whom: most providers count a model's
	// calls for each account, and then the model's name is "acme/flash". Use a
	// label of a secret, never the secret: it is shown.
	Name string
}

// String returns "scope:name", or the one that is not empty.
func (k Key) String() string {
	if k.Scope == "" || k.Name == "" {
		return k.Scope + k.Name
	}
	return k.Scope + ":" + k.Name
}
