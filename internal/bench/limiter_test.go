package bench

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/holdoff-go/holdoff/limiter"
)

// Each gate is one take-and-give-back; hold runs while it has the slot.
var gates = []struct {
	name string
	new  func(b *testing.B, slots int) func(ctx context.Context, hold func())
}{
	{"holdoff", func(b *testing.B, slots int) func(context.Context, func()) {
		l := newLimiter(b, limiter.Config{Budget: slots})
		return func(ctx context.Context, hold func()) {
			slot, err := l.Acquire(ctx)
			if err != nil {
				panic(err)
			}
			hold()
			slot.Release()
		}
	}},
	{"xsync", func(_ *testing.B, slots int) func(context.Context, func()) {
		s := semaphore.NewWeighted(int64(slots))
		return func(ctx context.Context, hold func()) {
			if err := s.Acquire(ctx, 1); err != nil {
				panic(err)
			}
			hold()
			s.Release(1)
		}
	}},
}

func newLimiter(b *testing.B, cfg limiter.Config) *limiter.Limiter {
	b.Helper()
	l, err := limiter.New(cfg)
	if err != nil {
		b.Fatal(err)
	}
	return l
}

// BenchmarkUncontended is Acquire and Release by one caller.
func BenchmarkUncontended(b *testing.B) {
	for _, g := range gates {
		b.Run(g.name, func(b *testing.B) {
			ctx := context.Background()
			use := g.new(b, 8)
			b.ReportAllocs()
			for b.Loop() {
				use(ctx, func() {})
			}
		})
	}
}

// Benchmark64On8 is Acquire and Release by 64 goroutines on 8 slots, each of
// which yields while it has its slot, so that others have to wait.
func Benchmark64On8(b *testing.B) {
	for _, g := range gates {
		b.Run(g.name, func(b *testing.B) {
			ctx := context.Background()
			use := g.new(b, 8)
			b.ReportAllocs()
			each(b, 64, func() { use(ctx, runtime.Gosched) })
		})
	}
}

// each shares b.N calls of f among n goroutines.
func each(b *testing.B, n int, f func()) {
	var left atomic.Int64
	left.Store(int64(b.N))
	var workers sync.WaitGroup
	b.ResetTimer()
	for range n {
		workers.Go(func() {
			for left.Add(-1) >= 0 {
				f()
			}
		})
	}
	workers.Wait()
}

// countingClock counts the waits on the system's clock.
type countingClock struct{ waits atomic.Int64 }

func (*countingClock) Now() time.Time { return time.Now() }
func (c *countingClock) After(d time.Duration) <-chan time.Time {
	c.waits.Add(1)
	return time.After(d)
}

// Benchmark10000Waiters is 10,000 callers that wait in a pause and are let go at
// once. It reports what a waiter takes beyond its goroutine, and the timers.
func Benchmark10000Waiters(b *testing.B) {
	const n = 10_000
	ends := []struct {
		name string
		end  func(*limiter.Limiter, context.CancelFunc)
	}{
		// 8 slots are handed from one to the next, as in the semaphore below.
		{"released", func(l *limiter.Limiter, _ context.CancelFunc) { l.Resume("") }},
		{"canceled", func(_ *limiter.Limiter, cancel context.CancelFunc) { cancel() }},
	}
	for _, e := range ends {
		b.Run(e.name, func(b *testing.B) {
			var timers, bytes, spent int64
			for range b.N {
				b.StopTimer()
				c := &countingClock{}
				l := newLimiter(b, limiter.Config{Budget: 8, Clock: c})
				l.ReportRateLimited(time.Hour)
				ctx, cancel := context.WithCancel(context.Background())
				before := heap()
				waiters := start(n, func() {
					if slot, err := l.Acquire(ctx); err == nil {
						slot.Release()
					}
				})
				for l.Status().Waiting < n {
					runtime.Gosched()
				}
				bytes += heap() - before
				b.StartTimer()
				began := time.Now()
				e.end(l, cancel)
				waiters.Wait()
				spent += int64(time.Since(began))
				cancel()
				timers += c.waits.Load()
			}
			b.ReportMetric(float64(timers)/float64(b.N), "timers/op")
			b.ReportMetric(float64(bytes)/float64(b.N)/n, "B/waiter")
			b.ReportMetric(float64(spent)/float64(b.N)/n, "ns/waiter")
		})
	}
	b.Run("released/xsync", func(b *testing.B) {
		var bytes, spent int64
		for range b.N {
			b.StopTimer()
			s := semaphore.NewWeighted(8)
			_ = s.Acquire(context.Background(), 8)
			before := heap()
			var waiting atomic.Int64
			waiters := start(n, func() {
				waiting.Add(1)
				_ = s.Acquire(context.Background(), 1)
				s.Release(1)
			})
			for waiting.Load() < n {
				runtime.Gosched()
			}
			bytes += heap() - before
			b.StartTimer()
			began := time.Now()
			s.Release(8)
			waiters.Wait()
			spent += int64(time.Since(began))
		}
		b.ReportMetric(float64(bytes)/float64(b.N)/n, "B/waiter")
		b.ReportMetric(float64(spent)/float64(b.N)/n, "ns/waiter")
	})
}

func start(n int, f func()) *sync.WaitGroup {
	var wg sync.WaitGroup
	for range n {
		wg.Go(f)
	}
	return &wg
}

// heap is what is in use on the heap; stacks are not counted.
func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// BenchmarkStatus reads Status while 8 goroutines take and give slots, in a quiet
// time and in a pause.
func BenchmarkStatus(b *testing.B) {
	for _, c := range []struct {
		name       string
		goroutines int
		pause      bool
	}{{"idle", 0, false}, {"load", 8, false}, {"pause", 8, true}} {
		b.Run(c.name, func(b *testing.B) {
			l := newLimiter(b, limiter.Config{Budget: 8})
			if c.pause {
				l.ReportRateLimited(time.Hour)
			}
			done := make(chan struct{})
			load := start(c.goroutines, func() {
				for {
					select {
					case <-done:
						return
					default:
						if slot, err := l.TryAcquire(); err == nil {
							slot.Release()
						}
					}
				}
			})
			b.ReportAllocs()
			for b.Loop() {
				l.Status()
			}
			close(done)
			load.Wait()
		})
	}
}

// BenchmarkReport is a report of a success, and one of a refusal in a pause.
func BenchmarkReport(b *testing.B) {
	b.Run("success", func(b *testing.B) {
		l := newLimiter(b, limiter.Config{})
		slot, err := l.TryAcquire()
		if err != nil {
			b.Fatal(err)
		}
		b.ReportAllocs()
		for b.Loop() {
			slot.ReportSuccess()
		}
	})
	b.Run("refusal", func(b *testing.B) {
		l := newLimiter(b, limiter.Config{})
		b.ReportAllocs()
		for b.Loop() {
			l.ReportRateLimited(time.Minute)
		}
	})
}
