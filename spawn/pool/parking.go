package pool

import (
	"context"
	"crypto/sha256"
	"time"

	"github.com/holdoff-go/holdoff/internal/hook"
	"github.com/holdoff-go/holdoff/retry"
)

const (
	// parkUnstated is how long a credential is left alone whose quota is used up and
	// whose reset is not known: the usage windows of subscriptions are some hours
	// long, and a probe of an exhausted one costs a call.
	parkUnstated = 2 * time.Hour
	// parkAtMost is the longest reset that is believed: that of a weekly window, and
	// a day for clocks and time zones. What is beyond it was misread.
	parkAtMost = 8 * 24 * time.Hour
	// switchAgain is how long a credential is left alone that OnSwitch failed for.
	switchAgain = time.Minute
)

// A member is one credential, and what is known against it. Rota.mu guards it, but
// for what never changes: index, id and account.
type member struct {
	index       int
	id, account string

	cause    retry.Class   // of the parking, until a success clears it; Unknown: nothing is known
	until    time.Duration // of a quota, on the rota's line, as all its times; may have passed
	stated   bool          // the provider said until
	parkings uint64        // how often it has been parked

	secret  [sha256.Size]byte // of its fingerprint
	secrets uint64            // how many it has had
	look    uint64            // the last that saw it

	failed  time.Duration // until when it is left alone because the switch to it failed
	failure error         // of that switch

	patience context.Context // see Lease
	evict    context.CancelFunc
}

// free reports whether it may be called with, as far as is known.
func (m *member) free(now time.Duration) bool {
	return m.cause != retry.Auth && now >= m.until && now >= m.failed
}

// returns is when it is free; 0 if no time brings that.
func (m *member) returns() (at time.Duration, stated bool) {
	switch {
	case m.cause == retry.Auth:
		return 0, false
	case m.failed > m.until:
		return m.failed, false
	default:
		return m.until, m.stated
	}
}

// leaseOf returns a lease of m. r.mu is held.
func (r *Rota) leaseOf(m *member) Lease {
	return Lease{
		ID: m.id, Account: m.account, Class: m.cause, Until: r.timeOf(m.until),
		member: m.index, parkings: m.parkings, secrets: m.secrets, patience: m.patience,
	}
}

// renewPatience ends that of all who wait for m now.
func (m *member) renewPatience() {
	if m.evict != nil {
		m.evict()
	}
	m.patience, m.evict = context.WithCancel(context.Background())
}

// parked returns the error if nobody is free.
func (r *Rota) parked(now time.Duration) *ParkedError {
	e := new(ParkedError)
	var soonest time.Duration
	for _, m := range r.members {
		if m.free(now) {
			return nil
		}
		at, stated := m.returns()
		if at != 0 && (soonest == 0 || at < soonest) {
			soonest, e.Stated = at, stated
		}
		if now < m.failed {
			e.cause = m.failure
		}
	}
	e.Soonest = r.timeOf(soonest)
	return e
}

// A Parking is why a credential is to be left alone, and for how long.
type Parking struct {
	Class retry.Class   // QuotaExhausted or Auth; others park nobody
	Wait  time.Duration // until the reset; counts only if Stated, and up to 8 days
	// Stated says that the provider named Wait.
	Stated bool
}

// Park leaves l's credential alone: for a quota until the reset that was stated, if
// that is within 8 days, else for 2 h, and all of its account with it; for a refused
// secret until it has another. A failure of a secret that has been replaced parks
// nobody, and one of a call from before the parking prolongs it only by what was
// stated. Again says until when that is.
func (r *Rota) Park(l Lease, p Parking) {
	r.refresh()
	r.mu.Lock()
	m := r.members[l.member]
	now := r.now()
	var until time.Duration
	if p.Stated && p.Wait > parkAtMost {
		p.Stated = false
	}
	if !p.Stated {
		p.Wait = parkUnstated
	}
	switch {
	case l.secrets != m.secrets:
		// Somebody has replaced the secret since.
	case p.Class == retry.Auth:
		if m.cause != retry.Auth {
			m.cause, m.until, m.stated = retry.Auth, 0, false
			m.parkings++
			r.note(Event{Kind: EventParked, Credential: m.id, Class: retry.Auth})
		}
	case p.Class == retry.QuotaExhausted:
		old := l.parkings != m.parkings && !m.free(now)
		if p.Wait > 0 && (p.Stated || !old) {
			r.leaveAlone(m, now+p.Wait, p.Stated, now)
		}
		until = m.until
	}
	waits := r.group != nil && until > now
	r.unlock()
	if waits {
		// The limiter of what used the quota up: it lets one probe go when the time
		// has come, and shows the pause.
		r.group.Of(keys(l.ID, l.Account)[:1]...).ReportRateLimited(until - now)
	}
}

