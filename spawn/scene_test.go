package spawn_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdoff-go/holdoff/limiter"
	"github.com/holdoff-go/holdoff/retry"
	"github.com/holdoff-go/holdoff/spawn"
)

// seconds makes the scenarios' plain numbers durations.
func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// A scene is one limiter and one spawner in a bubble of virtual time, with all
// that they told.
type scene struct {
	*testing.T
	ctx     context.Context
	start   time.Time
	limiter *limiter.Limiter
	spawner *spawn.Spawner

	mu     sync.Mutex
	deaths []spawn.Death
	events []spawn.Event
	gate   []limiter.Event
}

// play runs f in virtual time. A budget of 0 is the scenarios' 8. Deaths and
// events are collected, besides what the configs' own hooks do.
func play(t *testing.T, lc limiter.Config, sc spawn.Config, f func(s *scene)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := &scene{T: t, ctx: t.Context(), start: time.Now()}
		if lc.Budget == 0 {
			lc.Budget = 8
		}
		lc.OnEvent = func(e limiter.Event) { s.note(func() { s.gate = append(s.gate, e) }) }
		var err error
		s.limiter, err = limiter.New(lc)
		require.NoError(t, err)
		sc.Limiter = s.limiter
		onDeath, onEvent := sc.OnDeath, sc.OnEvent
		sc.OnDeath = func(d spawn.Death) {
			s.note(func() { s.deaths = append(s.deaths, d) })
			if onDeath != nil {
				onDeath(d)
			}
		}
		sc.OnEvent = func(e spawn.Event) {
			s.note(func() { s.events = append(s.events, e) })
			if onEvent != nil {
				onEvent(e)
			}
		}
		s.spawner, err = spawn.New(sc)
		require.NoError(t, err)
		f(s)
	})
}

func (s *scene) note(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
}

// now is the time since the scene began.
func (s *scene) now() time.Duration { return time.Since(s.start) }

// at sleeps until so many seconds of the scene, and until all that happens then
// has happened.
func (s *scene) at(sec float64) {
	s.Helper()
	require.LessOrEqual(s, s.now(), seconds(sec), "the scene is past that")
	time.Sleep(seconds(sec) - s.now())
	synctest.Wait()
}

// clock is t as seconds of the scene.
func (s *scene) clock(t time.Time) float64 { return t.Sub(s.start).Seconds() }

// blockedUntil is the limiter's, in seconds of the scene; 0 without a pause.
func (s *scene) blockedUntil() float64 {
	until := s.limiter.Status().BlockedUntil
	if until.IsZero() {
		return 0
	}
	return s.clock(until)
}

// launch starts a worker.
func (s *scene) launch(id string, run func(context.Context, *spawn.Attempt) error) *spawn.Handle {
	return s.spawner.Start(s.ctx, spawn.Worker{ID: id, Run: run})
}

// status is the roster's line of a worker.
func (s *scene) status(id string) spawn.WorkerStatus {
	s.Helper()
	for _, line := range s.spawner.Roster() {
		if line.ID == id {
			return line
		}
	}
	s.Fatalf("%s is not in the roster", id)
	return spawn.WorkerStatus{}
}

// states are those that a worker went through, as told by its events.
func (s *scene) states(id string) []spawn.State {
	s.mu.Lock()
	defer s.mu.Unlock()
	var states []spawn.State
	for _, e := range s.events {
		if e.ID == id {
			states = append(states, e.State)
		}
	}
	return states
}

// pauses counts the pauses that the limiter opened.
func (s *scene) pauses() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, e := range s.gate {
		if e.Kind == limiter.EventPauseOpened {
			n++
		}
	}
	return n
}

// A refusal is what an SDK makes of a 429 or a 529.
type refusal struct {
	status int
	after  time.Duration // 0: nothing stated
}

