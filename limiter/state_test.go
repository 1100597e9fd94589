package limiter

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The laws that the two pure functions keep in whatever state a limiter may come
// to. The alarm and the shortcut for a steady state rest on them.
func TestState_Laws(t *testing.T) {
	for seed := range uint64(50) {
		w := newWalk(t, rand.New(rand.NewPCG(seed, 1)))
		for range 300 {
			w.step()
			w.checkBounds()
			w.checkTime()
			w.checkAnswers()
		}
	}
}

// A walk is a state, the time, and who has been admitted, through random events.
type walk struct {
	*testing.T
	r      *rand.Rand
	s      state
	now    instant
	inside []*origin
	gone   []*origin
}

func newWalk(t *testing.T, r *rand.Rand) *walk {
	pick := func(ds ...time.Duration) time.Duration { return ds[r.IntN(len(ds))] }
	cfg, err := Config{
		Budget:     1 + r.IntN(5),
		Pause:      pick(0, -1, 7*time.Second),
		ProbeAfter: pick(0, -1, 5*time.Second),
		Recover:    pick(0, -1, 10*time.Second),
		Grow:       r.IntN(4) - 1,
	}.withDefaults()
	require.NoError(t, err)
	return &walk{T: t, r: r, s: newState(cfg.rules(), cfg.Budget)}
}

func (w *walk) step() {
	w.now += w.timeStep()
	w.s = w.s.at(w.now)
	switch w.r.IntN(10) {
	case 0, 1, 2, 3:
		p := Priority(w.r.IntN(int(priorities)))
		if w.s.may(p, w.now).reason == ReasonNone {
			o := w.s.admit(p, w.now)
			if p != call {
				w.inside = append(w.inside, &o)
			} else {
				w.gone = append(w.gone, &o)
			}
		}
	case 4:
		if n := len(w.inside); n > 0 {
			i := w.r.IntN(n)
			o := w.inside[i]
			w.inside = append(w.inside[:i], w.inside[i+1:]...)
			if w.r.IntN(4) == 0 {
				w.s.revoke(*o)
			} else {
				w.s.release(*o)
				w.gone = append(w.gone, o)
			}
			o.gone = true
		}
	case 5, 6:
		stated := []time.Duration{0, 0, time.Second, 20 * time.Second}[w.r.IntN(4)]
		cause := []Reason{ReasonRateLimited, ReasonOverloaded}[w.r.IntN(2)]
		w.s.refuse(w.now, refusal{origin: *w.anyOrigin(), cause: cause, stated: stated, cut: w.s.inFlight / 2})
	case 7, 8:
		o := w.anyOrigin()
		w.s.succeed(w.now, *o)
		o.counted = false
	case 9:
		switch w.r.IntN(4) {
		case 0:
			w.s.lift()
		case 1:
			w.s.holdOff(w.now, "hold")
			w.s.lift()
		case 2:
			w.s.resize(1 + w.r.IntN(5))
		}
	}
}

func (w *walk) timeStep() time.Duration {
	return []time.Duration{0, 0, 0, time.Second, 3 * time.Second, 29 * time.Second, 200 * time.Second, time.Hour}[w.r.IntN(8)]
}

func (w *walk) anyOrigin() *origin {
	from := append(append([]*origin{}, w.inside...), w.gone...)
	if len(from) == 0 || w.r.IntN(3) == 0 {
		return &origin{}
	}
	return from[w.r.IntN(len(from))]
}

func (w *walk) checkBounds() {
	s := &w.s
	require.Equal(w, len(w.inside), s.inFlight)
	require.GreaterOrEqual(w, s.budget, min(s.rules.floor, s.ceiling))
	require.LessOrEqual(w, s.budget, s.ceiling)
	require.GreaterOrEqual(w, s.unanswered, 0)
	require.LessOrEqual(w, s.unanswered, s.window)
	if s.window > 0 {
		counted := 0
		for _, o := range w.inside {
			if s.counts(*o) {
				counted++
			}
		}
		require.Equal(w, counted, s.unanswered, "what is unanswered is in flight")
	}
	if s.open {
		require.Greater(w, s.until(), w.now)
		require.Positive(w, s.window)
		require.LessOrEqual(w, s.since, w.now)
	}
	if s.storm {
		require.Positive(w, s.gap)
		require.LessOrEqual(w, s.gap, s.rules.lastGap)
		require.Positive(w, s.until())
	} else {
		require.False(w, s.guessed)
		require.Zero(w, s.doublings)
		if !s.open {
			require.Zero(w, s.until(), "what is over is forgotten, so that the state can be steady")
		}
	}
}

func (w *walk) checkTime() {
	w.same(w.s, w.s.at(w.now), "at is idempotent")
	u := w.now + w.timeStep()
	v := u + w.timeStep()
	w.same(w.s.at(v), w.s.at(u).at(v), "looking in between makes no difference")
	if w.s.steady() {
		w.same(w.s, w.s.at(v), "steady")
	}
}

func (w *walk) same(a, b state, law string) {
	if a != b { // states are compared often, and printed seldom
		require.Equal(w, a, b, law)
	}
}

func (w *walk) checkAnswers() {
	before := answer{}
	for p := Normal; p < priorities; p++ {
		a := w.s.may(p, w.now)
		if p > Normal && before.reason == ReasonNone {
			require.Equal(w, ReasonNone, a.reason, "%v may not where a lower one may", p)
		}
		before = a
		if a.reason == ReasonNone {
			continue
		}
		if w.s.steady() {
			require.Equal(w, never, a.again)
		}
		require.Greater(w, a.again, w.now, "an alarm in the past would spin")
		// Nobody is woken late: until again, time alone opens nothing.
		last := min(a.again-1, w.now+24*time.Hour)
		for _, u := range []instant{w.now + 1, (w.now + last) / 2, last} {
			later := w.s.at(u)
			if later.may(p, u).reason == ReasonNone {
				require.Failf(w, "woken late", "%v may pass at %v, before %v", p, u, a.again)
			}
		}
		if a.from > 0 {
			require.LessOrEqual(w, a.from, a.again)
		}
	}
}