// leaveAlone parks m, and who is of the same account, until then.
func (r *Rota) leaveAlone(m *member, until time.Duration, stated bool, now time.Duration) {
	for _, other := range r.members {
		if other != m && (m.account == "" || other.account != m.account) {
			continue
		}
		if other.cause == retry.Auth {
			continue // no time brings it back
		}
		if until > other.until {
			if now < other.until {
				r.note(Event{Kind: EventProlonged, Credential: other.id, Class: retry.QuotaExhausted, Until: r.timeOf(until), Stated: stated})
			} else {
				r.note(Event{Kind: EventParked, Credential: other.id, Class: retry.QuotaExhausted, Until: r.timeOf(until), Stated: stated})
			}
			other.until, other.stated = until, stated
		}
		other.cause = retry.QuotaExhausted
		other.parkings++
	}
}

// Accepted says that the upstream accepted a call with l: what is known against its
// credential is forgotten. A call from before that says nothing.
func (r *Rota) Accepted(l Lease) {
	r.mu.Lock()
	m := r.members[l.member]
	if m.cause == retry.Unknown || l.parkings != m.parkings || l.secrets != m.secrets {
		r.mu.Unlock()
		return
	}
	early := r.clear(m, "accepted")
	r.unlock()
	r.reopen(early, l, "a call was accepted")
}

// clear forgets what is known against m, and reports whether that is before its time.
func (r *Rota) clear(m *member, why string) (early bool) {
	early = !m.free(r.now())
	if m.cause != retry.Unknown {
		r.note(Event{Kind: EventReturned, Credential: m.id, Class: m.cause, Reason: why})
	}
	m.cause, m.until, m.stated = retry.Unknown, 0, false
	m.failed, m.failure = 0, nil
	if early {
		r.change()
	}
	return early
}

// reopen opens the limiter that Park has shut.
func (r *Rota) reopen(early bool, l Lease, why string) {
	if early && r.group != nil {
		r.group.Of(keys(l.ID, l.Account)[:1]...).Resume(why)
	}
}

// refresh looks for new secrets.
func (r *Rota) refresh() {
	if r.fingerprint == nil {
		return
	}
	r.mu.Lock()
	r.looks++
	look := r.looks
	r.mu.Unlock()
	for i := range r.members {
		hook.CallDiscreetly(r.notify.logger, "pool: Config.Fingerprint", func() { r.see(i, look, sha256.Sum256([]byte(r.fingerprint(i)))) })
	}
}

// see notes the fingerprint of member i. What a look that began earlier saw may be
// older.
func (r *Rota) see(i int, look uint64, secret [sha256.Size]byte) {
	r.mu.Lock()
	m := r.members[i]
	if look < m.look || m.secret == secret {
		m.look = max(look, m.look)
		r.mu.Unlock()
		return
	}
	m.look = look
	m.secret = secret
	if m.secrets++; m.secrets == 1 {
		r.mu.Unlock() // the first
		return
	}
	r.replaced(m)
}

// renew notes that member i has a new secret.
func (r *Rota) renew(i int) {
	r.mu.Lock()
	m := r.members[i]
	m.secrets++
	r.replaced(m)
}

// replaced unlocks.
func (r *Rota) replaced(m *member) {
	l := r.leaseOf(m)
	early := r.clear(m, "new secret")
	r.unlock()
	r.reopen(early, l, "new secret")
}
