package limiter_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdoff-go/holdoff/limiter"
)

// Scenarios J1, J3, J5 and N6: limiters by key.

// playGroup is play for a group. The scene's own limiter is one that nothing uses.
func playGroup(t *testing.T, cfg limiter.GroupConfig, story func(s *scene, g *limiter.Group)) {
	t.Helper()
	play(t, base(), func(s *scene) {
		g, err := limiter.NewGroup(cfg)
		require.NoError(s, err)
		story(s, g)
	})
}

// byBudget gives each scope a budget.
func byBudget(budgets map[string]int) limiter.GroupConfig {
	return limiter.GroupConfig{Config: func(k limiter.Key) limiter.Config {
		return limiter.Config{Budget: budgets[k.Scope]}
	}}
}

func account(name string) limiter.Key { return limiter.Key{Scope: "account", Name: name} }
func model(name string) limiter.Key   { return limiter.Key{Scope: "model", Name: name} }

// askGate is ask at a gate.
func (s *scene) askGate(g *limiter.Gate, p limiter.Priority) *caller {
	ctx, cancel := context.WithCancel(s.ctx)
	c := &caller{cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(c.done)
		defer cancel()
		c.slot, c.err = g.AcquireAs(ctx, p)
		c.at = s.now()
	}()
	synctest.Wait()
	return c
}

func (s *scene) takeAt(g *limiter.Gate) *limiter.Slot {
	s.Helper()
	slot, err := g.TryAcquire()
	require.NoError(s, err)
	return slot
}

// blockedAt expects that the gate is shut, and that error and Status agree on why.
func (s *scene) blockedAt(g *limiter.Gate) *limiter.BlockedError {
	s.Helper()
	st := g.Status()
	slot, err := g.TryAcquire()
	require.Nil(s, slot)
	var blocked *limiter.BlockedError
	require.ErrorAs(s, err, &blocked)
	require.Equal(s, st.Reason, blocked.Reason)
	require.Equal(s, st.Name, blocked.Name)
	return blocked
}

func TestJ1_OneModelDoesNotBlockTheProvider(t *testing.T) {
	playGroup(t, limiter.GroupConfig{}, func(s *scene, g *limiter.Group) {
		flash := g.Of(account("A"), model("A/flash"))
		pro := g.Of(account("A"), model("A/pro"))
		refused := s.takeAt(flash)
		refused.ReportRateLimited(seconds(60)) // nothing named: the narrowest
		refused.Release()
		s.takeAt(pro)
		waits := s.askGate(flash, limiter.Normal)
		require.False(s, waits.back())
		blocked := s.blockedAt(flash)
		require.Equal(s, "model:A/flash", blocked.Name)
		require.Equal(s, seconds(60), blocked.Until.Sub(s.start))
		s.at(60)
		require.NotNil(s, waits.slot)
		require.Equal(s, 60.0, waits.at)
	})
}

func TestJ3_AccountLimitIsOneForAllItsModels(t *testing.T) {
	playGroup(t, limiter.GroupConfig{}, func(s *scene, g *limiter.Group) {
		key := func(name string) limiter.Key { return limiter.Key{Scope: "key", Name: name} }
		a1 := g.Of(key("A"), model("A/1"))
		a2 := g.Of(key("A"), model("A/2"))
		b1 := g.Of(key("B"), model("B/1"))
		refused := s.takeAt(a1)
		refused.At("key").ReportRateLimited(seconds(60))
		refused.Release()
		for _, gate := range []*limiter.Gate{a1, a2} {
			require.Equal(s, "key:A", s.blockedAt(gate).Name)
		}
		s.takeAt(b1)
		s.takeAt(g.Of(model("A/1")))
		w := s.askGate(a2, limiter.Normal)
		s.at(60)
		require.Equal(s, 60.0, w.at)
	})
}

func TestJ5_TwoHandlesOfAKeyAreOneLimiter(t *testing.T) {
	playGroup(t, limiter.GroupConfig{}, func(s *scene, g *limiter.Group) {
		one, other := g.Of(account("A")), g.Of(account("A"))
		require.True(s, one.Equal(other))
		one.ReportRateLimited(seconds(93))
		w := s.askGate(other, limiter.Normal)
		s.at(92.9)
		require.False(s, w.back())
		s.at(93)
		require.Equal(s, 93.0, w.at)
		require.NoError(s, w.err)
	})
}

