package promholdoff_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"github.com/holdoff-go/holdoff/limiter"
	"github.com/holdoff-go/holdoff/retry"
	"github.com/holdoff-go/holdoff/spawn"
	"github.com/holdoff-go/holdoff/spawn/promholdoff"
)

// A scene is a limiter and a spawner that are watched, in a bubble's time.
type scene struct {
	metrics  *promholdoff.Metrics
	registry *prometheus.Registry
	limiter  *limiter.Limiter
	spawner  *spawn.Spawner
}

func newScene(t *testing.T, cfg promholdoff.Config) *scene {
	t.Helper()
	m, err := promholdoff.New(cfg)
	require.NoError(t, err)
	l, err := limiter.New(limiter.Config{Name: "openai", OnEvent: m.OnLimiterEvent})
	require.NoError(t, err)
	sp, err := spawn.New(spawn.Config{Limiter: l, OnEvent: m.OnWorkerEvent("agents")})
	require.NoError(t, err)
	m.WatchLimiter(l)
	m.WatchSpawner("agents", sp)
	registry := prometheus.NewPedanticRegistry()
	require.NoError(t, registry.Register(m))
	return &scene{m, registry, l, sp}
}

// A storm begins over a small fleet: two workers have finished, one has died of
// its own doing, one was refused and probes, one waits, one was canceled.
func (s *scene) play(t *testing.T) (end func()) {
	ctx, cancel := context.WithCancel(t.Context())
	answer := func(after time.Duration, err error) func(context.Context, *spawn.Attempt) error {
		return func(ctx context.Context, a *spawn.Attempt) error {
			select {
			case <-time.After(after):
				return err
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	}
	refusal := fmt.Errorf("secret-id says no: %w", retry.RateLimited)
	var handles []*spawn.Handle
	start := func(id string, run func(context.Context, *spawn.Attempt) error) *spawn.Handle {
		h := s.spawner.Start(ctx, spawn.Worker{ID: id, Run: run})
		handles = append(handles, h)
		synctest.Wait()
		return h
	}
	start("secret-id-1", answer(time.Second, nil))
	start("secret-id-2", answer(2*time.Second, errors.New("its own")))
	start("secret-id-3", answer(5*time.Second, refusal))
	start("secret-id-4", answer(7*time.Second, nil))
	time.Sleep(9 * time.Second) // past the first probe, of the third
	synctest.Wait()
	start("secret-id-5", answer(time.Hour, nil))
	start("secret-id-6", answer(time.Hour, nil)).Cancel(nil)
	synctest.Wait()
	return func() {
		cancel()
		for _, h := range handles {
			<-h.Done()
		}
	}
}

func TestMetrics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t, promholdoff.Config{})
		end := s.play(t)
		golden, err := os.Open("testdata/storm.prom")
		require.NoError(t, err)
		require.NoError(t, testutil.GatherAndCompare(s.registry, golden))
		require.NoError(t, golden.Close())
		end()
	})
}

func TestLint(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t, promholdoff.Config{})
		end := s.play(t)
		problems, err := testutil.GatherAndLint(s.registry)
		require.NoError(t, err)
		require.Empty(t, problems)
		end()
	})
}

// The first pause and the first death are increases: their series are there
// before them.
func TestCountersBeginAtZero(t *testing.T) {
	s := newScene(t, promholdoff.Config{})
	for _, name := range []string{
		"holdoff_limiter_pauses_total", "holdoff_limiter_probes_total", "holdoff_worker_attempts_total",
		"holdoff_worker_retries_total", "holdoff_worker_ends_total",
	} {
		n, err := testutil.GatherAndCount(s.registry, name)
		require.NoError(t, err)
		require.Positive(t, n, name)
	}
}

func TestReasons(t *testing.T) {
	s := newScene(t, promholdoff.Config{})
	s.limiter.Hold("operator's words, such as a phone number")
	s.limiter.ReportOverloaded(0)
	s.limiter.Hold("more words")
	s.limiter.Resume("yet more")
	s.limiter.Hold("words")
	require.NoError(t, testutil.GatherAndCompare(s.registry, strings.NewReader(`
# HELP holdoff_limiter_blocked 1 for the reason why new work is not let in, else 0.
# TYPE holdoff_limiter_blocked gauge
holdoff_limiter_blocked{limiter="openai",reason="budget"} 0
holdoff_limiter_blocked{limiter="openai",reason="config"} 0
holdoff_limiter_blocked{limiter="openai",reason="hold"} 1
holdoff_limiter_blocked{limiter="openai",reason="overloaded"} 0
holdoff_limiter_blocked{limiter="openai",reason="pace"} 0
holdoff_limiter_blocked{limiter="openai",reason="probing"} 0
holdoff_limiter_blocked{limiter="openai",reason="rate_limited"} 0
holdoff_limiter_blocked{limiter="openai",reason="waiting"} 0
# HELP holdoff_limiter_pauses_total Pauses that refusals have opened.
# TYPE holdoff_limiter_pauses_total counter
holdoff_limiter_pauses_total{limiter="openai",reason="overloaded"} 1
holdoff_limiter_pauses_total{limiter="openai",reason="rate_limited"} 0
`), "holdoff_limiter_blocked", "holdoff_limiter_pauses_total"))
	require.NotContains(t, dump(t, s.registry), "words")
}

