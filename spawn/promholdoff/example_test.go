package promholdoff_test

import (
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/holdoff-go/holdoff/limiter"
	"github.com/holdoff-go/holdoff/spawn"
	"github.com/holdoff-go/holdoff/spawn/promholdoff"
)

func Example() {
	metrics, err := promholdoff.New(promholdoff.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	registry := prometheus.NewRegistry() // or prometheus.DefaultRegisterer
	registry.MustRegister(metrics)

	l, err := limiter.New(limiter.Config{Name: "openai", OnEvent: metrics.OnLimiterEvent})
	if err != nil {
		fmt.Println(err)
		return
	}
	s, err := spawn.New(spawn.Config{Limiter: l, OnEvent: metrics.OnWorkerEvent("agents")})
	if err != nil {
		fmt.Println(err)
		return
	}
	metrics.WatchLimiter(l)
	metrics.WatchSpawner("agents", s)

	l.ReportRateLimited(time.Minute)
	families, err := registry.Gather() // as a scrape does
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, f := range families {
		if f.GetName() == "holdoff_limiter_paused" {
			fmt.Println(f.GetName(), f.GetMetric()[0].GetGauge().GetValue())
		}
	}
	// Output: holdoff_limiter_paused 1
}
