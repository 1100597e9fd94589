package pool

import (
	"context"
	"sync"
	"time"

	"github.com/holdoff-go/holdoff/internal/clock"
	"github.com/holdoff-go/holdoff/limiter"
	"github.com/holdoff-go/holdoff/retry"
)

// A Rota is a Pool without the type of its credentials: whose turn it is, and who is
// parked. It is what a spawner works with, and of use to a host only that runs
// workers by itself:
//
//	lease, err := rota.Take(ctx)
//	slot, err := rota.Gate(provider, lease).Acquire(ctx)
//	err = call(rota.With(ctx, lease))
//	rota.Accepted(lease) // or rota.Park(lease, …)
//
// It is safe for concurrent use. Get it from Pool.Rota.
type Rota struct {
	clock       Clock          // for times of day
	group       *limiter.Group // nil: of Alone
	hops        int
	headroom    func(id string) float64
	fingerprint func(member int) string
	onSwitch    func(ctx context.Context, from, to string) error
	notify      notifier

	mu      sync.Mutex
	line    *clock.Line
	jumps   int // of line, when it was looked at last
	members []*member
	current int           // the member in use
	looks   uint64        // at the fingerprints
	flight  *flight       // the switch under way; nil: none
	changed chan struct{} // closed when somebody has returned before his time, or the clock has jumped
	outbox  outbox
}

// Alone returns a rota of one credential that nobody knows: it has no limiter of
// its own, and no switch.
func Alone(c Clock) *Rota {
	r := &Rota{clock: c, changed: make(chan struct{})}
	r.join("", "")
	return r
}

// now is the time on the rota's line: a host that has slept past a reset finds it
// over, and a wall clock that is set back prolongs none. Who sleeps until one looks
// again after a jump. r.mu is held.
func (r *Rota) now() time.Duration {
	if r.line == nil { // a fake clock may be set to its year until then
		r.line = clock.NewLine(r.clock)
	}
	now := r.line.Now()
	if jumps := r.line.Jumps(); jumps != r.jumps {
		r.jumps = jumps
		r.change()
	}
	return now
}

// timeOf is the time of day at which the line reads t; zero for 0. r.mu is held.
func (r *Rota) timeOf(t time.Duration) time.Time {
	if t == 0 {
		return time.Time{}
	}
	return r.line.At(t)
}

// change wakes those who wait for Changed. r.mu is held.
func (r *Rota) change() {
	close(r.changed)
	r.changed = make(chan struct{})
}

func (r *Rota) join(id, account string) {
	m := &member{index: len(r.members), id: id, account: account}
	m.renewPatience()
	r.members = append(r.members, m)
}

// A Lease is leave to call with one credential. It says when it was taken, so that
// what comes of the call can be told from old news. It holds nothing.
type Lease struct {
	ID       string // of the credential
	Account  string
	Class    retry.Class // why the credential was parked last; Unknown: nothing is known
	Until    time.Time   // and until when; zero: nothing is known, or until it has a new secret
	member   int
	parkings uint64          // the member's, when it was taken
	secrets  uint64          // and which secret it was
	patience context.Context // ends when who waits for this credential shall look again
}

// Take returns the credential in use. If that is parked it switches to another, or
// waits for the switch under way. If all are parked it fails at once, with a
// *ParkedError; else with the context's cause when that ends first.
func (r *Rota) Take(ctx context.Context) (Lease, error) {
	for {
		r.refresh()
		r.mu.Lock()
		if r.flight == nil {
			now := r.now()
			if m := r.members[r.current]; m.free(now) {
				defer r.mu.Unlock()
				return r.leaseOf(m), nil
			}
			if err := r.parked(now); err != nil {
				r.mu.Unlock()
				return Lease{}, err
			}
			r.takeOff(ctx, nil)
		}
		if err := r.landed(ctx); err != nil {
			return Lease{}, err
		}
	}
}

// Again returns l as of now, for a further call of an attempt; also with ErrMoved,
// which says that its credential is parked.
func (r *Rota) Again(l Lease) (Lease, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	m := r.members[l.member]
	if !m.free(r.now()) {
		return r.leaseOf(m), ErrMoved
	}
	return r.leaseOf(m), nil
}

// Still returns ErrMoved unless l's credential is the one in use, for a call that
// starts after a wait for its limiter.
func (r *Rota) Still(l Lease) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if l.member != r.current || !r.members[l.member].free(r.now()) {
		return ErrMoved
	}
	return nil
}

// Parked returns until when no credential at all may be called with, and nil if one
// may.
func (r *Rota) Parked() *ParkedError {
	r.refresh()
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.parked(r.now())
}

// Changed returns a channel that is closed when a credential returns before its
// time: accepted, or with a new secret. When the clock has jumped it is closed, too.
func (r *Rota) Changed() <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.changed
}

// Within returns ctx for who waits at the gate of l: it ends with the cause ErrMoved
// when Evict is called after l's credential was parked, and when a host switches.
// The caller must call stop.
func (r *Rota) Within(ctx context.Context, l Lease) (within context.Context, stop func()) {
	if r.group == nil {
		return ctx, func() {}
	}
	within, cancel := context.WithCancelCause(ctx)
	unhook := context.AfterFunc(l.patience, func() { cancel(ErrMoved) })
	return within, func() { unhook(); cancel(nil) }
}

// Evict has all look again who wait at the gates of credentials that are parked. It
// is apart from Park so that who was refused can take his place at another first.
func (r *Rota) Evict() {
	if r.group == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.now()
	for _, m := range r.members {
		if !m.free(now) {
			m.renewPatience()
		}
	}
}

// Gate returns the limiters of above, and of l's account and credential, as one. Of
// a pool that is Alone it is above itself.
func (r *Rota) Gate(above *limiter.Gate, l Lease) *limiter.Gate {
	if r.group == nil {
		return above
	}
	return r.group.Of(append(above.Keys(), keys(l.ID, l.Account)...)...)
}

// Serves reports whether gate is of the rota's group, and leaves the keys of the
// credentials to it.
func (r *Rota) Serves(gate *limiter.Gate) bool {
	if gate == nil || !gate.Equal(r.group.Of(gate.Keys()...)) {
		return false
	}
	for _, k := range gate.Keys() {
		if k.Scope == ScopeCredential {
			return false
		}
	}
	return true
}

// keys are those of a credential, the narrowest last.
func keys(id, account string) []limiter.Key {
	own := limiter.Key{Scope: ScopeCredential, Name: id}
	if account == "" {
		return []limiter.Key{own}
	}
	return []limiter.Key{{Scope: ScopeAccount, Name: account}, own}
}

// Hops is how often a run may go on with another credential at once.
func (r *Rota) Hops() int {
	others := len(r.members) - 1
	switch r.hops {
	case WalkPool:
		return others
	case 0:
		return min(1, others)
	default:
		return min(r.hops, others)
	}
}

type leaseKey struct{ rota *Rota }

// With returns ctx as inside of an attempt with l. Pool.From finds it.
func (r *Rota) With(ctx context.Context, l Lease) context.Context {
	return context.WithValue(ctx, leaseKey{r}, l)
}

func (r *Rota) lease(ctx context.Context) (Lease, bool) {
	l, ok := ctx.Value(leaseKey{r}).(Lease)
	return l, ok
}
