package limiter

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func newGroup(t *testing.T, cfg GroupConfig) *Group {
	t.Helper()
	g, err := NewGroup(cfg)
	require.NoError(t, err)
	return g
}

var (
	acme  = Key{"account", "acme"}
	flash = Key{"model", "flash"}
)

func TestKey_String(t *testing.T) {
	require.Equal(t, "model:flash", flash.String())
	require.Equal(t, "acme", Key{Name: "acme"}.String())
	require.Equal(t, "model", Key{Scope: "model"}.String())
	require.Empty(t, Key{}.String())
}

func TestNewGroup_Config(t *testing.T) {
	_, err := NewGroup(GroupConfig{IdleAfter: -time.Second})
	require.EqualError(t, err, "limiter: GroupConfig.IdleAfter is -1s: it must be positive, or 0 for 10m")

	g := newGroup(t, GroupConfig{Config: func(k Key) Config {
		if k == flash {
			return Config{Budget: -5}
		}
		return Config{Name: "the account", Budget: 7}
	}})
	require.Equal(t, Status{Name: "the account", Budget: 7}, g.Of(acme).Status())
	require.Zero(t, g.Len(), "a look makes nothing")

	gate := g.Of(acme, flash)
	for name, call := range map[string]func() error{
		"Acquire":    func() error { _, err := gate.Acquire(context.Background()); return err },
		"TryAcquire": func() error { _, err := gate.TryAcquire(); return err },
		"Wait":       func() error { _, err := gate.Wait(context.Background()); return err },
		"SetBudget":  func() error { return gate.SetBudget(3) },
	} {
		require.ErrorContains(t, call(), "key model:flash: limiter: Config.Budget is -5", name)
	}
	gate.ReportRateLimited(0)
	gate.ReportOverloaded(0)
	gate.ReportSuccess()
	gate.Hold("x")
	gate.Resume("x")
	require.Equal(t, ReasonConfig, gate.Status().Reason)
	require.Zero(t, g.Len())
}

// A panic in Config is the caller's error, and nothing is left of it.
func TestGroup_ConfigPanics(t *testing.T) {
	broken := true
	g := newGroup(t, GroupConfig{Config: func(Key) Config {
		if broken {
			panic("no such tenant")
		}
		return Config{}
	}})
	gate := g.Of(acme)
	_, err := gate.Acquire(t.Context())
	require.EqualError(t, err, "limiter: GroupConfig.Config of key account:acme panicked: no such tenant")
	gate.ReportRateLimited(0)
	require.Equal(t, Status{Name: "account:acme", Reason: ReasonConfig}, gate.Status())
	require.Zero(t, g.Len())

	broken = false
	_, err = gate.Acquire(t.Context())
	require.NoError(t, err)
}

// Config is called without the lock: it may use the group.
func TestGroup_ConfigMayUseTheGroup(t *testing.T) {
	var g *Group
	asked := 0
	g = newGroup(t, GroupConfig{Config: func(k Key) Config {
		if asked++; k.Scope == "model" {
			return Config{Budget: g.Of(acme).Status().Budget / 2}
		}
		return Config{Budget: 10}
	}})
	require.Equal(t, 5, g.Of(flash).Status().Budget)
	slot, err := g.Of(acme, flash).Acquire(context.Background())
	require.NoError(t, err)
	slot.Release()
	before := asked
	require.NoError(t, g.Of(acme, flash).SetBudget(3))
	require.Equal(t, before, asked, "only for what the group does not have")
}

func TestGroup_OfKeys(t *testing.T) {
	g := newGroup(t, GroupConfig{})
	require.Equal(t, []Key{{}}, g.Of().Keys())
	require.Equal(t, []Key{acme, flash}, g.Of(flash, acme, flash).Keys(), "a key that comes twice is where it came last")
	require.True(t, g.Of(acme, flash).Equal(g.Of(acme, flash)))
	require.False(t, g.Of(acme, flash).Equal(g.Of(flash, acme)))
	require.False(t, g.Of(acme).Equal(newGroup(t, GroupConfig{}).Of(acme)))
	require.False(t, g.Of(acme).Equal(nil))

	slot, err := g.Of(acme, acme).Acquire(context.Background())
	require.NoError(t, err)
	require.Equal(t, 1, g.Of(acme).Status().InFlight)
	slot.Release()
	slot.Release()
	require.Zero(t, g.Of(acme).Status().InFlight)
}

