package spawn_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdoff-go/holdoff/spawn"
)

// BenchmarkRun is a worker of one attempt that succeeds: what running it costs
// beside its call.
func BenchmarkRun(b *testing.B) {
	run := func(context.Context, *spawn.Attempt) error { return nil }
	for _, c := range []struct {
		name   string
		config spawn.Config
	}{
		{"plain", spawn.Config{}},
		{"events", spawn.Config{OnEvent: func(spawn.Event) {}}},
	} {
		b.Run(c.name, func(b *testing.B) {
			s := benchSpawner(b, c.config)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := s.Run(b.Context(), spawn.Worker{ID: "w", Run: run}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	b.Run("parallel", func(b *testing.B) {
		s := benchSpawner(b, spawn.Config{})
		b.ReportAllocs()
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				if _, err := s.Run(b.Context(), spawn.Worker{Run: run}); err != nil {
					b.Error(err)
				}
			}
		})
	})
}

// BenchmarkProgress is one turn of a worker of many: Wait and Progress.
func BenchmarkProgress(b *testing.B) {
	s := benchSpawner(b, spawn.Config{})
	_, err := s.Run(b.Context(), spawn.Worker{Run: func(ctx context.Context, a *spawn.Attempt) error {
		b.ReportAllocs()
		for b.Loop() {
			if err := a.Wait(ctx); err != nil {
				return err
			}
			a.Progress()
		}
		return nil
	}})
	require.NoError(b, err)
}

func benchSpawner(b *testing.B, config spawn.Config) *spawn.Spawner {
	b.Helper()
	config.Limiter = newLimiter(b)
	s, err := spawn.New(config)
	require.NoError(b, err)
	return s
}