func TestN6_AllMethodsOfAThousandKeysAtOnce(t *testing.T) {
	const goroutines, keys, rounds = 64, 1000, 200
	synctest.Test(t, func(t *testing.T) {
		g, err := limiter.NewGroup(limiter.GroupConfig{IdleAfter: time.Minute})
		require.NoError(t, err)
		permanent := g.Of(account("first"))
		_, err = permanent.TryAcquire() // its slot is never given back
		require.NoError(t, err)
		var all sync.WaitGroup
		for i := range goroutines {
			all.Go(func() {
				rnd := rand.New(rand.NewPCG(uint64(i), 6))
				for range rounds {
					useAll(t, g, rnd, keys)
				}
			})
		}
		all.Wait()
		require.Greater(t, g.Len(), keys/2)
		for _, st := range g.Status() {
			require.Zero(t, st.Waiting, st.Name)
			if st.Name != "account:first" {
				require.Zero(t, st.InFlight, st.Name)
			}
		}
		// Pauses end, storms are forgotten, budgets come back; nobody asks.
		time.Sleep(24 * time.Hour)
		require.Len(t, g.Status(), 1)
		require.Equal(t, 1, g.Len())
	})
}

// useAll calls every method there is, on keys at random.
func useAll(t *testing.T, g *limiter.Group, rnd *rand.Rand, keys int) {
	n := func() string { return fmt.Sprint(rnd.IntN(keys)) }
	gate := g.Of(account(n()), limiter.Key{Scope: "key", Name: n()}, model(n()))
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	slot, err := gate.AcquireAs(ctx, limiter.Priority(rnd.IntN(3)))
	if err != nil {
		var blocked *limiter.BlockedError
		if !errors.As(err, &blocked) {
			t.Errorf("AcquireAs: %v", err)
		}
		gate.Resume("again")
		return
	}
	call, err := slot.Wait(ctx)
	if err == nil {
		call.ReportSuccess()
	}
	switch rnd.IntN(8) {
	case 0:
		slot.ReportRateLimited(time.Duration(rnd.IntN(3)) * time.Second)
	case 1:
		slot.At("account").ReportOverloaded(time.Second)
	case 2:
		gate.Hold("look")
		gate.Resume("seen")
	case 3:
		gate.ReportOverloaded(0)
	case 4:
		gate.ReportRateLimited(0)
		gate.ReportSuccess()
	case 5:
		call.At("key").ReportRateLimited(0)
	default:
		slot.ReportSuccess()
	}
	slot.Release()
	gate.Status()
	if c, err := gate.Wait(ctx); err == nil {
		c.ReportSuccess()
	}
	if s, err := gate.TryAcquire(); err == nil {
		s.Release()
	}
}

// A caller holds nothing while it waits, and goes when all its limiters have room.
func TestGate_NothingIsHalfTaken(t *testing.T) {
	playGroup(t, byBudget(map[string]int{"account": 2, "model": 1}), func(s *scene, g *limiter.Group) {
		both := g.Of(account("A"), model("flash"))
		first := s.takeAt(both)
		second := s.askGate(both, limiter.Normal)
		require.False(s, second.back())
		require.Equal(s, "model:flash", s.blockedAt(both).Name)
		require.Equal(s, 1, g.Of(account("A")).Status().InFlight, "only the one that runs")
		third := s.takeAt(g.Of(account("A"))) // the account has room for one that needs no more
		first.Release()
		synctest.Wait()
		require.NotNil(s, second.slot)
		require.Equal(s, "model:flash", s.blockedAt(both).Name, "both are full: of equals the narrowest is named")
		third.Release()
		second.slot.Release()
		second.slot.Release()
		for _, st := range g.Status() {
			require.Zero(s, st.InFlight, st.Name)
			require.Zero(s, st.Waiting, st.Name)
		}
	})
}

