package otelholdoff

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"go.opentelemetry.io/otel/metric"

	"github.com/holdoff-go/holdoff/limiter"
	"github.com/holdoff-go/holdoff/spawn"
)

var (
	reasons = []limiter.Reason{
		limiter.ReasonHold, limiter.ReasonRateLimited, limiter.ReasonOverloaded, limiter.ReasonProbing,
		limiter.ReasonBudget, limiter.ReasonPace, limiter.ReasonWaiting, limiter.ReasonConfig,
	}
	living = []spawn.State{spawn.Queued, spawn.Running, spawn.BackingOff}
)

// instruments are those that are read at the collection.
type instruments struct {
	budget, inFlight, waiting, paused, storm, blocked metric.Int64ObservableUpDownCounter
	blockedUntil                                      metric.Float64ObservableGauge
	workers                                           metric.Int64ObservableUpDownCounter
}

// observe makes the instruments and registers their one callback.
func (m *Metrics) observe(meter metric.Meter) error {
	var errs []error
	sum := func(name, unit, description string) metric.Int64ObservableUpDownCounter {
		i, err := meter.Int64ObservableUpDownCounter(name, metric.WithUnit(unit), metric.WithDescription(description))
		errs = append(errs, err)
		return i
	}
	var i instruments
	i.budget = sum("holdoff.limiter.budget", "{slot}", "Slots that may be in flight now.")
	i.inFlight = sum("holdoff.limiter.in_flight", "{slot}", "Slots that are in flight.")
	i.waiting = sum("holdoff.limiter.waiting", "{caller}", "Callers that wait to be let in.")
	i.paused = sum("holdoff.limiter.paused", "{limiter}", "1 during a pause, else 0.")
	i.storm = sum("holdoff.limiter.storm", "{limiter}", "1 from a refusal that opened a pause until a call is accepted, else 0.")
	i.blocked = sum("holdoff.limiter.blocked", "{limiter}", "1 for the reason why new work is not let in, else 0.")
	i.workers = sum("holdoff.spawner.workers", "{worker}", "Living workers by state.")
	var err error
	i.blockedUntil, err = meter.Float64ObservableGauge("holdoff.limiter.blocked_until", metric.WithUnit("s"),
		metric.WithDescription("The end of the pause as Unix time; 0 without one."))
	if err := errors.Join(append(errs, err)...); err != nil {
		return err
	}
	m.registration, err = meter.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		return m.collect(o, &i)
	}, i.budget, i.inFlight, i.waiting, i.paused, i.storm, i.blocked, i.blockedUntil, i.workers)
	return err
}

func (m *Metrics) collect(o metric.Observer, i *instruments) error {
	m.mu.Lock()
	limiters, spawners := slices.Clone(m.limiters), slices.Clone(m.spawners)
	m.mu.Unlock()
	m.collectSpawners(o, i, spawners)
	return m.collectLimiters(o, i, limiters)
}

// A sum is the limiters of one name: what is observed twice counts once.
type sum struct {
	budget, inFlight, waiting, paused, storm int64
	blocked                                  map[limiter.Reason]int64
	until                                    time.Time
}

func (s *sum) add(st limiter.Status) {
	s.budget += int64(st.Budget)
	s.inFlight += int64(st.InFlight)
	s.waiting += int64(st.Waiting)
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

func (m *Metrics) collectLimiters(o metric.Observer, i *instruments, limiters []func() []limiter.Status) error {
	var errs []error
	sums := make(map[string]*sum)
	for _, f := range limiters {
		statuses, err := ask(f)
		errs = append(errs, err)
		for _, st := range statuses {
			name := m.limiterNames.label(st.Name)
			if sums[name] == nil {
				sums[name] = &sum{blocked: make(map[limiter.Reason]int64)}
			}
			sums[name].add(st)
		}
	}
	for name, s := range sums {
		label := limiterName.String(name)
		named := metric.WithAttributes(label)
		o.ObserveInt64(i.budget, s.budget, named)
		o.ObserveInt64(i.inFlight, s.inFlight, named)
		o.ObserveInt64(i.waiting, s.waiting, named)
		o.ObserveInt64(i.paused, s.paused, named)
		o.ObserveInt64(i.storm, s.storm, named)
		o.ObserveFloat64(i.blockedUntil, unix(s.until), named)
		for _, r := range reasons {
			o.ObserveInt64(i.blocked, s.blocked[r], metric.WithAttributes(label, reasonKey.String(string(r))))
		}
	}
	return errors.Join(errs...)
}

// ask contains a panic of the host's function, which would end the goroutine of
// the reader, and the program.
func ask(f func() []limiter.Status) (statuses []limiter.Status, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("otelholdoff: the function given to WatchLimiters panicked: %v", p)
		}
	}()
	return f(), nil
}

func (m *Metrics) collectSpawners(o metric.Observer, i *instruments, spawners []watched) {
	counts := make(map[string]map[spawn.State]int64)
	for _, w := range spawners {
		name := m.spawnerNames.label(w.name)
		if counts[name] == nil {
			counts[name] = make(map[spawn.State]int64)
		}
		for _, st := range w.spawner.Roster() {
			counts[name][st.State]++
		}
	}
	for name, n := range counts {
		for _, state := range living {
			o.ObserveInt64(i.workers, n[state], metric.WithAttributes(spawnerName.String(name), workerState.String(state.String())))
		}
	}
}

func unix(t time.Time) float64 {
	if t.IsZero() {
		return 0
	}
	return float64(t.UnixMilli()) / 1000
}