// What is forgotten, and what is not: nothing that is remembered is lost.
func TestGroup_ForgetsWhatIsAsNew(t *testing.T) {
	for name, c := range map[string]struct {
		use     func(*Gate)
		forgets time.Duration // after this; 0: never
	}{
		"used and given back":          {func(g *Gate) { s, _ := g.TryAcquire(); s.Release() }, 10 * time.Minute},
		"a slot out":                   {func(g *Gate) { _, _ = g.TryAcquire() }, 0},
		"held":                         {func(g *Gate) { g.Hold("deploy") }, 0},
		"another budget":               {func(g *Gate) { _ = g.SetBudget(3) }, 0},
		"the budget it had":            {func(g *Gate) { _ = g.SetBudget(4) }, 10 * time.Minute},
		"a storm is remembered":        {func(g *Gate) { g.ReportRateLimited(time.Hour) }, time.Hour + 20*time.Minute},
		"a storm that a success ended": {func(g *Gate) { g.ReportRateLimited(0); g.ReportSuccess() }, 10 * time.Minute},
		"a cut budget comes back first": {func(g *Gate) {
			s, _ := g.TryAcquire()
			s.ReportRateLimited(0)
			s.Release()
			g.ReportSuccess()
		}, 20 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := newGroup(t, GroupConfig{Config: func(Key) Config { return Config{Budget: 4, Recover: 6 * time.Minute} }})
				c.use(g.Of(acme))
				time.Sleep(10*time.Minute - 1)
				g.Status()
				require.Equal(t, 1, g.Len())
				time.Sleep(time.Nanosecond)
				g.Status()
				if c.forgets == 10*time.Minute {
					require.Zero(t, g.Len())
					return
				}
				require.Equal(t, 1, g.Len())
				for range int((c.forgets + time.Minute) / time.Minute) {
					time.Sleep(time.Minute)
					g.Status()
				}
				if c.forgets == 0 {
					time.Sleep(48 * time.Hour)
					g.Status()
					require.Equal(t, 1, g.Len())
				} else {
					require.Zero(t, g.Len())
				}
			})
		})
	}
	t.Run("a burst that is not full", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			g := newGroup(t, GroupConfig{IdleAfter: time.Second, Config: func(Key) Config { return Config{Pace: 0.1, Burst: 2} }})
			s, err := g.Of(acme).TryAcquire()
			require.NoError(t, err)
			s.Release()
			time.Sleep(9 * time.Second)
			g.Status()
			require.Equal(t, 1, g.Len())
			time.Sleep(2 * time.Second)
			g.Status()
			require.Zero(t, g.Len())
		})
	})
}

// What is forgotten without anybody who looks: by the calls for other keys.
func TestGroup_ForgettingKeepsPaceWithMaking(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGroup(t, GroupConfig{IdleAfter: 100 * time.Second})
		for i := range 5000 {
			s, err := g.Of(acme, Key{"model", fmt.Sprint(i)}).TryAcquire()
			require.NoError(t, err)
			s.Release()
			time.Sleep(time.Second)
			require.LessOrEqual(t, g.Len(), 103)
		}
		statuses := g.Status()
		require.Len(t, statuses, g.Len())
	})
}

// A gate that is kept, one that is new, and a late report: they are about one
// limiter, before and after it has been forgotten.
func TestGroup_AForgottenKeyIsNeverSplit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGroup(t, GroupConfig{IdleAfter: time.Second})
		forget := func() {
			time.Sleep(time.Hour)
			g.Status()
			require.Zero(t, g.Len())
		}
		kept := g.Of(acme)
		early, err := kept.Wait(context.Background())
		require.NoError(t, err)
		forget()

		early.ReportRateLimited(0) // it is the limiter's last generation still
		require.True(t, g.Of(acme).Status().Storm)
		kept.Resume("")
		forget()

		other := g.Of(acme)
		s, err := other.TryAcquire() // another limiter, in the first one's seat
		require.NoError(t, err)
		require.Equal(t, 1, kept.Status().InFlight)
		other.ReportRateLimited(0)
		early.ReportSuccess()
		require.True(t, kept.Status().Storm, "old news")
		early.ReportRateLimited(time.Hour) // a stated time is a fact whenever it comes
		require.Equal(t, time.Hour, time.Until(other.Status().BlockedUntil))
		kept.Resume("")
		s.Release()
		forget()

		s, err = kept.TryAcquire()
		require.NoError(t, err)
		require.Equal(t, 1, other.Status().InFlight)
		s.Release()

		// A limiter that a waiter will need, but does not stand at, may be forgotten.
		both := g.Of(acme, flash)
		g.Of(acme).Hold("long")
		done := make(chan *Slot)
		go func() {
			s, _ := both.Acquire(context.Background())
			done <- s
		}()
		time.Sleep(time.Hour)
		g.Status()
		require.Equal(t, 1, g.Len())
		_, err = g.Of(flash).TryAcquire()
		require.NoError(t, err)
		g.Of(acme).Resume("")
		slot := <-done
		require.Equal(t, 2, g.Of(flash).Status().InFlight)
		slot.Release()
		require.Equal(t, 1, g.Of(flash).Status().InFlight)
	})
}

// The ramp after a storm is forgotten with the rest, also where a gate that knows the
// limiter has it back.
func TestGroup_AForgottenRampDoesNotComeBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGroup(t, GroupConfig{Config: func(Key) Config { return Config{Budget: 4} }})
		kept := g.Of(acme)
		kept.ReportRateLimited(time.Second)
		time.Sleep(time.Second)
		probe, err := kept.TryAcquire()
		require.NoError(t, err)
		probe.ReportSuccess()
		probe.Release()
		time.Sleep(time.Hour)
		g.Status()
		require.Zero(t, g.Len())
		for range 4 {
			_, err := kept.TryAcquire()
			require.NoError(t, err)
		}
	})
}