// A waiter goes over to the queue of whichever limiter blocks it, to its place by
// arrival: those who need less do not wait for it, those who need as much do not
// overtake it.
func TestGate_WaitersGoOverByArrival(t *testing.T) {
	playGroup(t, byBudget(map[string]int{"account": 1, "model": 1}), func(s *scene, g *limiter.Group) {
		a, m := g.Of(account("A")), g.Of(model("flash"))
		both := g.Of(account("A"), model("flash"))
		holdsA, holdsM := s.takeAt(a), s.takeAt(m)
		w1 := s.askGate(both, limiter.Normal)
		w2 := s.askGate(both, limiter.Normal)
		onlyM := s.askGate(m, limiter.Normal)
		onlyA := s.askGate(a, limiter.Normal)

		holdsM.Release() // the model is free, the account is not: who needs no account goes
		synctest.Wait()
		require.Equal(s, []bool{false, false, true, false}, []bool{w1.back(), w2.back(), onlyM.back(), onlyA.back()})
		holdsA.Release() // and here who needs no model
		synctest.Wait()
		require.True(s, onlyA.back())
		require.Equal(s, 2, waiting(w1, w2))

		onlyM.slot.Release()
		onlyA.slot.Release()
		synctest.Wait()
		require.NotNil(s, w1.slot)
		require.False(s, w2.back())
		urgent := s.askGate(both, limiter.Emergency)
		w1.slot.Release()
		synctest.Wait()
		require.NotNil(s, urgent.slot, "by priority, then by arrival")
		urgent.slot.Release()
		synctest.Wait()
		require.NotNil(s, w2.slot)
		w2.slot.Release()
	})
}

// A pause of one limiter keeps out those who need it and nobody else, however they
// were queued.
func TestGate_PauseOfOneKeyLeavesOthersAlone(t *testing.T) {
	playGroup(t, limiter.GroupConfig{}, func(s *scene, g *limiter.Group) {
		ab := g.Of(account("A"), model("flash"))
		bb := g.Of(account("B"), model("flash"))
		g.Of(account("A")).ReportRateLimited(seconds(3600))
		waits := s.askGate(ab, limiter.Normal)
		g.Of(model("flash")).ReportRateLimited(seconds(10))
		later := s.askGate(bb, limiter.Normal)
		s.at(10)
		require.NotNil(s, later.slot, "A's hour is not B's")
		later.slot.ReportSuccess()
		require.False(s, waits.back())
		s.at(3600)
		require.NotNil(s, waits.slot)
	})
}

// What is given back at two limiters at once is there for who has waited longest for
// both, not for who needs one of them and stands there.
func TestGate_WhatComesBackAtOnceIsHandedOutAsOne(t *testing.T) {
	playGroup(t, limiter.GroupConfig{Config: func(k limiter.Key) limiter.Config {
		return limiter.Config{Budget: map[limiter.Key]int{account("A"): 1, account("B"): 9, model("flash"): 2}[k]}
	}}, func(s *scene, g *limiter.Group) {
		a := g.Of(account("A"), model("flash"))
		b := g.Of(account("B"), model("flash"))
		holder := s.takeAt(a)
		first := s.askGate(a, limiter.Normal) // A alone is full
		s.takeAt(b)
		later := s.askGate(b, limiter.Normal) // flash is
		holder.Release()
		synctest.Wait()
		require.NotNil(s, first.slot)
		require.False(s, later.back())
		first.slot.Release()
		synctest.Wait()
		require.NotNil(s, later.slot)
	})
}

// Who goes over to a limiter where nobody waited wakes when that one opens.
func TestGate_WhoGoesOverIsWoken(t *testing.T) {
	playGroup(t, limiter.GroupConfig{}, func(s *scene, g *limiter.Group) {
		g.Of(account("A")).Hold("deploy")
		w := s.askGate(g.Of(account("A"), model("flash")), limiter.Normal)
		g.Of(model("flash")).ReportRateLimited(seconds(20))
		s.at(5)
		g.Of(account("A")).Resume("done")
		require.Equal(s, 1, g.Of(model("flash")).Status().Waiting)
		s.at(20)
		require.NotNil(s, w.slot)
		require.Equal(s, 20.0, w.at)
	})
}

