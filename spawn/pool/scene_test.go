package pool_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdoff-go/holdoff/limiter"
	"github.com/holdoff-go/holdoff/retry"
	"github.com/holdoff-go/holdoff/spawn"
	"github.com/holdoff-go/holdoff/spawn/pool"
)

// seconds makes the scenarios' plain numbers durations.
func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

var provider = limiter.Key{Scope: "provider", Name: "acme"}

// A setup says how a scene differs from one slot for each credential's name.
type setup struct {
	ids      string // one credential a letter; empty is "AB"
	slots    int    // of the provider; 0 is 8
	own      int    // of each credential; 0 is 8
	accounts map[string]string
	start    time.Time // zero is the bubble's
	pool     pool.Config[string]
	spawn    spawn.Config
}

// A scene is a provider, a pool and a spawner in a bubble of virtual time, with all
// that they told.
type scene struct {
	*testing.T
	ctx     context.Context
	start   time.Time
	group   *limiter.Group
	gate    *limiter.Gate
	onEvent func(pool.Event) // of the pool, besides
	pool    *pool.Pool[string]
	spawner *spawn.Spawner
	log     bytes.Buffer

	mu       sync.Mutex
	events   []pool.Event
	workers  []spawn.Event
	pauses   []limiter.Event
	deaths   []spawn.Death
	switches []string
	calls    []callTo
	results  []spawn.Result
	errs     []error
}

// A callTo is one call that the upstream has seen.
type callTo struct {
	credential, worker string
	number             int // of the worker, from 1
	at                 float64
}

func secret(id string) string { return "sk-secret-of-" + id }

func play(t *testing.T, u setup, f func(s *scene)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		if !u.start.IsZero() {
			time.Sleep(time.Until(u.start))
		}
		s := &scene{T: t, ctx: t.Context(), start: time.Now()}
		var err error
		s.group, err = limiter.NewGroup(limiter.GroupConfig{Config: func(k limiter.Key) limiter.Config {
			budget := max(u.own, 0)
			if k == provider {
				budget = u.slots
			}
			if budget == 0 {
				budget = 8
			}
			return limiter.Config{Budget: budget, OnEvent: func(e limiter.Event) { s.note(func() { s.pauses = append(s.pauses, e) }) }}
		}})
		require.NoError(t, err)
		s.gate = s.group.Of(provider)

		logger := slog.New(slog.NewJSONHandler(&s.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
		u.pool.Group, u.pool.Logger = s.group, logger
		for _, id := range strings.Split(u.ids+strings.Repeat("AB", 1-min(1, len(u.ids))), "") {
			u.pool.Credentials = append(u.pool.Credentials, pool.Credential[string]{ID: id, Account: u.accounts[id], Value: secret(id)})
		}
		u.pool.OnEvent = func(e pool.Event) {
			s.note(func() { s.events = append(s.events, e) })
			if s.onEvent != nil {
				s.onEvent(e)
			}
		}
		onSwitch := u.pool.OnSwitch
		u.pool.OnSwitch = func(ctx context.Context, from, to string) error {
			s.note(func() { s.switches = append(s.switches, from+to) })
			if onSwitch != nil {
				return onSwitch(ctx, from, to)
			}
			return nil
		}
		s.pool, err = pool.New(u.pool)
		require.NoError(t, err)

		u.spawn.Limiter, u.spawn.Pool, u.spawn.Logger = s.gate, s.pool, logger
		u.spawn.OnEvent = func(e spawn.Event) { s.note(func() { s.workers = append(s.workers, e) }) }
		u.spawn.OnDeath = func(d spawn.Death) { s.note(func() { s.deaths = append(s.deaths, d) }) }
		s.spawner, err = spawn.New(u.spawn)
		require.NoError(t, err)
		f(s)
		synctest.Wait()
		s.noSecrets()
		s.oneEndEach()
	})
}

func (s *scene) note(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
}

// at sleeps until so many seconds of the scene, and until all that happens then has.
func (s *scene) at(sec float64) {
	s.Helper()
	require.LessOrEqual(s, time.Since(s.start), seconds(sec), "the scene is past that")
	time.Sleep(seconds(sec) - time.Since(s.start))
	synctest.Wait()
}

// clock is t as seconds of the scene.
func (s *scene) clock(t time.Time) float64 { return t.Sub(s.start).Seconds() }

// A script answers a call.
type script func(c callTo) error

// work is a worker of one call, which takes 50 ms.
func (s *scene) work(answer script) func(context.Context, *spawn.Attempt) error {
	return func(ctx context.Context, a *spawn.Attempt) error {
		err := s.call(ctx, a, answer)
		time.Sleep(50 * time.Millisecond)
		return err
	}
}