func (e *refusal) Error() string             { return fmt.Sprintf("upstream says %d", e.status) }
func (e *refusal) StatusCode() int           { return e.status }
func (e *refusal) RetryAfter() time.Duration { return e.after }

func rateLimited(after float64) error { return &refusal{http.StatusTooManyRequests, seconds(after)} }
func overloaded() error               { return &refusal{529, 0} }
func exhausted(after float64) error   { return &refusal{http.StatusPaymentRequired, seconds(after)} }
func unauthorized() error             { return &refusal{http.StatusUnauthorized, 0} }
func badRequest() error               { return &refusal{http.StatusBadRequest, 0} }
func transient() error                { return &refusal{http.StatusInternalServerError, 0} }

var errOwn = errors.New("the worker's own failure")

// An upstream answers calls by a script and books them.
type upstream struct {
	s       *scene
	latency time.Duration // of an accepted call; a refusal takes 50 ms, or that if shorter
	script  func(c callTo) error

	mu    sync.Mutex
	calls []callTo
}

// A callTo is one call that an upstream has seen.
type callTo struct {
	worker  string
	number  int     // of the worker, from 1
	at      float64 // it began, in seconds of the scene
	refused bool
}

func (s *scene) upstream(latency time.Duration, script func(c callTo) error) *upstream {
	return &upstream{s: s, latency: latency, script: script}
}

// stormUntil refuses what begins before end.
func stormUntil(end float64, refusal error) func(callTo) error {
	return func(c callTo) error {
		if c.at < end {
			return refusal
		}
		return nil
	}
}

// call is one call of a worker.
func (u *upstream) call(ctx context.Context, worker string) error {
	u.mu.Lock()
	c := callTo{worker: worker, number: 1, at: u.s.now().Seconds()}
	for _, before := range u.calls {
		if before.worker == worker {
			c.number++
		}
	}
	err := u.script(c)
	c.refused = err != nil
	u.calls = append(u.calls, c)
	u.mu.Unlock()
	latency := u.latency
	if err != nil {
		latency = min(latency, 50*time.Millisecond)
	}
	select {
	case <-time.After(latency):
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// work is a worker of one call.
func (u *upstream) work(ctx context.Context, a *spawn.Attempt) error {
	return u.call(ctx, a.WorkerID())
}

// seen are the calls so far.
func (u *upstream) seen() []callTo {
	u.mu.Lock()
	defer u.mu.Unlock()
	return slices.Clone(u.calls)
}

// times are when the worker's calls began; all calls without a name.
func (u *upstream) times(worker string) []float64 {
	times := []float64{}
	for _, c := range u.seen() {
		if worker == "" || c.worker == worker {
			times = append(times, c.at)
		}
	}
	return times
}

// refusals counts the refused calls that began within [from, to) seconds.
func (u *upstream) refusals(from, to float64) int {
	n := 0
	for _, c := range u.seen() {
		if c.refused && from <= c.at && c.at < to {
			n++
		}
	}
	return n
}

// launch starts n workers of one call, w1 to wn.
func (u *upstream) launch(n int) []*spawn.Handle {
	handles := make([]*spawn.Handle, n)
	for i := range handles {
		handles[i] = u.s.launch(fmt.Sprintf("w%d", i+1), u.work)
	}
	return handles
}

// wait returns how the runs ended.
func wait(handles ...*spawn.Handle) (results []spawn.Result, errs []error) {
	for _, h := range handles {
		r, err := h.Wait()
		results, errs = append(results, r), append(errs, err)
	}
	return results, errs
}

// ended counts the results by state.
func ended(results []spawn.Result) map[spawn.State]int {
	n := map[spawn.State]int{}
	for _, r := range results {
		n[r.State]++
	}
	return n
}

// classes are those of the attempts that a result holds.
func classes(r spawn.Result) []retry.Class {
	var cs []retry.Class
	for _, a := range r.Attempts {
		cs = append(cs, a.Verdict.Class)
	}
	return cs
}
