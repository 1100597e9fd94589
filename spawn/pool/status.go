package pool

import (
	"time"

	"github.com/holdoff-go/holdoff/limiter"
	"github.com/holdoff-go/holdoff/retry"
)

// A Status is a snapshot of one credential.
type Status struct {
	ID      string `json:"id"`
	Account string `json:"account,omitempty"`
	InUse   bool   `json:"in_use"` // what starts now calls with it, unless it is parked
	// Parked says that nobody calls with it, and Until until when; zero is until it
	// has a new secret.
	Parked bool      `json:"parked"`
	Until  time.Time `json:"until,omitzero"`
	// Class is why it is parked, or was, until a success: retry.QuotaExhausted or
	// retry.Auth.
	Class   retry.Class    `json:"class"`
	Limiter limiter.Status `json:"limiter"` // of its keys
}

// Status returns a snapshot of each credential, in the order of Config.Credentials.
func (r *Rota) Status() []Status {
	r.refresh()
	r.mu.Lock()
	now := r.now()
	all := make([]Status, len(r.members))
	for i, m := range r.members {
		at, _ := m.returns()
		all[i] = Status{ID: m.id, Account: m.account, InUse: i == r.current, Parked: !m.free(now), Class: m.cause}
		if all[i].Parked {
			all[i].Until = r.timeOf(at)
		}
	}
	r.mu.Unlock()
	if r.group != nil {
		for i := range all {
			all[i].Limiter = r.group.Of(keys(all[i].ID, all[i].Account)...).Status()
		}
	}
	return all
}
