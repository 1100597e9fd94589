// Package otelholdoff gives the state and the events of limiters and spawners to
// OpenTelemetry as metrics. It is a module of its own, so that nobody else
// requires the OpenTelemetry API; the SDK is for its tests alone.
//
//	metrics, err := otelholdoff.New(otelholdoff.Config{})
//	…
//	l, err := limiter.New(limiter.Config{Name: "openai", OnEvent: metrics.OnLimiterEvent})
//	…
//	s, err := spawn.New(spawn.Config{Limiter: l, OnEvent: metrics.OnWorkerEvent("agents")})
//	…
//	metrics.WatchLimiter(l)
//	metrics.WatchSpawner("agents", s)
//
// # Metrics
//
// Of each limiter, with the attribute holdoff.limiter.name, its Config.Name:
//
//	holdoff.limiter.budget         updowncounter  {slot}     slots that may be in flight
//	holdoff.limiter.in_flight      updowncounter  {slot}     slots that are
//	holdoff.limiter.waiting        updowncounter  {caller}   callers blocked in Acquire and Wait
//	holdoff.limiter.paused         updowncounter  {limiter}  1 during a pause
//	holdoff.limiter.storm          updowncounter  {limiter}  1 from a refusal until a call is accepted
//	holdoff.limiter.blocked        updowncounter  {limiter}  1 for the holdoff.reason why new work is not let in
//	holdoff.limiter.blocked_until  gauge          s          end of the pause as Unix time, 0 without one
//	holdoff.limiter.pauses         counter        {pause}    pauses opened, by holdoff.reason
//	holdoff.limiter.probes         counter        {probe}    callers let in to try the upstream in a storm
//
// Of each spawner, with the attribute holdoff.spawner.name, the name given here:
//
//	holdoff.spawner.workers  updowncounter  {worker}   the living, by holdoff.worker.state
//	holdoff.worker.attempts  counter        {attempt}  attempts begun
//	holdoff.worker.retries   counter        {retry}    back-offs, by error.type
//	holdoff.worker.ends      counter        {worker}   workers that ended, by holdoff.worker.state and error.type
//
// Reasons, states and error types are the stable words of limiter.Reason,
// spawn.State and retry.Class; what succeeded has no error.type. Limiters of one
// name, and of all names beyond Config.MaxNames, are added up, and the latest end
// of their pauses is shown.
//
// # Cardinality
//
// No attribute holds a worker's ID, an error's text or the word given to Hold.
// The only open values are the names, which are the operator's: at most MaxNames
// limiters and as many spawners have streams of their own, and the rest is
// "other". A name must not be a secret.
package otelholdoff
