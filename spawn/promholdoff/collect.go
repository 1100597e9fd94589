package promholdoff

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/holdoff-go/holdoff/limiter"
	"github.com/holdoff-go/holdoff/spawn"
)

var _ prometheus.Collector = (*Metrics)(nil)

// The gauges, which are read at the scrape.
var (
	budget       = limiterDesc("budget", "Slots that may be in flight now.")
	inFlight     = limiterDesc("in_flight", "Slots that are in flight.")
	waiting      = limiterDesc("waiting", "Callers that wait to be let in.")
	paused       = limiterDesc("paused", "1 during a pause, else 0.")
	storm        = limiterDesc("storm", "1 from a refusal that opened a pause until a call is accepted, else 0.")
	blocked      = limiterDesc("blocked", "1 for the reason why new work is not let in, else 0.", "reason")
	blockedUntil = limiterDesc("blocked_until_timestamp_seconds", "The end of the pause as Unix time; 0 without one.")

	workers = prometheus.NewDesc("holdoff_spawner_workers", "Living workers by state.", []string{"spawner", "state"}, nil)
)

func limiterDesc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("holdoff_limiter_"+name, help, append([]string{"limiter"}, labels...), nil)
}

var (
	reasons = []limiter.Reason{
		limiter.ReasonHold, limiter.ReasonRateLimited, limiter.ReasonOverloaded, limiter.ReasonProbing,
		limiter.ReasonBudget, limiter.ReasonPace, limiter.ReasonWaiting, limiter.ReasonConfig,
	}
	living = []spawn.State{spawn.Queued, spawn.Running, spawn.BackingOff}
)

// Describe is for Prometheus.
func (m *Metrics) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{budget, inFlight, waiting, paused, storm, blocked, blockedUntil, workers} {
		ch <- d
	}
	for _, c := range m.counters() {
		c.Describe(ch)
	}
}

// Collect is for Prometheus.
func (m *Metrics) Collect(ch chan<- prometheus.Metric) {
	m.mu.Lock()
	limiters, spawners := slices.Clone(m.limiters), slices.Clone(m.spawners)
	m.mu.Unlock()
	m.collectLimiters(ch, limiters)
	m.collectSpawners(ch, spawners)
	for _, c := range m.counters() {
		c.Collect(ch)
	}
}

func (m *Metrics) counters() []*prometheus.CounterVec {
	return []*prometheus.CounterVec{m.pauses, m.probes, m.attempts, m.retries, m.ends}
}

// A sum is the limiters of one name.
type sum struct {
	budget, inFlight, waiting, paused, storm int
	blocked                                  map[limiter.Reason]int
	until                                    time.Time
}

func (s *sum) add(st limiter.Status) {
	s.budget += st.Budget
	s.inFlight += st.InFlight
	s.waiting += st.Waiting
	if st.Storm {
		s.storm++
	}
	if !st.BlockedUntil.IsZero() {
		s.paused++
	}
	if st.BlockedUntil.After(s.until) {
		s.until = st.BlockedUntil
	}
	s.blocked[st.Reason]++
}

func (m *Metrics) collectLimiters(ch chan<- prometheus.Metric, limiters []func() []limiter.Status) {
	sums := make(map[string]*sum)
	for _, f := range limiters {
		statuses, err := ask(f)
		if err != nil {
			ch <- prometheus.NewInvalidMetric(budget, err)
		}
		for _, st := range statuses {
			name := m.limiterNames.label(st.Name)
			if sums[name] == nil {
				sums[name] = &sum{blocked: make(map[limiter.Reason]int)}
			}
			sums[name].add(st)
		}
	}
	for name, s := range sums {
		m.declareLimiter(name)
		for d, n := range map[*prometheus.Desc]int{
			budget: s.budget, inFlight: s.inFlight, waiting: s.waiting, paused: s.paused, storm: s.storm,
		} {
			ch <- gauge(d, float64(n), name)
		}
		for _, r := range reasons {
			ch <- gauge(blocked, float64(s.blocked[r]), name, string(r))
		}
		ch <- gauge(blockedUntil, unix(s.until), name)
	}
}

// ask contains a panic of the host's function: it is called on a goroutine of the
// registry, where it would end the program.
func ask(f func() []limiter.Status) (statuses []limiter.Status, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("promholdoff: the function given to WatchLimiters panicked: %v", p)
		}
	}()
	return f(), nil
}

func (m *Metrics) collectSpawners(ch chan<- prometheus.Metric, spawners []watched) {
	counts := make(map[string]map[spawn.State]int)
	for _, w := range spawners {
		name := m.spawnerNames.label(w.name)
		if counts[name] == nil {
			counts[name] = make(map[spawn.State]int)
		}
		for _, st := range w.spawner.Roster() {
			counts[name][st.State]++
		}
	}
	for name := range maps.Keys(counts) {
		for _, state := range living {
			ch <- gauge(workers, float64(counts[name][state]), name, state.String())
		}
	}
}

func gauge(d *prometheus.Desc, value float64, labels ...string) prometheus.Metric {
	return prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...)
}

func unix(t time.Time) float64 {
	if t.IsZero() {
		return 0
	}
	return float64(t.UnixMilli()) / 1000
}
