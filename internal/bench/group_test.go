package bench

import (
	"context"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/holdoff-go/holdoff/limiter"
)

func newGroup(b *testing.B, budget int) *limiter.Group {
	b.Helper()
	g, err := limiter.NewGroup(limiter.GroupConfig{Config: func(limiter.Key) limiter.Config {
		return limiter.Config{Budget: budget}
	}})
	if err != nil {
		b.Fatal(err)
	}
	return g
}

var threeKeys = []limiter.Key{{Scope: "account", Name: "acme"}, {Scope: "key", Name: "k1"}, {Scope: "model", Name: "acme/flash"}}

// BenchmarkGate is Acquire and Release at a gate of one to three keys, kept or made
// for each call.
func BenchmarkGate(b *testing.B) {
	for n := 1; n <= len(threeKeys); n++ {
		for _, kept := range []bool{true, false} {
			b.Run(fmt.Sprintf("keys=%d/kept=%t", n, kept), func(b *testing.B) {
				g := newGroup(b, 8)
				ctx := context.Background()
				gate := g.Of(threeKeys[:n]...)
				b.ReportAllocs()
				for b.Loop() {
					if !kept {
						gate = g.Of(threeKeys[:n]...)
					}
					slot, err := gate.Acquire(ctx)
					if err != nil {
						b.Fatal(err)
					}
					slot.Release()
				}
			})
		}
	}
}

// Benchmark64OnGate is Benchmark64On8 at a gate of three keys.
func Benchmark64OnGate(b *testing.B) {
	g := newGroup(b, 8)
	gate := g.Of(threeKeys...)
	ctx := context.Background()
	b.ReportAllocs()
	each(b, 64, func() {
		slot, err := gate.Acquire(ctx)
		if err != nil {
			panic(err)
		}
		runtime.Gosched()
		slot.Release()
	})
}

// Benchmark100000Keys makes a limiter for each of 100,000 keys. It reports what one
// takes, the key's name included.
func Benchmark100000Keys(b *testing.B) {
	const n = 100_000
	var bytes int64
	for range b.N {
		g := newGroup(b, 8)
		before := heap()
		for i := range n {
			slot, err := g.Of(limiter.Key{Scope: "key", Name: fmt.Sprintf("customer-%d", i)}).TryAcquire()
			if err != nil {
				b.Fatal(err)
			}
			slot.Release()
		}
		bytes += heap() - before
		if g.Len() != n {
			b.Fatal(g.Len())
		}
		runtime.KeepAlive(g)
	}
	b.ReportMetric(float64(bytes)/float64(b.N)/n, "B/key")
	b.ReportMetric(float64(b.Elapsed())/float64(b.N)/n, "ns/key")
}

// BenchmarkForget is a gate's call while it has 100,000 idle keys to forget.
func BenchmarkForget(b *testing.B) {
	c := &steppedClock{now: time.Unix(0, 0)}
	g, err := limiter.NewGroup(limiter.GroupConfig{Clock: c, IdleAfter: 100_000})
	if err != nil {
		b.Fatal(err)
	}
	names := make([]limiter.Key, 300_000)
	for i := range names {
		names[i] = limiter.Key{Scope: "key", Name: fmt.Sprint(i)}
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		c.now = c.now.Add(1)
		slot, err := g.Of(names[i%len(names)]).TryAcquire()
		if err != nil {
			b.Fatal(err)
		}
		slot.Release()
	}
	b.ReportMetric(float64(g.Len()), "keys")
}

// steppedClock goes on when it is told, in one goroutine's benchmark.
type steppedClock struct{ now time.Time }

func (c *steppedClock) Now() time.Time                     { return c.now }
func (*steppedClock) After(time.Duration) <-chan time.Time { return nil }

// BenchmarkGateWaiters is 10,000 callers of one gate that wait in a pause of its
// model and are then handed 8 slots, with an account that has 4.
func BenchmarkGateWaiters(b *testing.B) {
	const n = 10_000
	for range b.N {
		b.StopTimer()
		g, err := limiter.NewGroup(limiter.GroupConfig{Config: func(k limiter.Key) limiter.Config {
			return limiter.Config{Budget: map[string]int{"account": 4, "key": 16, "model": 8}[k.Scope]}
		}})
		if err != nil {
			b.Fatal(err)
		}
		gate := g.Of(threeKeys...)
		gate.ReportRateLimited(time.Hour)
		waiters := start(n, func() {
			if slot, err := gate.Acquire(context.Background()); err == nil {
				slot.ReportSuccess()
				slot.Release()
			}
		})
		for gate.Status().Waiting < n {
			runtime.Gosched()
		}
		b.StartTimer()
		gate.Resume("")
		waiters.Wait()
	}
	b.ReportMetric(float64(b.Elapsed())/float64(b.N)/n, "ns/waiter")
}