// call books a call with the credential of ctx and answers it.
func (s *scene) call(ctx context.Context, a *spawn.Attempt, answer script) error {
	c, ok := s.pool.From(ctx)
	if !ok || c.Value != secret(c.ID) || a.Credential() != c.ID {
		return fmt.Errorf("the attempt has no credential: %q", c.ID)
	}
	call := callTo{credential: c.ID, worker: a.WorkerID(), number: a.Number(), at: s.clock(time.Now())}
	s.note(func() { s.calls = append(s.calls, call) })
	return answer(call)
}

// launch starts a worker of one call.
func (s *scene) launch(id string, answer script) *spawn.Handle {
	return s.spawner.Start(s.ctx, spawn.Worker{ID: id, Run: s.work(answer)})
}

// run is launch, to the end.
func (s *scene) run(id string, answer script) (spawn.Result, error) {
	return s.wait(s.launch(id, answer))
}

// wait returns how a run ended, and remembers it.
func (s *scene) wait(h *spawn.Handle) (spawn.Result, error) {
	r, err := h.Wait()
	s.note(func() {
		s.results = append(s.results, r)
		s.errs = append(s.errs, err)
	})
	return r, err
}

// seen are the credentials of the calls so far, in order.
func (s *scene) seen() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var b strings.Builder
	for _, c := range s.calls {
		b.WriteString(c.credential)
	}
	return b.String()
}

func (s *scene) switched() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.switches)
}

// parked says until when each credential is, in seconds of the scene; -1 is until it
// has a new secret.
func (s *scene) parked() map[string]float64 {
	parked := map[string]float64{}
	for _, st := range s.pool.Status() {
		switch {
		case st.Parked && st.Until.IsZero():
			parked[st.ID] = -1
		case st.Parked:
			parked[st.ID] = s.clock(st.Until)
		}
	}
	return parked
}

// kinds are the pool's events so far, without those of others.
func (s *scene) kinds(kind pool.EventKind) int {
	synctest.Wait() // another goroutine may be telling them
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, e := range s.events {
		if e.Kind == kind {
			n++
		}
	}
	return n
}

// opened are the names of the limiters that have opened a pause.
func (s *scene) opened() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var names []string
	for _, e := range s.pauses {
		if e.Kind == limiter.EventPauseOpened {
			names = append(names, e.Status.Name)
		}
	}
	return names
}

// noSecrets is P20, of every scene.
func (s *scene) noSecrets() {
	statuses := []any{s.pool.Status(), s.spawner.Roster(), s.group.Status()}
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.log.String()
	for _, what := range append(statuses, s.events, s.workers, s.pauses, s.deaths, s.results, s.errs) {
		all += fmt.Sprintf("%+v %#v", what, what)
		if text, err := json.Marshal(what); err == nil {
			all += string(text)
		}
	}
	for _, err := range s.errs {
		if err != nil {
			all += err.Error()
		}
	}
	require.NotContains(s, all, "sk-secret", "P20")
}

// oneEndEach is the law of the one terminal event, of every scene.
func (s *scene) oneEndEach() {
	s.mu.Lock()
	defer s.mu.Unlock()
	ends := map[string]int{}
	for _, e := range s.workers {
		if e.State.Terminal() {
			ends[e.ID]++
		}
	}
	runs := map[string]int{}
	for _, r := range s.results {
		runs[r.ID]++
	}
	for id, n := range runs {
		require.Equal(s, n, ends[id], "terminal events of %s", id)
	}
}

// A refusal is what an SDK makes of an answer.
type refusal struct {
	status int
	after  time.Duration // 0: nothing stated
}

func (e *refusal) Error() string             { return fmt.Sprintf("upstream says %d", e.status) }
func (e *refusal) StatusCode() int           { return e.status }
func (e *refusal) RetryAfter() time.Duration { return e.after }

func exhausted(after float64) error   { return &refusal{http.StatusPaymentRequired, seconds(after)} }
func rateLimited(after float64) error { return &refusal{http.StatusTooManyRequests, seconds(after)} }
func unauthorized() error             { return &refusal{http.StatusUnauthorized, 0} }
func overloaded() error               { return &refusal{529, 0} }

// fails answers calls with these credentials by err, and accepts others.
func fails(ids string, err error) script {
	return func(c callTo) error {
		if strings.Contains(ids, c.credential) {
			return err
		}
		return nil
	}
}

func accepts(callTo) error { return nil }

func classes(r spawn.Result) []retry.Class {
	var cs []retry.Class
	for _, a := range r.Attempts {
		cs = append(cs, a.Verdict.Class)
	}
	return cs
}
