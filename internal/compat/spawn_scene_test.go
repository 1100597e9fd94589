package compat

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdoff-go/holdoff/limiter"
	"github.com/holdoff-go/holdoff/spawn"
)

// A scene is a spawner and its upstream, whose only time is somebody's fake
// clock. The bubble's own time means nothing to them; it only tells when all
// goroutines have come to rest.
type scene struct {
	*testing.T
	fake
	limiter *limiter.Limiter
	spawner *spawn.Spawner
	start   time.Time
	ctx     context.Context
	cancel  context.CancelFunc

	latency time.Duration // of an accepted call; a refusal takes 50 ms, or that if shorter
	answer  func(c sceneCall) error

	mu     sync.Mutex
	calls  []sceneCall
	deaths []spawn.Death
	events []spawn.Event
	pauses int
}

// A sceneCall is one call that the upstream has seen.
type sceneCall struct {
	worker  string
	number  int     // of the worker, from 1
	at      float64 // it began, in seconds of the scene
	refused bool
}

// sceneSetup is what differs from the scenarios' base.
type sceneSetup struct {
	limiter limiter.Config
	spawner spawn.Config
	latency time.Duration
	answer  func(c sceneCall) error
}

// playScene runs act on f, in a bubble.
func playScene(t *testing.T, newFake func() fake, c sceneSetup, act func(s *scene)) {
	synctest.Test(t, func(t *testing.T) {
		s := &scene{T: t, fake: newFake(), latency: c.latency, answer: c.answer}
		s.ctx, s.cancel = context.WithCancel(t.Context())
		defer s.cancel()
		s.start = s.clock.Now()

		lc := c.limiter
		lc.Clock = s.clock
		if lc.Budget == 0 {
			lc.Budget = 8
		}
		lc.OnEvent = func(e limiter.Event) {
			if e.Kind == limiter.EventPauseOpened {
				s.note(func() { s.pauses++ })
			}
		}
		var err error
		s.limiter, err = limiter.New(lc)
		require.NoError(t, err)

		sc := c.spawner
		sc.Clock, sc.Limiter = s.clock, s.limiter
		sc.OnDeath = func(d spawn.Death) { s.note(func() { s.deaths = append(s.deaths, d) }) }
		sc.OnEvent = func(e spawn.Event) { s.note(func() { s.events = append(s.events, e) }) }
		s.spawner, err = spawn.New(sc)
		require.NoError(t, err)
		act(s)
	})
}

func (s *scene) note(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
}

// seconds is t on the scene's clock.
func (s *scene) seconds(t time.Time) float64 { return t.Sub(s.start).Seconds() }

func (s *scene) now() float64 { return s.seconds(s.clock.Now()) }

// at moves the clock on to sec, in steps that all times of the stories fall on, and
// lets all that happens at each of them happen.
func (s *scene) at(sec float64) {
	s.Helper()
	synctest.Wait()
	for left := s.until(sec); left > 0; left = s.until(sec) {
		s.advance(min(left, 10*time.Millisecond))
		synctest.Wait()
	}
}

// leap moves the clock on to sec at once.
func (s *scene) leap(sec float64) {
	s.Helper()
	synctest.Wait()
	s.advance(s.until(sec))
	synctest.Wait()
}

func (s *scene) until(sec float64) time.Duration {
	s.Helper()
	left := time.Duration(sec*float64(time.Second)) - s.clock.Now().Sub(s.start)
	require.GreaterOrEqual(s, left, time.Duration(0), "the scene is past that")
	return left
}

// anHourElsewhere lets the time pass that the fake clock stands in for.
func (s *scene) anHourElsewhere() {
	time.Sleep(time.Hour)
	synctest.Wait()
}

// launch starts a worker, and lets it come to rest.
func (s *scene) launch(w spawn.Worker) *spawn.Handle {
	if w.Run == nil {
		w.Run = s.work
	}
	h := s.spawner.Start(s.ctx, w)
	synctest.Wait()
	return h
}