// A call of a limiter that was forgotten is old news to the one in its seat, though
// neither has seen a refusal.
func TestGroup_LateReportToAnotherLimiter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGroup(t, GroupConfig{})
		early, err := g.Of(acme).Wait(t.Context())
		require.NoError(t, err)
		time.Sleep(time.Hour)
		g.Status()
		other, err := g.Of(acme).Wait(t.Context())
		require.NoError(t, err)
		early.ReportRateLimited(0)
		require.False(t, g.Of(acme).Status().Storm)
		other.ReportRateLimited(0)
		require.True(t, g.Of(acme).Status().Storm)
	})
}

// Cut is called without the lock. What it was asked for may be forgotten before it
// returns; the refusal is not.
func TestGroup_ForgottenWhileCutIsAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g *Group
		var slot *Slot
		var other *Gate
		g = newGroup(t, GroupConfig{Config: func(Key) Config {
			return Config{Budget: 8, Cut: func(int, int) int {
				slot.Release()
				time.Sleep(time.Hour)
				g.Status()
				other = g.Of(acme)
				s, err := other.TryAcquire()
				require.NoError(t, err)
				s.Release()
				return 3
			}}
		}})
		var err error
		slot, err = g.Of(acme).TryAcquire()
		require.NoError(t, err)
		slot.ReportRateLimited(time.Minute)
		require.Equal(t, time.Minute, time.Until(other.Status().BlockedUntil))
	})
}

// askUnheard queues a caller of gate, who does not hear of a grant.
func askUnheard(t *testing.T, gate *Gate, p Priority) *waiter {
	var x pass
	require.NoError(t, gate.ask(&x))
	d := x.limiter.domain
	d.mu.Lock()
	defer d.unlock()
	now := x.advance()
	d.arrivals++
	w := &waiter{priority: p, arrival: d.arrivals, ready: make(chan struct{}, 1), pass: x}
	x.limiter.queue(w)
	x.handOut(now)
	return w
}

// E12 for a gate: a grant that nobody has heard of is taken back at all limiters
// when one of them shuts, and what it held there is there for others.
func TestE12_AGateTakesGrantsBackFromAllItsLimiters(t *testing.T) {
	for name, shut := range map[string]func(*Gate){
		"a refusal": func(g *Gate) { g.ReportRateLimited(time.Hour) },
		"a hold":    func(g *Gate) { g.Hold("deploy") },
	} {
		for _, k := range []Key{acme, flash} {
			t.Run(name+" of "+k.String(), func(t *testing.T) {
				g := newGroup(t, GroupConfig{Config: func(Key) Config { return Config{Budget: 1} }})
				beside := acme
				if k == acme {
					beside = flash
				}
				w := askUnheard(t, g.Of(acme, flash), Normal)
				require.True(t, w.granted.Load())
				next := askUnheard(t, g.Of(beside), Normal)
				require.False(t, next.granted.Load())
				shut(g.Of(k))
				require.False(t, w.granted.Load())
				require.True(t, next.granted.Load(), "what w held is free")
				require.Zero(t, g.Of(k).Status().InFlight)
				require.Equal(t, 1, g.Of(k).Status().Waiting)

				g.Of(k).Resume("")
				require.False(t, w.granted.Load(), "next has it")
				require.Equal(t, 1, g.Of(beside).Status().Waiting)
				g.Of(k).Hold("again")
				require.True(t, next.granted.Load(), "a shut limiter takes nothing of others")

				ctx, cancel := context.WithCancel(context.Background())
				cancel()
				for _, w := range []*waiter{next, w} {
					select {
					case <-w.ready:
					default:
					}
					require.ErrorIs(t, (&pass{limiter: w.at}).await(ctx, w), context.Canceled)
				}
				for _, st := range g.Status() {
					require.Zero(t, st.InFlight, st.Name)
					require.Zero(t, st.Waiting, st.Name)
				}
			})
		}
	}
}

// A queue stays in order of arrival whatever comes over from elsewhere.
func TestQueue_InsertKeepsTheOrder(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	var q queue
	var in []*waiter
	for range 5000 {
		if len(in) > 0 && rnd.IntN(3) == 0 {
			i := rnd.IntN(len(in))
			q.remove(in[i])
			in = slices.Delete(in, i, i+1)
		} else {
			w := &waiter{arrival: rnd.Uint64()}
			q.insert(w)
			in = append(in, w)
		}
		slices.SortFunc(in, func(a, b *waiter) int {
			if a.arrival < b.arrival {
				return -1
			}
			return 1
		})
		var forth, back []*waiter
		for w := q.head; w != nil; w = w.next {
			forth = append(forth, w)
		}
		for w := q.tail; w != nil; w = w.prev {
			back = append(back, w)
		}
		slices.Reverse(back)
		require.True(t, slices.Equal(in, forth) && slices.Equal(in, back) && q.len == len(in))
	}
}
