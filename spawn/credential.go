package spawn

import (
	"context"
	"errors"

	"github.com/holdoff-go/holdoff/internal/outcall"
	"github.com/holdoff-go/holdoff/limiter"
	"github.com/holdoff-go/holdoff/retry"
	"github.com/holdoff-go/holdoff/spawn/pool"
)

// ruleMoved is that of the verdict on an attempt that was stopped because its
// credential had been parked for another.
const ruleMoved = "the attempt's credential was parked meanwhile"

func movedVerdict(l pool.Lease) retry.Verdict {
	v := retry.Verdict{Class: retry.QuotaExhausted, Rule: ruleMoved}
	if l.Class == retry.Auth {
		v.Class = retry.Auth
	}
	return v
}

// movedOn reports whether err says that another credential is to be asked for.
func movedOn(err error) bool {
	_, parked := as[*pool.ParkedError](err)
	return parked || is(err, pool.ErrMoved)
}

// Credential is the ID of the credential of the pool that the attempt calls with;
// empty without a pool.
func (a *Attempt) Credential() string { return a.leased().ID }

func (a *Attempt) leased() pool.Lease {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.lease
}

// moved notes that a call was not made because the credential of l is parked. What
// the worker's client makes of that error may not be known any more.
func (a *Attempt) moved(l pool.Lease) {
	now := a.run.spawner.clock.Now()
	a.mu.Lock()
	defer a.mu.Unlock()
	a.lease.Class = l.Class
	a.calls.failure = &failure{verdict: movedVerdict(l), at: now, begun: a.calls.begun}
}

// serves says why l cannot be the limiter of a worker that calls with the pool's
// credentials.
func (s *Spawner) serves(l Limiter) error {
	if !s.pooled || l == nil {
		return nil
	}
	return serves(s.rota, l)
}

func serves(r *pool.Rota, l Limiter) error {
	gate, ok := l.(*limiter.Gate)
	if !ok || !r.Serves(gate) {
		return errors.New("with a pool it must be a *limiter.Gate of the pool's group, without a credential's key (scope " + pool.ScopeCredential + ")")
	}
	return nil
}

// use makes l what the run calls with.
func (r *run) use(l pool.Lease) {
	r.lease = l
	r.gates = r.gatesOf(l)
}

// gatesOf returns the limiter of the run and those of l's credential, as one.
func (r *run) gatesOf(l pool.Lease) Limiter {
	if gate, ok := r.limiter.(*limiter.Gate); ok {
		return r.spawner.rota.Gate(gate, l)
	}
	return r.limiter
}

// enter takes a credential, and a slot for the next attempt with it. The error is
// one of movedOn if both have to be asked for again.
func (r *run) enter(priority limiter.Priority) (*place, *limiter.Call, error) {
	rota := r.spawner.rota
	if err := r.take(); err != nil {
		return nil, nil, err
	}
	ctx, stop := rota.Within(r.ctx, r.lease)
	defer stop()
	p, call, err := r.queueUp(ctx, priority)
	if err != nil {
		return nil, nil, err
	}
	if err := rota.Still(r.lease); err != nil {
		r.exit(p, false)
		return nil, nil, err
	}
	return p, call, nil
}

// take takes the credential that is in use, within what MaxElapsed leaves.
func (r *run) take() error {
	var l pool.Lease
	_, err := r.within(r.ctx, &r.elapsed, func(ctx context.Context) (err error) {
		l, err = r.spawner.rota.Take(ctx)
		return err
	})
	if err == nil {
		r.use(l)
	}
	return err
}

// report tells the limiter of a refusal. An overload is that of what stands above
// the credentials.
func (r *run) report(to outcall.Reporter, v retry.Verdict) {
	if gate, ok := r.limiter.(*limiter.Gate); ok && r.spawner.pooled {
		keys := gate.Keys()
		outcall.Report(to, v, keys[len(keys)-1].Scope)
		return
	}
	outcall.Report(to, v)
}

// blame parks the credential of l, if v is its failure: its quota is used up, or it
// was refused. With evict those who wait for it look for another at once, and not
// after this worker has.
func (r *run) blame(l pool.Lease, v retry.Verdict, evict bool) {
	if !r.ofCredential(v) || v.Rule == ruleMoved {
		return
	}
	r.spawner.rota.Park(l, pool.Parking{Class: v.Class, Wait: v.RetryAfter, Stated: v.Stated})
	if evict {
		r.spawner.rota.Evict()
	}
}

// ofCredential reports whether v is a failure that another credential may mend.
func (r *run) ofCredential(v retry.Verdict) bool {
	return v.Class == retry.QuotaExhausted || v.Class == retry.Auth && r.spawner.pooled
}

// exhausted decides on a failure of the credential, which is parked: the run goes on
// with another one if it may, or waits for the first to return if it may do that.
func (r *run) exhausted(a *Attempt, v retry.Verdict) decision {
	rota := r.spawner.rota
	l, err := rota.Again(a.leased())
	until := l.Until
	if until.IsZero() {
		until = r.result.RetryAt
	}
	switch parked := rota.Parked(); {
	case parked != nil && v.Class == retry.Auth && parked.Soonest.IsZero():
		d := ends(Dead, parked)
		d.class = retry.Auth
		return d
	case parked != nil:
		if d := r.awaits(parked); d.end != Queued {
			return d
		}
	case err != nil && r.hops < rota.Hops():
		r.hops++
		d := r.again(0, 0)
		d.hops = d.end == Queued
		d.priority = max(limiter.Resumed, r.worker.Priority)
		return d
	case err != nil && v.Class == retry.Auth:
		return ends(Dead, pool.ErrHops)
	case err != nil:
		d := r.park(retry.QuotaExhausted, until)
		d.reasons = append(d.reasons, pool.ErrHops)
		return d
	}
	if _, ok := r.climb(); !ok { // a quota that stays used up is not asked for ever
		return r.park(retry.QuotaExhausted, until)
	}
	return r.again(0, 0)
}

// parked says what the credentials mean for the run: the end, a wait, or nothing.
func (r *run) parked() decision {
	if parked := r.spawner.rota.Parked(); parked != nil {
		return r.awaits(parked)
	}
	return decision{}
}

// awaits decides whether the run waits for the first credential to return.
func (r *run) awaits(parked *pool.ParkedError) decision {
	wait := parked.Soonest.Sub(r.spawner.clock.Now())
	if parked.Stated && wait <= r.spawner.maxInlineWait && r.tooLong(wait) == nil {
		return decision{wait: wait}
	}
	class := retry.QuotaExhausted
	if parked.Soonest.IsZero() {
		class = retry.Auth
	}
	d := r.park(class, parked.Soonest)
	if r.spawner.pooled {
		d.reasons = append(d.reasons, parked)
	}
	return d
}

// hop moves the place of a run that goes on at once to another credential. It
// returns the place of the next attempt; nil if that has to go through the gate, or
// d is the end. Those who wait for the old one look for another after that.
func (r *run) hop(p *place, d decision) (*place, decision) {
	rota := r.spawner.rota
	if r.ofCredential(r.verdict) {
		defer rota.Evict()
	}
	if !d.hops {
		return nil, d
	}
	if err := r.take(); err != nil {
		if !movedOn(err) {
			d = r.stopped(err)
		}
		return nil, d // else as anybody who finds all of them parked
	}
	gate, ok := r.gates.(*limiter.Gate)
	if !ok {
		return nil, d
	}
	return p.exchange(gate, gate.Exchange), d
}
