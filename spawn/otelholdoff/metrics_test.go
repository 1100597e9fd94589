package otelholdoff_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	sdk "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/holdoff-go/holdoff/limiter"
	"github.com/holdoff-go/holdoff/retry"
	"github.com/holdoff-go/holdoff/spawn"
	"github.com/holdoff-go/holdoff/spawn/otelholdoff"
)

// A scene is a limiter and a spawner that are watched, read by hand.
type scene struct {
	metrics *otelholdoff.Metrics
	reader  *sdk.ManualReader
	limiter *limiter.Limiter
	spawner *spawn.Spawner
}

func newScene(t *testing.T, cfg otelholdoff.Config) *scene {
	t.Helper()
	reader := sdk.NewManualReader()
	cfg.MeterProvider = sdk.NewMeterProvider(sdk.WithReader(reader))
	m, err := otelholdoff.New(cfg)
	require.NoError(t, err)
	l, err := limiter.New(limiter.Config{Name: "openai", OnEvent: m.OnLimiterEvent})
	require.NoError(t, err)
	sp, err := spawn.New(spawn.Config{Limiter: l, OnEvent: m.OnWorkerEvent("agents")})
	require.NoError(t, err)
	m.WatchLimiter(l)
	m.WatchSpawner("agents", sp)
	return &scene{m, reader, l, sp}
}

// read returns what is collected, a line a stream, sorted.
func (s *scene) read(t *testing.T) []string {
	t.Helper()
	var got metricdata.ResourceMetrics
	require.NoError(t, s.reader.Collect(t.Context(), &got))
	return lines(t, got)
}

func lines(t *testing.T, got metricdata.ResourceMetrics) []string {
	t.Helper()
	var all []string
	line := func(m metricdata.Metrics, kind string, set attribute.Set, value any) {
		var labels []string
		for _, kv := range set.ToSlice() {
			labels = append(labels, fmt.Sprintf("%s=%q", kv.Key, kv.Value.AsString()))
		}
		all = append(all, fmt.Sprintf("%s %s %s {%s} %v", m.Name, kind, m.Unit, strings.Join(labels, ", "), value))
	}
	for _, scope := range got.ScopeMetrics {
		require.Equal(t, "github.com/holdoff-go/holdoff/spawn/otelholdoff", scope.Scope.Name)
		for _, m := range scope.Metrics {
			require.NotEmpty(t, m.Description, m.Name)
			switch data := m.Data.(type) {
			case metricdata.Sum[int64]:
				kind := "updowncounter"
				if data.IsMonotonic {
					kind = "counter"
				}
				for _, p := range data.DataPoints {
					line(m, kind, p.Attributes, p.Value)
				}
			case metricdata.Gauge[float64]:
				for _, p := range data.DataPoints {
					line(m, "gauge", p.Attributes, p.Value)
				}
			default:
				t.Errorf("%s is a %T", m.Name, data)
			}
		}
	}
	slices.Sort(all)
	return all
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
		s := newScene(t, otelholdoff.Config{})
		end := s.play(t)
		want, err := os.ReadFile("testdata/storm.txt")
		require.NoError(t, err)
		got := s.read(t)
		require.Equal(t, string(want), strings.Join(got, "\n")+"\n")
		// OpenTelemetry's conventions: dotted words in small letters, no unit and
		// no "total" in the name, units of UCUM with what is counted in braces.
		for _, line := range got {
			require.Regexp(t, regexp.MustCompile(`^holdoff\.(limiter|spawner|worker)\.[a-z_]+ \w+ ({[a-z]+}|s) `), line)
			require.NotContains(t, line, "total")
		}
		end()
	})
}

func TestReasons(t *testing.T) {
	s := newScene(t, otelholdoff.Config{})
	s.limiter.ReportOverloaded(0)
	s.limiter.Hold("operator's words, such as a phone number")
	got := strings.Join(s.read(t), "\n")
	require.Contains(t, got, `holdoff.limiter.pauses counter {pause} {holdoff.limiter.name="openai", holdoff.reason="overloaded"} 1`)
	require.Contains(t, got, `holdoff.limiter.blocked updowncounter {limiter} {holdoff.limiter.name="openai", holdoff.reason="hold"} 1`)
	require.Contains(t, got, `holdoff.limiter.blocked updowncounter {limiter} {holdoff.limiter.name="openai", holdoff.reason="overloaded"} 0`)
	require.NotContains(t, got, "words")
}

// A gate whose limiters cannot be made lets nobody in, and that is to be seen.
func TestGateWithoutLimiters(t *testing.T) {
	s := newScene(t, otelholdoff.Config{})
	g, err := limiter.NewGroup(limiter.GroupConfig{Config: func(limiter.Key) limiter.Config { return limiter.Config{Budget: -1} }})
	require.NoError(t, err)
	gate := g.Of(limiter.Key{Scope: "model", Name: "flash"})
	s.metrics.WatchLimiters(func() []limiter.Status { return []limiter.Status{gate.Status()} })
	require.Contains(t, strings.Join(s.read(t), "\n"), `holdoff.limiter.blocked updowncounter {limiter} {holdoff.limiter.name="model:flash", holdoff.reason="config"} 1`)
}

// However many names and workers there are, the streams are bounded, and those
// that are too many are added up.
func TestCardinality(t *testing.T) {
	s := newScene(t, otelholdoff.Config{MaxNames: 3})
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
	got := s.read(t)
	// Four names of each at most, and few words for each attribute.
	require.LessOrEqual(t, len(got), 4*25+4*40)
	text := strings.Join(got, "\n")
	require.NotContains(t, text, "secret-id")
	require.Contains(t, text, `holdoff.limiter.budget updowncounter {slot} {holdoff.limiter.name="other"} 16000`)
	require.Contains(t, text, `holdoff.limiter.blocked updowncounter {limiter} {holdoff.limiter.name="other", holdoff.reason="rate_limited"} 1000`)
	require.Contains(t, text, `holdoff.limiter.blocked_until gauge s {holdoff.limiter.name="other"} 1999`)
}

func TestHostsPanicIsContained(t *testing.T) {
	s := newScene(t, otelholdoff.Config{})
	s.metrics.WatchLimiters(func() []limiter.Status { panic("of the host") })
	var got metricdata.ResourceMetrics
	err := s.reader.Collect(t.Context(), &got)
	require.ErrorContains(t, err, "the function given to WatchLimiters panicked: of the host")
	require.Contains(t, strings.Join(lines(t, got), "\n"), `holdoff.limiter.budget updowncounter {slot} {holdoff.limiter.name="openai"} 16`)
}

func TestUnregister(t *testing.T) {
	s := newScene(t, otelholdoff.Config{})
	require.NotEmpty(t, s.read(t))
	require.NoError(t, s.metrics.Unregister())
	require.Empty(t, s.read(t))
}

func TestConcurrentUse(t *testing.T) {
	s := newScene(t, otelholdoff.Config{MaxNames: 2})
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
				if err := s.reader.Collect(t.Context(), &metricdata.ResourceMetrics{}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
}

// Without a provider of its own, and without a global one, nothing is measured
// and nothing fails.
func TestGlobalProvider(t *testing.T) {
	m, err := otelholdoff.New(otelholdoff.Config{})
	require.NoError(t, err)
	m.OnLimiterEvent(limiter.Event{Kind: limiter.EventProbe})
	require.NoError(t, m.Unregister())
}

func TestConfig(t *testing.T) {
	_, err := otelholdoff.New(otelholdoff.Config{MaxNames: -1})
	require.EqualError(t, err, "otelholdoff: Config.MaxNames is -1: it must be at least 1, or 0 for 100")
}
