package promholdoff

import (
	"github.com/holdoff-go/holdoff/limiter"
	"github.com/holdoff-go/holdoff/retry"
	"github.com/holdoff-go/holdoff/spawn"
)

// none is the class of what did not fail.
const none = "none"

// OnLimiterEvent counts pauses and probes. It is for limiter.Config.OnEvent, and
// does not wait for anything.
func (m *Metrics) OnLimiterEvent(e limiter.Event) {
	switch e.Kind {
	case limiter.EventPauseOpened:
		m.pauses.WithLabelValues(m.limiterNames.label(e.Status.Name), pauseReason(e.Reason)).Inc()
	case limiter.EventProbe:
		m.probes.WithLabelValues(m.limiterNames.label(e.Status.Name)).Inc()
	}
}

// OnWorkerEvent returns what counts the workers of a spawner: its
// spawn.Config.OnEvent, which does not wait for anything.
func (m *Metrics) OnWorkerEvent(spawner string) func(spawn.Event) {
	name := m.spawnerNames.label(spawner)
	m.declareSpawner(name)
	return func(e spawn.Event) {
		switch {
		case e.State == spawn.Running:
			m.attempts.WithLabelValues(name).Inc()
		case e.State == spawn.BackingOff:
			m.retries.WithLabelValues(name, word(e.Verdict.Class)).Inc()
		case e.State.Terminal():
			m.ends.WithLabelValues(name, e.State.String(), endClass(e)).Inc()
		}
	}
}

// pauseReason bounds the reason, which for other events is an operator's word.
func pauseReason(reason string) string {
	switch limiter.Reason(reason) {
	case limiter.ReasonRateLimited, limiter.ReasonOverloaded:
		return reason
	default:
		return other
	}
}

// endClass is the class of the run that ended, as spawn.Spawner.Run returns it.
func endClass(e spawn.Event) string {
	switch class := e.Verdict.Class; {
	case e.State == spawn.Succeeded:
		return none
	case e.State == spawn.Canceled:
		return word(retry.Canceled)
	case e.State == spawn.Parked && !class.Refusal():
		return word(retry.QuotaExhausted)
	default:
		return word(class)
	}
}

// word is the class's stable name. A classifier of the host may have made the
// class up.
func word(c retry.Class) string {
	text, err := c.MarshalText()
	if err != nil {
		return other
	}
	return string(text)
}

// declareLimiter makes the counters of a limiter known at zero, so that the first
// pause is seen as an increase.
func (m *Metrics) declareLimiter(name string) {
	for _, reason := range []limiter.Reason{limiter.ReasonRateLimited, limiter.ReasonOverloaded} {
		m.pauses.WithLabelValues(name, string(reason))
	}
	m.probes.WithLabelValues(name)
}

// declareSpawner does so for a spawner, with what a worker is retried for and
// ends by.
func (m *Metrics) declareSpawner(name string) {
	m.attempts.WithLabelValues(name)
	for _, c := range []retry.Class{retry.RateLimited, retry.Overloaded, retry.QuotaExhausted, retry.Transient} {
		m.retries.WithLabelValues(name, word(c))
	}
	m.ends.WithLabelValues(name, spawn.Succeeded.String(), none)
	m.ends.WithLabelValues(name, spawn.Canceled.String(), word(retry.Canceled))
	for _, c := range []retry.Class{retry.RateLimited, retry.Overloaded, retry.QuotaExhausted} {
		m.ends.WithLabelValues(name, spawn.Parked.String(), word(c))
	}
	for _, c := range []retry.Class{retry.Unknown, retry.RateLimited, retry.Overloaded, retry.Auth, retry.Transient, retry.Fatal} {
		m.ends.WithLabelValues(name, spawn.Dead.String(), word(c))
	}
}
