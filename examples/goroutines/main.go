// Goroutines runs a plain pool of goroutines with callbacks against a provider that
// refuses every call for a while:
//
//	go run .
//
// The lines that matter begin with "holdoff:"; all else was there before. There is
// no SDK here: a call is net/http. The pool is in pool.go, a job in job.go.
package main

import (
	"context"
	"fmt"

	"github.com/holdoff-go/holdoff/examples/internal/stage"
)

func main() {
	stage.Main("goroutines", nil, func(ctx context.Context, s *stage.Stage) error {
		jobs := make([]*job, 12)
		for i := range jobs {
			jobs[i] = &job{id: fmt.Sprintf("job-%d", i+1)}
		}
		return work(ctx, s, jobs, callbacks{
			onDone: func(j *job) { s.Sayf("%s is done", j.id) },
			onDead: func(j *job, err error) { s.Sayf("%s is dead: %v", j.id, err) },
		})
	})
}
