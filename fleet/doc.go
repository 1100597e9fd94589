// Package fleet decides whether more capacity may be launched: machines, GPU
// instances, anything that costs money by the hour. It keeps every cap, always,
// and still lets a fleet that stands still recover from it.
//
// # The model
//
// A launch is asked for with a [Request] and answered with a [Decision]. What
// decides are constraints in tiers, and every decision asks all of them and
// carries what each one said:
//
//   - integrity: the ledger can be written, the request is sound and new, the
//     inventory is fresh and plausible, the kill switch is off. Fails closed.
//   - caps: the hourly budget, the number of instances, what is needed less what
//     is on its way, and the host's own. Never relaxed.
//   - vendor: the vendor said to wait. Never relaxed.
//   - pacing: the launch rate window, and the host's own. An emergency skips
//     these, and nothing else.
//
// The largest number that every constraint allows is granted. A denial is a
// value with a [Code] of a closed set, with the time at which it could pass where
// time cures it, and it reads as one sentence.
//
// What was granted is a [Reservation] in the [Ledger] before the vendor hears of
// it. From then on it costs money and holds a slot until it is refused for
// certain, or seen to be gone; it covers need until it has overrun its deadline.
// A create call that timed out stays reserved until a listing or the deadline
// tells what became of it. No key launches twice, whatever is repeated and
// whenever the process dies.
//
// # Emergencies
//
// An emergency is established by a [Rule] over measured signals that has held for
// a while ([WorkersDead] by default), or by the word of the host's own code
// ([Request.Emergency]). What a model or an HTTP caller says about it is kept in
// the record and changes nothing: one that forgets the flag loses nothing, and one
// that forges it gains nothing. A launch past pacing is bounded by the caps, by
// the need, and for emergencies that signals established by an [Allowance]. It is
// on record, with its reason, before it happens.
//
// # Use
//
//	guard, err := fleet.New(fleet.Config{
//		Caps:   fleet.Caps{HourlyBudget: 10 * fleet.Dollar, Instances: 20},
//		Window: fleet.Window{Launches: 3, Per: 15 * time.Minute},
//		Ledger: ledger, // from fleet/sqlledger; without one it is kept in memory
//	})
//	…
//	step := func(ctx context.Context) error {
//		demand, instances, err := look(ctx)
//		…
//		guard.Signal(ctx, demand)
//		guard.Observe(ctx, fleet.Inventory{Instances: instances})
//		decision, err := guard.Launch(ctx, fleet.Request{
//			Key: newKey(), Count: missing, MaxPrice: 45 * fleet.Cent, Reason: "queue is long",
//		}, func(ctx context.Context, r fleet.Reservation) (fleet.Instance, error) {
//			return vendor.Create(ctx, string(r.ID), r.Price) // r.ID is the idempotency key and the tag
//		})
//		log.Print(decision)
//		return err
//	}
//	loop := fleet.NewLoop(guard, step, 5*time.Minute)
//	go loop.Run(ctx) // and loop.Notify() whenever something happened
//
// A model gets a [Tool], which reaches Launch alone.
//
// # Cost
//
// A decision reads the guard's small state and the launches in the window, and
// writes one reservation for each instance granted. Its cost does not grow with
// the number of live instances. It does grow with the launches in the window: with
// three of them a whole Launch takes 0.13 ms in memory and 4.4 ms in SQLite, with a
// thousand 0.6 ms and 15 ms. Signal and Status read the window as well. The
// figures are those of BenchmarkLaunch here and in fleet/sqlledger, on one core.
package fleet
