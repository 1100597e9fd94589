package spawn

import (
	"math"
	"sync"
)

// successesPerToken is how many successes give one retry back: with a tenth,
// retries add at most 10 % to a healthy upstream's load.
const successesPerToken = 10

// A retryBudget bounds the retries of a whole spawner that no pause bounds. It
// counts in successes, so that a tenth of a token is a whole number. nil is no
// bound.
type retryBudget struct {
	mu        sync.Mutex
	available int // in units of 1/successesPerToken
	size      int
}

func newRetryBudget(tokens int) *retryBudget {
	if tokens == 0 {
		return nil
	}
	n := min(tokens, math.MaxInt/successesPerToken) * successesPerToken
	return &retryBudget{available: n, size: n}
}

// take takes a token for one retry, and reports whether there was one.
func (b *retryBudget) take() bool {
	if b == nil {
		return true
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.available < successesPerToken {
		return false
	}
	b.available -= successesPerToken
	return true
}

// succeeded gives a tenth of a token back.
func (b *retryBudget) succeeded() {
	if b == nil {
		return
	}
	b.mu.Lock()
	b.available = min(b.available+1, b.size)
	b.mu.Unlock()
}
