package otelholdoff

import (
	"cmp"
	"errors"
	"fmt"
	"sync"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/metric"

	"github.com/holdoff-go/holdoff/limiter"
	"github.com/holdoff-go/holdoff/spawn"
)

// scope names the instrumentation.
const scope = "github.com/holdoff-go/holdoff/spawn/otelholdoff"

// defaultMaxNames is more than a program has upstreams, and little for a backend.
const defaultMaxNames = 100

// A Config sets a Metrics up. Its zero value is good.
type Config struct {
	// MeterProvider is where the instruments are made. nil is the global one.
	MeterProvider metric.MeterProvider
	// MaxNames bounds the limiters, and the spawners, that have streams of their
	// own; those that come later share the name "other". 0 is 100; negative is an
	// error.
	MaxNames int
}

// A Metrics tells OpenTelemetry of limiters and spawners. It must be made by New.
// It is safe for concurrent use and runs no goroutine; Unregister ends it, for who
// needs an end before that of the program.
type Metrics struct {
	limiterNames, spawnerNames *names

	pauses, probes          metric.Int64Counter
	attempts, retries, ends metric.Int64Counter
	registration            metric.Registration

	mu       sync.Mutex
	limiters []func() []limiter.Status
	spawners []watched
}

// A watched spawner is one with its name.
type watched struct {
	name    string
	spawner *spawn.Spawner
}

// New returns a Metrics that watches nothing yet. The error names the field that
// makes no sense, or is the meter's.
func New(cfg Config) (*Metrics, error) {
	if cfg.MaxNames < 0 {
		return nil, fmt.Errorf("otelholdoff: Config.MaxNames is %d: it must be at least 1, or 0 for %d", cfg.MaxNames, defaultMaxNames)
	}
	if cfg.MeterProvider == nil {
		cfg.MeterProvider = otel.GetMeterProvider()
	}
	limit := cmp.Or(cfg.MaxNames, defaultMaxNames)
	m := &Metrics{limiterNames: newNames(limit), spawnerNames: newNames(limit)}
	meter := cfg.MeterProvider.Meter(scope)
	if err := errors.Join(m.makeCounters(meter), m.observe(meter)); err != nil {
		return nil, fmt.Errorf("otelholdoff: the meter refused an instrument: %w", err)
	}
	return m, nil
}

func (m *Metrics) makeCounters(meter metric.Meter) error {
	var errs []error
	counter := func(name, unit, description string) metric.Int64Counter {
		c, err := meter.Int64Counter(name, metric.WithUnit(unit), metric.WithDescription(description))
		errs = append(errs, err)
		return c
	}
	m.pauses = counter("holdoff.limiter.pauses", "{pause}", "Pauses that refusals have opened.")
	m.probes = counter("holdoff.limiter.probes", "{probe}", "Callers let in to try the upstream during a storm.")
	m.attempts = counter("holdoff.worker.attempts", "{attempt}", "Attempts that workers have begun.")
	m.retries = counter("holdoff.worker.retries", "{retry}", "Back-offs before another attempt, by the class of the failure.")
	m.ends = counter("holdoff.worker.ends", "{worker}", "Workers that have ended, by how and by the class of the last failure.")
	return errors.Join(errs...)
}

// Unregister ends the observation of what is watched.
func (m *Metrics) Unregister() error { return m.registration.Unregister() }

// WatchLimiter shows the state of l. Its pauses and probes are counted if
// OnLimiterEvent is its Config.OnEvent, or is called by it.
func (m *Metrics) WatchLimiter(l *limiter.Limiter) {
	m.limiterNames.label(l.Status().Name) // it comes before those that only have events
	m.WatchLimiters(func() []limiter.Status { return []limiter.Status{l.Status()} })
}

// WatchLimiters shows the limiters that statuses returns, which may come and go.
// It is called at each collection, without a lock held.
func (m *Metrics) WatchLimiters(statuses func() []limiter.Status) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.limiters = append(m.limiters, statuses)
}

// WatchSpawner shows how many workers of s are in which state. They are counted
// over their lives if OnWorkerEvent of the same name is its Config.OnEvent.
func (m *Metrics) WatchSpawner(name string, s *spawn.Spawner) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.spawners = append(m.spawners, watched{name, s})
}
