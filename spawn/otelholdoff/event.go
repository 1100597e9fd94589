package otelholdoff

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/holdoff-go/holdoff/limiter"
	"github.com/holdoff-go/holdoff/retry"
	"github.com/holdoff-go/holdoff/spawn"
)

// The attributes. error.type is OpenTelemetry's own, of few values by convention.
const (
	limiterName = attribute.Key("holdoff.limiter.name")
	reasonKey   = attribute.Key("holdoff.reason")
	spawnerName = attribute.Key("holdoff.spawner.name")
	workerState = attribute.Key("holdoff.worker.state")
	errorType   = attribute.Key("error.type")
)

// OnLimiterEvent counts pauses and probes. It is for limiter.Config.OnEvent.
func (m *Metrics) OnLimiterEvent(e limiter.Event) {
	switch e.Kind {
	case limiter.EventPauseOpened:
		add(m.pauses, limiterName.String(m.limiterNames.label(e.Status.Name)), reasonKey.String(pauseReason(e.Reason)))
	case limiter.EventProbe:
		add(m.probes, limiterName.String(m.limiterNames.label(e.Status.Name)))
	}
}

// OnWorkerEvent returns what counts the workers of a spawner: its
// spawn.Config.OnEvent.
func (m *Metrics) OnWorkerEvent(spawner string) func(spawn.Event) {
	name := spawnerName.String(m.spawnerNames.label(spawner))
	return func(e spawn.Event) {
		switch {
		case e.State == spawn.Running:
			add(m.attempts, name)
		case e.State == spawn.BackingOff:
			add(m.retries, name, errorType.String(word(e.Verdict.Class)))
		case e.State == spawn.Succeeded:
			add(m.ends, name, workerState.String(e.State.String()))
		case e.State.Terminal():
			add(m.ends, name, workerState.String(e.State.String()), errorType.String(endClass(e)))
		}
	}
}

// add counts without a context: what has ended it is no reason not to count.
func add(c metric.Int64Counter, attributes ...attribute.KeyValue) {
	c.Add(context.Background(), 1, metric.WithAttributes(attributes...))
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
