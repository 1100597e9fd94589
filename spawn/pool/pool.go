package pool

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/holdoff-go/holdoff/internal/clock"
)

// A Pool is some credentials of which one is in use, until its quota is used up or
// it is refused: then it is parked, and the workers go on with another.
//
// Hand it to a spawner as Config.Pool; a worker gets its credential by From. Switch
// moves the workers by hand, Set replaces a secret, Status says who is parked.
//
// A Pool is safe for concurrent use, by several spawners too. It must be made by
// New, runs a goroutine only during a switch, and needs no Close.
type Pool[C any] struct {
	rota        *Rota
	fingerprint func(Credential[C]) string

	mu      sync.Mutex
	members []Credential[C]
}

// New returns a pool for cfg. The error names the field that makes no sense.
func New[C any](cfg Config[C]) (*Pool[C], error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	p := &Pool[C]{
		fingerprint: cfg.Fingerprint,
		members:     slices.Clone(cfg.Credentials),
	}
	p.rota = &Rota{
		clock:    clock.Or(cfg.Clock),
		group:    cfg.Group,
		hops:     cfg.Hops,
		headroom: cfg.Headroom,
		onSwitch: cfg.OnSwitch,
		notify:   notifier{onEvent: cfg.OnEvent, logger: cfg.Logger},
		changed:  make(chan struct{}),
	}
	if p.fingerprint != nil {
		p.rota.fingerprint = func(i int) string { return p.fingerprint(p.member(i)) }
	}
	for _, c := range p.members {
		p.rota.join(c.ID, c.Account)
	}
	p.rota.refresh()
	return p, nil
}

// Rota returns the pool without the type of its credentials, as a spawner takes it.
func (p *Pool[C]) Rota() *Rota {
	if p == nil {
		return nil
	}
	return p.rota
}

// From returns the credential that the attempt of ctx is to call with, as it is
// now; false outside of an attempt that uses this pool.
func (p *Pool[C]) From(ctx context.Context) (Credential[C], bool) {
	l, ok := p.rota.lease(ctx)
	if !ok {
		return Credential[C]{}, false
	}
	return p.member(l.member), true
}

// Set gives the credential of that ID a new value: a token that was refreshed, a
// key in the place of one that was refused. What is known against the old secret is
// forgotten, unless Config.Fingerprint says that it is the same. Attempts under way
// find the new value when they ask for it. The error names an ID that is not in the
// pool.
func (p *Pool[C]) Set(id string, value C) error {
	p.mu.Lock()
	i := slices.IndexFunc(p.members, func(c Credential[C]) bool { return c.ID == id })
	if i >= 0 {
		p.members[i].Value = value
	}
	p.mu.Unlock()
	switch {
	case i < 0:
		return fmt.Errorf("pool: no credential has the ID %q", id)
	case p.fingerprint != nil:
		p.rota.refresh()
	default:
		p.rota.renew(i)
	}
	return nil
}

// Switch moves the workers to the credential of that ID, through OnSwitch: what
// starts from now on calls with it. Nobody is parked for it, and no parking ends. It
// fails, and changes nothing, when OnSwitch does, for a credential that is parked
// (a *ParkedError), an ID that is not in the pool, and when ctx ends.
func (p *Pool[C]) Switch(ctx context.Context, id string) error { return p.rota.switchTo(ctx, id) }

// Status returns a snapshot of each credential, in the order of Config.Credentials.
func (p *Pool[C]) Status() []Status { return p.rota.Status() }

func (p *Pool[C]) member(i int) Credential[C] {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.members[i]
}
