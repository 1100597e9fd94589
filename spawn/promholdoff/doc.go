// Package promholdoff gives the state and the events of limiters and spawners to
// Prometheus. It is a module of its own, so that nobody else requires
// client_golang.
//
//	metrics, err := promholdoff.New(promholdoff.Config{})
//	…
//	prometheus.MustRegister(metrics)
//	l, err := limiter.New(limiter.Config{Name: "openai", OnEvent: metrics.OnLimiterEvent})
//	…
//	s, err := spawn.New(spawn.Config{Limiter: l, OnEvent: metrics.OnWorkerEvent("agents")})
//	…
//	metrics.WatchLimiter(l)
//	metrics.WatchSpawner("agents", s)
//
// # Metrics
//
// Of each limiter, with the label limiter, its Config.Name; gauges are read at
// the scrape:
//
//	holdoff_limiter_budget                            slots that may be in flight
//	holdoff_limiter_in_flight                         slots that are
//	holdoff_limiter_waiting                           callers blocked in Acquire and Wait
//	holdoff_limiter_paused                            1 during a pause
//	holdoff_limiter_storm                             1 from a refusal until a call is accepted
//	holdoff_limiter_blocked{reason}                   1 for the reason why new work is not let in
//	holdoff_limiter_blocked_until_timestamp_seconds   end of the pause, 0 without one
//	holdoff_limiter_pauses_total{reason}              pauses opened: rate_limited, overloaded
//	holdoff_limiter_probes_total                      callers let in to try the upstream in a storm
//
// Of each spawner, with the label spawner, the name given here:
//
//	holdoff_spawner_workers{state}          the living: queued, running, backing_off
//	holdoff_worker_attempts_total           attempts begun
//	holdoff_worker_retries_total{class}     back-offs, by the failure's class
//	holdoff_worker_ends_total{state,class}  workers that ended: succeeded, dead, canceled, parked
//
// Reasons, states and classes are the stable words of limiter.Reason,
// spawn.State and retry.Class; class is "none" for what succeeded. Limiters of
// one name, and of all names beyond Config.MaxNames, are added up, and the latest
// end of their pauses is shown. Two alerts to begin with:
//
//	increase(holdoff_worker_ends_total{state="dead"}[10m]) > 0
//	min_over_time(holdoff_limiter_storm[15m]) == 1
//
// # Cardinality
//
// No label holds a worker's ID, an error's text or the word given to Hold. The
// only open label values are the names, which are the operator's: at most
// MaxNames limiters and as many spawners have a series of their own, 16 and 19 of
// them each, and the rest is "other". A name must not be a secret.
package promholdoff
