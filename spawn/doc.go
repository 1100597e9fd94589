// Package spawn runs workers against an upstream that says no for a while, and
// lets none of them die of a limit that passes.
//
// A worker is a function that returns an error: an LLM agent, a job, a machine to
// start. A [Spawner] runs it in attempts. Before anything is decided about a
// failure a classifier is asked what it means, and the death path is told of what
// no retry will mend, not of the first 429:
//
//	gate, err := limiter.New(limiter.Config{Name: "provider"})
//	if err != nil {
//		return err
//	}
//	spawner, err := spawn.New(spawn.Config{
//		Limiter: gate,
//		OnDeath: func(d spawn.Death) { log.Printf("%s is dead: %v", d.ID, d.Err) },
//	})
//	if err != nil {
//		return err
//	}
//	result, err := spawner.Run(ctx, spawn.Worker{
//		ID: "researcher",
//		Run: func(ctx context.Context, a *spawn.Attempt) error {
//			for turn := range agent.Turns() {
//				if err := a.Wait(ctx); err != nil { // before each call
//					return err
//				}
//				if err := turn.Call(ctx); err != nil {
//					return err // classified and reported
//				}
//				a.Progress() // accepted, and not to be repeated
//			}
//			return nil
//		},
//	})
//
// # How an attempt flows
//
//	  queue            the worker, on          what is it?      tell the
//	for a slot   ->    its own goroutine  ->   classify    ->   limiter    ->   give the slot back
//	    ^                                                                              |
//	    |                                                                              v
//	    +---- back off, without a slot  <---- may be retried ----------------------- decide
//	                                                                                   |
//	                          Succeeded, Dead (OnDeath), Canceled, Parked  <-----------+
//
// A refusal pauses the whole fleet at the limiter. The wait before a retry is the
// later of the ladder's step and what the limiter says, never their sum. Who comes
// back goes ahead of new work, unless it is at its last retry in a storm that others
// can probe; and waiting is not an attempt.
//
// # What a failure leads to
//
//	rate_limited     report it, hold off as a fleet, retry in place; Parked if the stated
//	                 wait is longer than MaxInlineWait
//	overloaded       the same, with a pause of 10 s where nothing is stated
//	quota_exhausted  nobody calls until the reset: waited for if it is known and within
//	                 MaxInlineWait and the deadline, else Parked; so is all that comes later.
//	                 With a Pool the run goes on with another credential at once
//	auth             Dead; with a Pool as long as it has another credential, that one
//	transient        retry in place, no pause; pays from RetryBudget
//	fatal            Dead
//	canceled         Canceled
//	unknown          Dead: the worker's own failure. An error of your own that means a
//	                 limit wraps retry.RateLimited, or is known to the Policy's Classifier
//
// A panic and a runtime.Goexit are failures of the attempt. A worker marked
// NoRepeat is retried only for a refusal from before anything was accepted.
//
// # Work that is not lost, effects that are not doubled
//
// An attempt goes on where the last one stopped: [Attempt.Save] keeps a checkpoint
// for it, and into the Result of a run that is Parked or Dead. [Attempt.Partial]
// keeps output that nobody has verified yet. What an attempt does to the world goes
// through [Once], or is told by [Attempt.Declare]:
//
//	plan, _ := a.Checkpoint().(Plan) // the zero value in the first attempt
//	...
//	a.Save(plan)
//	ticket, err := spawn.Once(ctx, a, "open ticket", func(ctx context.Context) (string, error) {
//		return tracker.Open(ctx, plan.Title)
//	})
//
//	through Once, and done       each further Once with the key returns the stored value
//	in flight elsewhere          ErrInFlight: the attempt is retried
//	failed, and had no effect    the next Once tries again
//	in doubt                     ErrNeedsDecision, never a second time: a timeout, a panic, or
//	                             the process died; Spawner.Decide says how it was
//	declared                     a failure after it ends as Dead with ErrNeedsDecision, unless a
//	                             checkpoint was saved since, or the worker is Idempotent
//
// Refused before any work began is always safe to repeat, and is repeated. For Once
// to outlive the process, Config.Effects must.
//
// A Parked or Dead worker is launched again if somebody asks for it, and by nothing
// else: [Spawner.Revive] puts it back in line with all that it had, and Worker.Resume
// lets it wait for its limit by itself, as often and as long as that says.
//
// # Who pays for a storm
//
// Every refused attempt counts, in a row: a worker alone that is always refused
// makes four attempts, at 0, 3, 9 and 21 s, and is Dead. [Attempt.Progress] starts
// the count anew. In a fleet the workers take turns as the one probe that tries
// the upstream, on a timetable of the limiter's, and a last retry is not spent on
// a storm while another worker has one to spare. So a fleet of four outlives a
// storm of five and a half minutes, with about two minutes more for each further
// worker; testdata/storms.md has the table. For longer storms, and for a worker
// alone, retry without number within a time:
//
//	retry.Policy{MaxRetries: retry.Unlimited, MaxElapsed: 2 * time.Hour}
//
// # Workers that absorb refusals
//
// A framework that retries its steps itself hides refusals from the fleet. Feed
// [Attempt.Report] where they are seen, with [FromContext] from inside a callback;
// it ends nothing. retry.Do, and a transport of this library, see that they are
// inside an attempt and leave refusals to it.
//
// # Workers inside workers
//
// A Run with the context of another worker is a child of it. It uses its parent's
// slot, or another that is free, while the parent waits for it; so nothing locks
// up when all slots are held by parents. What a child is given up for comes back
// as a *retry.Error, and its parent is not retried for it. Start is for work that
// is not waited for at once: it takes a slot of its own.
//
// # Several credentials
//
// With [Config.Pool], package pool chooses the credential that an attempt calls with,
// parks one that is used up or refused, and moves the workers to another once for
// all of them. What each attempt used ([Attempt.Spend]) is booked where it happened,
// in Result.Attempts, and summed in Result.Ledger. An attempt that goes on at once is
// no retry: it climbs no ladder, and its worker goes from Running to Running.
//
// # Several quotas
//
// Where a call counts for an account and for a model, the limiter is a gate of a
// limiter.Group, the spawner's or a worker's own ([Worker.Limiter]). The verdict's
// Scope says which of them a refusal pauses, so that workers of other models go on;
// who shares a storm are the workers of the same gate.
//
// # Testing your own code
//
// With no Clock in the configs, all of this runs on the time of a testing/synctest
// bubble: an hour's pause takes a test no time. See the example "testing". Fakes
// of clockwork, benbjohnson/clock and k8s.io/utils/clock are Clocks as they are.
package spawn
