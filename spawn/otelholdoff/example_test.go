package otelholdoff_test

import (
	"context"
	"fmt"
	"time"

	sdk "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/holdoff-go/holdoff/limiter"
	"github.com/holdoff-go/holdoff/spawn"
	"github.com/holdoff-go/holdoff/spawn/otelholdoff"
)

func Example() {
	reader := sdk.NewManualReader() // a program has a periodic one with an exporter
	metrics, err := otelholdoff.New(otelholdoff.Config{MeterProvider: sdk.NewMeterProvider(sdk.WithReader(reader))})
	if err != nil {
		fmt.Println(err)
		return
	}
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
	var got metricdata.ResourceMetrics
	if err := reader.Collect(context.Background(), &got); err != nil {
		fmt.Println(err)
		return
	}
	for _, m := range got.ScopeMetrics[0].Metrics {
		if m.Name == "holdoff.limiter.paused" {
			fmt.Println(m.Name, m.Data.(metricdata.Sum[int64]).DataPoints[0].Value)
		}
	}
	// Output: holdoff.limiter.paused 1
}