// work is a worker of one call.
func (s *scene) work(ctx context.Context, a *spawn.Attempt) error { return s.call(ctx, a.WorkerID()) }

// hold is a worker that is busy for so long.
func (s *scene) hold(d time.Duration) func(context.Context, *spawn.Attempt) error {
	return func(ctx context.Context, _ *spawn.Attempt) error { return s.sleep(ctx, d) }
}

func (s *scene) sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-s.clock.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// call is one call upstream.
func (s *scene) call(ctx context.Context, worker string) error {
	c := sceneCall{worker: worker, number: 1, at: s.now()}
	var answer error
	s.note(func() {
		for _, before := range s.calls {
			if before.worker == worker {
				c.number++
			}
		}
		answer = s.answer(c)
		c.refused = answer != nil
		s.calls = append(s.calls, c)
	})
	latency := s.latency
	if answer != nil {
		latency = min(latency, 50*time.Millisecond)
	}
	if latency > 0 {
		if err := s.sleep(ctx, latency); err != nil {
			return err
		}
	}
	return answer
}

func (s *scene) seen() []sceneCall {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.calls)
}

// times are when the worker's calls began; all calls without a name.
func (s *scene) times(worker string) []float64 {
	times := []float64{}
	for _, c := range s.seen() {
		if worker == "" || c.worker == worker {
			times = append(times, c.at)
		}
	}
	return times
}

// told are the worker's events, as state and time.
func (s *scene) told(id string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	told := []string{}
	for _, e := range s.events {
		if e.ID != id {
			continue
		}
		line := fmt.Sprintf("%v at %v", e.State, s.seconds(e.Time))
		if !e.Until.IsZero() {
			line += fmt.Sprintf(" until %v", s.seconds(e.Until))
		}
		told = append(told, line)
	}
	return told
}

func (s *scene) deathsToldOf() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	ids := []string{}
	for _, d := range s.deaths {
		ids = append(ids, d.ID)
	}
	return ids
}

func (s *scene) blockedUntil() float64 {
	if until := s.limiter.Status().BlockedUntil; !until.IsZero() {
		return s.seconds(until)
	}
	return 0
}

// ended returns how a run has ended, without waiting for it.
func (s *scene) ended(h *spawn.Handle) (spawn.Result, error) {
	s.Helper()
	select {
	case <-h.Done():
	default:
		s.Fatalf("%s is still %v at %v", h.Status().ID, h.Status().State, s.now())
	}
	return h.Wait()
}

// allEnded counts how runs have ended, by state.
func (s *scene) allEnded(handles ...*spawn.Handle) map[spawn.State]int {
	s.Helper()
	n := map[spawn.State]int{}
	for _, h := range handles {
		r, _ := s.ended(h)
		n[r.State]++
	}
	return n
}

// A response is what an SDK makes of one that is no success.
type response struct {
	status int
	after  time.Duration // 0: nothing stated
}

func (e *response) Error() string             { return fmt.Sprintf("upstream says %d", e.status) }
func (e *response) StatusCode() int           { return e.status }
func (e *response) RetryAfter() time.Duration { return e.after }

func tooMany(after time.Duration) error   { return &response{http.StatusTooManyRequests, after} }
func transient() error                    { return &response{http.StatusInternalServerError, 0} }
func exhausted(after time.Duration) error { return &response{http.StatusPaymentRequired, after} }

func always(err error) func(sceneCall) error { return func(sceneCall) error { return err } }

// before answers err to the calls that begin before sec.
func before(sec float64, err error) func(sceneCall) error {
	return func(c sceneCall) error {
		if c.at < sec {
			return err
		}
		return nil
	}
}

// firstOnly answers err to the first call of each worker.
func firstOnly(err error) func(sceneCall) error {
	return func(c sceneCall) error {
		if c.number == 1 {
			return err
		}
		return nil
	}
}
