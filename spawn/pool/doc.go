// Package pool holds the credentials that a fleet of workers calls with: keys,
// subscriptions, accounts, of which one is in use until it is used up.
//
// # The model
//
//	                     provider          one limiter: overloads pause it
//	                        │
//	       ┌────────────────┼───────────────┐
//	  account one                       account two      quotas, if they are named
//	   ┌────┴────┐                          │
//	   A         B                          C            a limiter each: bursts pause it
//	in use     free                      parked until 15:00
//
// All workers call with the one in use. When its quota is used up it is parked until
// its reset, and the pool moves on: once, however many workers fail on it, and those
// are run again on the other at once, without the ladder and without giving their
// place away. The others stay untouched.
//
//	group, err := limiter.NewGroup(limiter.GroupConfig{})
//	if err != nil {
//		return err
//	}
//	subscriptions, err := pool.New(pool.Config[*anthropic.Client]{
//		Group: group,
//		Credentials: []pool.Credential[*anthropic.Client]{
//			{ID: "work", Value: work},
//			{ID: "home", Value: home},
//		},
//	})
//	if err != nil {
//		return err
//	}
//	spawner, err := spawn.New(spawn.Config{
//		Limiter: group.Of(limiter.Key{Scope: "provider", Name: "anthropic"}),
//		Pool:    subscriptions,
//	})
//	if err != nil {
//		return err
//	}
//	result, err := spawner.Run(ctx, spawn.Worker{
//		ID: "researcher",
//		Run: func(ctx context.Context, a *spawn.Attempt) error {
//			c, _ := subscriptions.From(ctx)
//			usage, err := research(ctx, c.Value)
//			a.Spend(usage) // booked on c, whatever came of it
//			return err
//		},
//	})
//
// # What a failure does to a credential
//
//	rate_limited     its limiter pauses, and the run climbs the ladder on the same one
//	overloaded       nothing: what stands above the credentials pauses
//	quota_exhausted  it is parked until the reset that was stated, within 8 days, else for
//	                 2 h, with its account; the run goes on with another
//	auth             it is parked until its secret changes; the run goes on with another
//	others           nothing
//
// A parking ends by time alone, or with a new secret, and never because somebody
// switched; a host that has slept past the reset finds it over. When the time has come one caller goes first: a failure parks it again,
// and success clears it. The pool does not move back by itself: the credential in use
// stays so until it fails, or [Pool.Switch] moves on.
//
// Of those that are free the one with the most headroom is switched to. A run that
// has gone through [Config.Hops] others ends: Parked with [ErrHops] for a quota, Dead
// for refused secrets. When all are parked, runs wait for the first to return, without a
// slot, if its reset was stated and is within spawn's MaxInlineWait and the deadline;
// else they end as Parked with a [ParkedError], which says when that is.
//
// A worker of many calls hears of a parking in Attempt.Wait, by [ErrMoved].
//
// # Secrets
//
// A credential is shown by its ID. The pool hands its Value to the worker and to
// Config.Fingerprint, and to nothing and nobody else; of a fingerprint it keeps a
// SHA-256 hash. What an error of a worker or of OnSwitch says is up to the host.
package pool
