package swarm_test

import (
	"context"
	"iter"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdoff-go/holdoff/limiter"
	"github.com/holdoff-go/holdoff/spawn"
	"github.com/holdoff-go/holdoff/spawn/swarm"
)

func numbers(n int) iter.Seq2[int, int] {
	return func(yield func(int, int) bool) {
		for i := range n {
			if !yield(i, i) {
				return
			}
		}
	}
}

func idle(_ context.Context, _ *spawn.Attempt, n int) (int, error) { return n, nil }

// BenchmarkSwarm is the cost of an input, from the sequence to the loop's body.
func BenchmarkSwarm(b *testing.B) {
	b.ReportAllocs()
	s := newSpawner()
	n := 0
	b.ResetTimer()
	for _, r := range swarm.Run(b.Context(), s, numbers(b.N), idle) {
		if r.Err != nil {
			b.Fatal(r.Err)
		}
		n++
	}
	require.Equal(b, b.N, n)
}

// BenchmarkStored is the cost of an input that needs no member.
func BenchmarkStored(b *testing.B) {
	b.ReportAllocs()
	store := new(swarm.Memory[int, int])
	require.NoError(b, store.Save(b.Context(), 0, 0))
	same := func(yield func(int, int) bool) {
		for range b.N {
			if !yield(0, 0) {
				return
			}
		}
	}
	sw, err := swarm.New(swarm.Config[int, int]{Spawner: newSpawner(), Store: store}, same, idle)
	require.NoError(b, err)
	b.ResetTimer()
	for _, r := range sw.Results(b.Context()) {
		if r.Err != nil {
			b.Fatal(r.Err)
		}
	}
}

// A swarm's memory does not grow with its inputs.
func TestMemory_IsBounded(t *testing.T) {
	const n = 10_000
	l, err := limiter.New(limiter.Config{Budget: 64})
	require.NoError(t, err)
	s, err := spawn.New(spawn.Config{Limiter: l})
	require.NoError(t, err)
	var m runtime.MemStats
	heap := func() uint64 {
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before, goroutines, seen := heap(), runtime.NumGoroutine(), 0
	for i, r := range swarm.Run(t.Context(), s, numbers(n), idle) {
		require.NoError(t, r.Err)
		require.Equal(t, i, r.Value)
		if seen++; seen%(n/4) == 0 && seen < n {
			require.LessOrEqual(t, runtime.NumGoroutine(), goroutines+3*128+10)
			require.Less(t, heap(), before+(16<<20))
		}
	}
	require.Equal(t, n, seen)
}