// The latest of all known ends is what a deadline is compared with, and who has the
// word in errors and Status.
func TestGate_DeadlineMeetsTheLongestPause(t *testing.T) {
	playGroup(t, limiter.GroupConfig{}, func(s *scene, g *limiter.Group) {
		gate := g.Of(account("A"), model("flash"))
		g.Of(model("flash")).ReportRateLimited(seconds(5))
		g.Of(account("A")).ReportRateLimited(seconds(100))
		ctx, cancel := context.WithTimeout(s.ctx, seconds(50))
		defer cancel()
		_, err := gate.Acquire(ctx)
		var blocked *limiter.BlockedError
		require.ErrorAs(s, err, &blocked)
		require.ErrorIs(s, err, context.DeadlineExceeded)
		require.Equal(s, 0.0, s.now(), "at once")
		require.Equal(s, "account:A", blocked.Name)
		require.Equal(s, seconds(100), blocked.Wanted)

		// A hold has no known end, and waiting for it ends with the deadline.
		g.Of(account("A")).Resume("")
		g.Of(account("A")).Hold("deploy")
		s.at(6)
		_, err = gate.Acquire(ctx)
		require.ErrorAs(s, err, &blocked)
		require.Equal(s, limiter.ReasonHold, blocked.Reason)
		require.Equal(s, 50.0, s.now())
		require.Equal(s, "deploy", gate.Status().Hold)
	})
}

// Where each report of a slot and of a call of three keys lands.
func TestGate_ReportsLandWhereTheyBelong(t *testing.T) {
	keys := []limiter.Key{account("A"), {Scope: "key", Name: "k"}, model("flash")}
	type reporter interface {
		ReportRateLimited(time.Duration)
		ReportSuccess()
	}
	for _, who := range []string{"slot", "call", "call of a slot"} {
		for _, c := range []struct {
			scopes []string
			lands  string
		}{
			{nil, "model:flash"},
			{[]string{"model"}, "model:flash"},
			{[]string{"key"}, "key:k"},
			{[]string{"org", "account"}, "account:A"},
			{[]string{"account", "key"}, "account:A"},
			{[]string{"org"}, "model:flash"},
		} {
			t.Run(who+" "+strings.Join(c.scopes, ","), func(t *testing.T) {
				playGroup(t, limiter.GroupConfig{}, func(s *scene, g *limiter.Group) {
					gate := g.Of(keys...)
					require.Equal(s, keys, gate.Keys())
					slot := s.takeAt(gate)
					defer slot.Release()
					whole, part := reporter(slot), slot.At(c.scopes...)
					if who != "slot" {
						call, err := gate.Wait(s.ctx)
						if who == "call of a slot" {
							call, err = slot.Wait(s.ctx)
						}
						require.NoError(s, err)
						whole, part = call, call.At(c.scopes...)
					}
					part.ReportRateLimited(0)
					for _, k := range keys {
						require.Equal(s, k.String() == c.lands, g.Of(k).Status().Storm, k.String())
					}
					require.Equal(s, c.lands, gate.Status().Name)
					require.True(s, gate.Status().Storm)
					whole.ReportSuccess() // of a call from before the pause: it says nothing
					require.True(s, gate.Status().Storm)
					gate.ReportSuccess() // of who knows what: it ends the pauses of all
					require.False(s, gate.Status().Storm)
				})
			})
		}
	}
}

// A slot that is the probe of several limiters answers for all of them.
func TestGate_AProbeAnswersForAll(t *testing.T) {
	for name, answer := range map[string]func(*limiter.Slot){
		"by the slot": func(slot *limiter.Slot) { slot.ReportSuccess() },
		"by a call": func(slot *limiter.Slot) {
			call, err := slot.Wait(context.Background())
			if err == nil {
				call.ReportSuccess()
			}
		},
		"by its parts": func(slot *limiter.Slot) {
			slot.At("account").ReportSuccess()
			slot.At("model").ReportSuccess()
		},
	} {
		t.Run(name, func(t *testing.T) {
			playGroup(t, limiter.GroupConfig{}, func(s *scene, g *limiter.Group) {
				gate := g.Of(account("A"), model("flash"))
				g.Of(account("A")).ReportRateLimited(seconds(10))
				g.Of(model("flash")).ReportRateLimited(seconds(10))
				s.at(10)
				probe := s.takeAt(gate)
				require.Equal(s, limiter.ReasonProbing, s.blockedAt(gate).Reason)
				answer(probe)
				s.takeAt(gate)
				s.takeAt(gate)
				require.Equal(s, limiter.ReasonProbing, s.blockedAt(gate).Reason)
			})
		})
	}
}

// Reports and releases of nothing do nothing, as those of a failed Acquire.
func TestGate_NilParts(t *testing.T) {
	var slot *limiter.Slot
	var call *limiter.Call
	slot.At("account").ReportRateLimited(0)
	call.At("account").ReportSuccess()
	require.Nil(t, slot.At())
	require.Nil(t, call.At())
}
