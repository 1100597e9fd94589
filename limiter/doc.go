// Package limiter answers one question for a fleet of workers that share one
// upstream quota: may another one start now?
//
// # The model
//
// A [Limiter] stands before the upstream and knows two things. One is a pause,
// which a refusal opens and which all workers share: stated by the provider
// (Retry-After), or assumed (60 s) when it named no time. The other is a budget
// of slots in flight (16), which the refusal that opens a pause cuts, and which
// successes and quiet time give back. It learns from three reports and from
// nothing else:
//
//	                Acquire ──► Slot ──► your worker ──► the upstream
//	                   ▲                     │
//	pause and budget ──┘◄── ReportSuccess, ReportRateLimited, ReportOverloaded
//
// While an assumed pause lasts, new work waits, and work that has been refused
// tries again one at a time: 3 s after the refusal, then 6 s, 12 s, and so on.
// When a pause ends, one caller goes first, whoever it is; its success lets two
// more go, and so on up to the budget, and its refusal opens a pause twice as
// long. So a fleet neither hammers an upstream that says no, nor comes back to it
// as a herd.
//
// # Which method
//
// Use [Limiter.Acquire] to start a worker: it waits for a slot. Release the slot
// when the worker ends, and say on it what the upstream answered. Use
// [Limiter.TryAcquire] where waiting is not possible, as in a callback or a
// scheduler's tick: it answers at once, and its [BlockedError] says why and until
// when. Use [Slot.Wait] (or [Limiter.Wait]) before each further call of a worker
// that makes many:
//
//	slot, err := l.Acquire(ctx)
//	if err != nil {
//		return err
//	}
//	defer slot.Release()
//	for _, turn := range turns {
//		call, err := slot.Wait(ctx)
//		if err != nil {
//			return err
//		}
//		resp, err := client.Do(turn.Request(ctx))
//		switch {
//		case err == nil && resp.StatusCode == http.StatusTooManyRequests:
//			call.ReportRateLimited(retryAfter(resp))
//			return errRefused // come back with AcquireAs(ctx, limiter.Resumed)
//		case err == nil:
//			call.ReportSuccess()
//		}
//	}
//
// # Wait or Acquire
//
// Acquire is for new work and takes a slot, which counts against the budget until
// its Release. Wait is for work that has a slot already: it takes nothing, and
// needs no release. Acquire waits for every pause, for the budget and for its
// turn; Wait lets running work go on during a pause that is only assumed, because
// an assumed pause is about whom to start, but not during one that the provider
// has stated, nor during a [Limiter.Hold].
//
// # Where reports come from
//
// A report on a [Slot] or [Call] carries its origin: the limiter knows whether
// that call began before or after the last refusal, so that ten refusals of one
// burst are one pause and one cut, and a success of an old call clears nothing.
// Where a slot is not at hand, the same three reports on the Limiter are hooks
// that fit any callback; see [Limiter.ReportRateLimited]. Failures that are no
// refusals (a crash, a bad request, an exhausted quota) are not reported at all.
//
// Package spawn does all of this for a worker given as a function: it acquires,
// classifies errors, reports, retries and releases.
//
// # Keys and scopes
//
// Most providers count a call more than once: for the account, for the key, and for
// the model. A [Group] has a limiter for each [Key] of such a scope, made when it is
// first needed, and a [Gate] is several of them as one:
//
//	group, err := limiter.NewGroup(limiter.GroupConfig{
//		Config: func(k limiter.Key) limiter.Config {
//			return limiter.Config{Budget: map[string]int{"account": 64, "model": 16}[k.Scope]}
//		},
//	})
//	...
//	gate := group.Of( // the narrowest last
//		limiter.Key{Scope: "account", Name: "acme"},
//		limiter.Key{Scope: "model", Name: "acme/flash"},
//	)
//	slot, err := gate.Acquire(ctx)
//
// A Gate is used like a Limiter, by package spawn and httplimit too. Its caller
// passes all limiters at once, and holds nothing while it waits, in the queue of the
// one that blocks:
//
//	          ┌── account:acme ──┐
//	Acquire ──┤                  ├── all at once ──► Slot ── ReportSuccess ──► all
//	          └ model:acme/flash ┘                    │
//	                                                  ├── ReportRateLimited ──► the narrowest
//	                                                  └── At("account").ReportRateLimited ──► the account
//
// So a refused model pauses that model, and other models of the account go on; a
// limit that the provider says is the account's, pauses all of them; another account
// is never touched. Where nothing is known, the narrowest pauses: the next model to
// meet an account's limit finds out by itself, with one call. The errors and the
// Status of a Gate name the limiter that blocks.
//
// One quota is one limiter: with one, use New. A limiter of a group costs 0.7 KiB
// (Benchmark100000Keys) and is forgotten when it has not been used for 10 min and
// remembers nothing. Calls of a group take one lock, for about 0.4 µs for two
// keys (BenchmarkGate): one group for each upstream is plenty.
//
// # Seeing what it does
//
// [Limiter.Status] is a pure snapshot that never lies: its Reason is empty exactly
// when TryAcquire would pass. Its JSON is made for dashboards. [Config.OnEvent] is
// told of every change, and [Config.Logger] gets one warning a pause.
//
// # Cost
//
// Acquire and Release take a mutex each and allocate nothing beyond the slot,
// which stays on the caller's stack where it does not escape. They cost about 1.3
// times a golang.org/x/sync/semaphore (40 and 30 ns on two cores), and 0.6 of one
// with 64 goroutines on 8 slots (BenchmarkUncontended and Benchmark64On8 in
// internal/bench). A blocked caller costs about 430 bytes beside its goroutine;
// 10,000 of them share one timer and are let through in some 10 ms
// (Benchmark10000Waiters). There is no goroutine
// unless somebody waits for a time, and nothing to close.
//
// # Testing
//
// A limiter without a Clock behaves under testing/synctest. The fake clocks of
// clockwork, benbjohnson/clock and k8s.io/utils/clock can be its [Clock] as they
// are.
package limiter
