package promholdoff

import (
	"cmp"
	"fmt"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/holdoff-go/holdoff/limiter"
	"github.com/holdoff-go/holdoff/spawn"
)

// defaultMaxNames is more than a program has upstreams, and little for Prometheus.
const defaultMaxNames = 100

// A Config sets a Metrics up. Its zero value is good.
type Config struct {
	// MaxNames bounds the limiters, and the spawners, that have series of their
	// own; those that come later share the name "other". 0 is 100; negative is an
	// error.
	MaxNames int
}

// A Metrics is a prometheus.Collector for limiters and spawners. It must be made
// by New and registered once; to add labels of your own, or a prefix, register it
// with prometheus.WrapRegistererWith. It is safe for concurrent use, runs no
// goroutine and needs no Close.
type Metrics struct {
	limiterNames, spawnerNames *names

	pauses, probes          *prometheus.CounterVec
	attempts, retries, ends *prometheus.CounterVec

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
// makes no sense.
func New(cfg Config) (*Metrics, error) {
	if cfg.MaxNames < 0 {
		return nil, fmt.Errorf("promholdoff: Config.MaxNames is %d: it must be at least 1, or 0 for %d", cfg.MaxNames, defaultMaxNames)
	}
	limit := cmp.Or(cfg.MaxNames, defaultMaxNames)
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	}
	return &Metrics{
		limiterNames: newNames(limit),
		spawnerNames: newNames(limit),
		pauses:       counter("holdoff_limiter_pauses_total", "Pauses that refusals have opened.", "limiter", "reason"),
		probes:       counter("holdoff_limiter_probes_total", "Callers let in to try the upstream during a storm.", "limiter"),
		attempts:     counter("holdoff_worker_attempts_total", "Attempts that workers have begun.", "spawner"),
		retries:      counter("holdoff_worker_retries_total", "Back-offs before another attempt, by the class of the failure.", "spawner", "class"),
		ends:         counter("holdoff_worker_ends_total", "Workers that have ended, by how and by the class of the last failure.", "spawner", "state", "class"),
	}, nil
}

// WatchLimiter shows the state of l. Its pauses and probes are counted if
// OnLimiterEvent is its Config.OnEvent, or is called by it.
func (m *Metrics) WatchLimiter(l *limiter.Limiter) {
	m.declareLimiter(m.limiterNames.label(l.Status().Name)) // it comes before those that only have events
	m.WatchLimiters(func() []limiter.Status { return []limiter.Status{l.Status()} })
}

// WatchLimiters shows the limiters that statuses returns, which may come and go.
// It is called at each scrape, without a lock held.
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