// A gate whose limiters cannot be made lets nobody in, and that is to be seen.
func TestGateWithoutLimiters(t *testing.T) {
	s := newScene(t, promholdoff.Config{})
	g, err := limiter.NewGroup(limiter.GroupConfig{Config: func(limiter.Key) limiter.Config { return limiter.Config{Budget: -1} }})
	require.NoError(t, err)
	gate := g.Of(limiter.Key{Scope: "model", Name: "flash"})
	s.metrics.WatchLimiters(func() []limiter.Status { return []limiter.Status{gate.Status()} })
	require.Contains(t, dump(t, s.registry), `holdoff_limiter_blocked{limiter="model:flash",reason="config"} 1`)
}

// However many names and workers there are, the series are bounded, and those
// that are too many are added up.
func TestCardinality(t *testing.T) {
	s := newScene(t, promholdoff.Config{MaxNames: 3})
	s.metrics.WatchLimiters(func() []limiter.Status {
		many := make([]limiter.Status, 1000)
		for i := range many {
			many[i] = limiter.Status{
				Name: fmt.Sprint("key-", i), Budget: 16, InFlight: 2, Waiting: 1, Storm: true,
				Reason: limiter.ReasonRateLimited, BlockedUntil: time.Unix(int64(1000+i), 0),
			}
		}
		return many
	})
	for i := range 1000 {
		s.metrics.OnLimiterEvent(limiter.Event{Kind: limiter.EventPauseOpened, Reason: fmt.Sprint(i), Status: limiter.Status{Name: fmt.Sprint("gone-", i)}})
		on := s.metrics.OnWorkerEvent(fmt.Sprint("fleet-", i))
		for _, state := range []spawn.State{spawn.Running, spawn.BackingOff, spawn.Dead} {
			on(spawn.Event{ID: fmt.Sprint("secret-id-", i), State: state, Verdict: retry.Verdict{Class: retry.Class(i)}})
		}
	}
	families, err := s.registry.Gather()
	require.NoError(t, err)
	series := 0
	for _, f := range families {
		series += len(f.Metric)
	}
	// Four names of each at most, and few words for each label.
	require.LessOrEqual(t, series, 4*25+4*40)
	text := dump(t, s.registry)
	require.NotContains(t, text, "secret-id")
	require.Contains(t, text, `holdoff_limiter_budget{limiter="other"} 16000`)
	require.Contains(t, text, `holdoff_limiter_blocked{limiter="other",reason="rate_limited"} 1000`)
	require.Contains(t, text, `holdoff_limiter_blocked_until_timestamp_seconds{limiter="other"} 1999`)
}

func dump(t *testing.T, g prometheus.Gatherer) string {
	t.Helper()
	families, err := g.Gather()
	require.NoError(t, err)
	var b strings.Builder
	for _, f := range families {
		for _, m := range f.Metric {
			labels := make([]string, len(m.Label))
			for i, l := range m.Label {
				labels[i] = fmt.Sprintf("%s=%q", l.GetName(), l.GetValue())
			}
			fmt.Fprintf(&b, "%s{%s} %v\n", f.GetName(), strings.Join(labels, ","), m.GetGauge().GetValue()+m.GetCounter().GetValue())
		}
	}
	return b.String()
}

func TestNamesThatPrometheusWouldRefuse(t *testing.T) {
	m, err := promholdoff.New(promholdoff.Config{})
	require.NoError(t, err)
	l, err := limiter.New(limiter.Config{Name: "a\xffb"})
	require.NoError(t, err)
	m.WatchLimiter(l)
	m.WatchLimiter(l) // twice is no collision
	registry := prometheus.NewPedanticRegistry()
	require.NoError(t, registry.Register(m))
	require.Contains(t, dump(t, registry), `holdoff_limiter_budget{limiter="a`+"\uFFFD"+`b"} 32`)
}

func TestHostsPanicIsContained(t *testing.T) {
	s := newScene(t, promholdoff.Config{})
	s.metrics.WatchLimiters(func() []limiter.Status { panic("of the host") })
	_, err := s.registry.Gather()
	require.ErrorContains(t, err, "the function given to WatchLimiters panicked: of the host")
}

func TestConcurrentUse(t *testing.T) {
	s := newScene(t, promholdoff.Config{MaxNames: 2})
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for range 50 {
				slot, err := s.limiter.TryAcquire()
				if err == nil {
					slot.ReportRateLimited(0)
					slot.Release()
				}
				s.limiter.Resume("")
				s.metrics.OnLimiterEvent(limiter.Event{Kind: limiter.EventProbe, Status: limiter.Status{Name: fmt.Sprint(i)}})
				_, err = s.registry.Gather()
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
}

func TestConfig(t *testing.T) {
	_, err := promholdoff.New(promholdoff.Config{MaxNames: -1})
	require.EqualError(t, err, "promholdoff: Config.MaxNames is -1: it must be at least 1, or 0 for 100")
}
