package limiter_test

import (
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdoff-go/holdoff/limiter"
)

var overlapping = []limiter.Key{account("A"), account("B"), model("1"), model("2"), {Scope: "key", Name: "k"}}

// some returns one to all of overlapping, in any order.
func some(rnd *rand.Rand) []limiter.Key {
	keys := slices.Clone(overlapping)
	rnd.Shuffle(len(keys), func(i, j int) { keys[i], keys[j] = keys[j], keys[i] })
	return keys[:1+rnd.IntN(len(keys))]
}

// In a bubble a deadlock ends the test. No limiter ever has more in flight than its
// budget, and none is left with a slot.
func TestGate_OverlappingKeysNeverLockUp(t *testing.T) {
	for _, budget := range []int{1, 3} {
		synctest.Test(t, func(t *testing.T) {
			g, err := limiter.NewGroup(limiter.GroupConfig{Config: func(limiter.Key) limiter.Config {
				return limiter.Config{Budget: budget, Pause: time.Second}
			}})
			require.NoError(t, err)
			var inFlight [5]atomic.Int64
			var all sync.WaitGroup
			for i := range 64 {
				all.Go(func() {
					rnd := rand.New(rand.NewPCG(uint64(i), uint64(budget)))
					for range 100 {
						keys := some(rnd)
						slot, err := g.Of(keys...).AcquireAs(t.Context(), limiter.Priority(rnd.IntN(3)))
						if err != nil {
							t.Error(err)
							return
						}
						for _, k := range keys {
							if n := inFlight[slices.Index(overlapping, k)].Add(1); n > int64(budget) {
								t.Errorf("%v: %d in flight", k, n)
							}
						}
						switch rnd.IntN(20) {
						case 0:
							slot.At(keys[0].Scope).ReportRateLimited(time.Duration(rnd.IntN(2000)) * time.Millisecond)
						case 1:
							time.Sleep(time.Millisecond)
							slot.ReportSuccess()
						default:
							runtime.Gosched()
							slot.ReportSuccess()
						}
						for _, k := range keys {
							inFlight[slices.Index(overlapping, k)].Add(-1)
						}
						slot.Release()
					}
				})
			}
			all.Wait()
			for _, st := range g.Status() {
				require.Zero(t, st.InFlight, st.Name)
				require.Zero(t, st.Waiting, st.Name)
			}
		})
	}
}

// Whatever happens: who waits is kept out by a limiter that says so, nobody is
// overtaken by a caller of his priority who needs all that he needs, and the counts
// of all limiters are those of the slots that are out.
func TestGate_NobodyIsOvertakenByHisEqual(t *testing.T) {
	for seed := range uint64(40) {
		playGroup(t, byBudget(map[string]int{"account": 2, "model": 1, "key": 3}), func(s *scene, g *limiter.Group) {
			w := &walk{scene: s, group: g, rnd: rand.New(rand.NewPCG(seed, 1))}
			for range 120 {
				w.step()
				w.check()
			}
			for _, c := range w.waiting {
				c.cancel()
			}
			synctest.Wait()
			for _, c := range append(w.waiting, w.running...) {
				c.slot.Release()
			}
			for _, st := range g.Status() {
				require.Zero(s, st.InFlight, st.Name)
				require.Zero(s, st.Waiting, st.Name)
			}
		})
	}
}

type walk struct {
	*scene
	group   *limiter.Group
	rnd     *rand.Rand
	waiting []*member // by arrival
	running []*member
}

type member struct {
	*caller
	keys     []limiter.Key
	priority limiter.Priority
}

func (w *walk) step() {
	switch n := w.rnd.IntN(20); {
	case n < 9:
		m := &member{keys: some(w.rnd), priority: limiter.Priority(w.rnd.IntN(2))}
		m.caller = w.askGate(w.group.Of(m.keys...), m.priority)
		w.waiting = append(w.waiting, m)
	case n < 15 && len(w.running) > 0:
		i := w.rnd.IntN(len(w.running))
		if w.rnd.IntN(4) > 0 {
			w.running[i].slot.ReportSuccess()
		}
		w.running[i].slot.Release()
		w.running = slices.Delete(w.running, i, i+1)
	case n == 15 && len(w.running) > 0:
		m := w.running[w.rnd.IntN(len(w.running))]
		m.slot.At(m.keys[0].Scope).ReportRateLimited(seconds(float64(w.rnd.IntN(3))))
	case n == 16 && len(w.waiting) > 0:
		i := w.rnd.IntN(len(w.waiting))
		w.waiting[i].cancel()
		synctest.Wait()
		w.waiting = slices.Delete(w.waiting, i, i+1)
	case n == 17:
		w.group.Of(some(w.rnd)...).Hold("a moment")
	case n == 18:
		w.group.Of(some(w.rnd)...).Resume("go on")
	default:
		time.Sleep(seconds(w.rnd.Float64() * 5))
	}
	synctest.Wait()
}

func (w *walk) check() {
	var still []*member
	for _, m := range w.waiting {
		if !m.back() {
			still = append(still, m)
			require.NotEmpty(w, w.group.Of(m.keys...).Status().Reason, "%v waits for nothing", m.keys)
			continue
		}
		require.NoError(w, m.err)
		w.running = append(w.running, m)
		for _, earlier := range still {
			require.False(w, earlier.priority >= m.priority && subset(earlier.keys, m.keys),
				"%v overtook %v", m.keys, earlier.keys)
		}
	}
	w.waiting = still
	waiting := 0
	for _, k := range overlapping {
		out := 0
		for _, m := range w.running {
			if slices.Contains(m.keys, k) {
				out++
			}
		}
		st := w.group.Of(k).Status()
		require.Equal(w, out, st.InFlight, "in flight at %v", k)
		waiting += st.Waiting
	}
	require.Equal(w, len(still), waiting)
}

func subset(a, b []limiter.Key) bool {
	return !slices.ContainsFunc(a, func(k limiter.Key) bool { return !slices.Contains(b, k) })
}
