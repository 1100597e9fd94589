package spawn

import (
	"math"
	"slices"
)

// Spent is what a run has used of one credential.
type Spent struct {
	Credential string // its ID; empty without a pool
	Attempts   int    // with it
	Failed     int    // of these, refusals included
	Units      int64
}

// Spend books units on the attempt, and so on its credential: tokens, micro-dollars,
// whatever the host counts. What an attempt used that was refused or failed in the
// end is booked all the same. Negative units, and what comes after the worker's Run
// has returned, are not booked.
func (a *Attempt) Spend(units int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if units > 0 && !a.over {
		a.spent = sum(a.spent, units)
	}
}

// units returns what has been booked.
func (a *Attempt) units() int64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.spent
}

// book adds a to the sums. The slice may be the host's, from before a Revive.
func (r *Result) book(a AttemptRecord) {
	r.Ledger = slices.Clone(r.Ledger)
	i := slices.IndexFunc(r.Ledger, func(s Spent) bool { return s.Credential == a.Credential })
	if i < 0 {
		i = len(r.Ledger)
		r.Ledger = append(r.Ledger, Spent{Credential: a.Credential})
	}
	s := &r.Ledger[i]
	s.Attempts++
	if a.Err != nil {
		s.Failed++
	}
	s.Units = sum(s.Units, a.Units)
}

// cause is the error of the first attempt; nil if there was none.
func (r *Result) cause() error {
	if len(r.Attempts) == 0 {
		return nil
	}
	return r.Attempts[0].Err
}

// sum does not overflow. Neither is negative.
func sum(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}
