package compat

import (
	"context"
	"errors"
	"math"
	"sync"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdoff-go/holdoff/internal/clock"
	"github.com/holdoff-go/holdoff/limiter"
)

// A source draws numbers from 0 to n-1: rapid's, or a fuzzer's bytes.
type source func(what string, n int) int

// bubbleClock is the clock of the synctest bubble, with a time of day that can be
// set.
type bubbleClock struct {
	start time.Time

	mu  sync.Mutex
	set time.Duration
}

var _ clock.Reader = (*bubbleClock)(nil)

func (c *bubbleClock) Read() clock.Reading {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	return clock.Reading{Wall: now.Round(0).Add(c.set), Mono: now.Sub(c.start)}
}

func (c *bubbleClock) Now() time.Time                         { return c.Read().Wall }
func (c *bubbleClock) After(d time.Duration) <-chan time.Time { return time.After(d) }

func (c *bubbleClock) jump(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.set += d
}

// A driver does the same to a limiter and to the model, and compares them.
type driver struct {
	require.TestingT
	draw   source
	l      *limiter.Limiter
	clock  *bubbleClock
	m      *model
	ctx    context.Context
	stale  *limiter.Slot // of before the last Resume: its reports make the limiter look, and nothing else
	people []*person
	slots  []*held
	calls  []*held
	until  time.Duration // BlockedUntil, seen from the start of the line; 0: none
	line   time.Duration
}

// A person is somebody who called Acquire or Wait.
type person struct {
	model  *asked
	cancel context.CancelFunc

	// What came of it: to be read after synctest.Wait.
	slot *limiter.Slot
	call *limiter.Call
	err  error
	back bool
}

// held is a slot or a call, and its ticket in the model.
type held struct {
	slot   *limiter.Slot
	call   *limiter.Call
	ticket *ticket
}

func (h *held) refused(overloaded bool, stated time.Duration) {
	switch {
	case h.slot != nil && overloaded:
		h.slot.ReportOverloaded(stated)
	case h.slot != nil:
		h.slot.ReportRateLimited(stated)
	case overloaded:
		h.call.ReportOverloaded(stated)
	default:
		h.call.ReportRateLimited(stated)
	}
}

func (h *held) succeeded() {
	if h.slot != nil {
		h.slot.ReportSuccess()
	} else {
		h.call.ReportSuccess()
	}
}

// drive runs steps random steps. It must be called in a synctest bubble.
func drive(t require.TestingT, draw source, steps int) {
	ctx, cancel := context.WithCancel(context.Background())
	d := &driver{TestingT: t, draw: draw, clock: &bubbleClock{start: time.Now()}, ctx: ctx}
	defer func() {
		cancel()
		synctest.Wait()
	}()
	d.begin()
	for range steps {
		d.step()
	}
}

func (d *driver) begin() {
	pick := func(what string, ns ...int) int { return ns[d.draw(what, len(ns))] }
	seconds := func(n int) time.Duration { return time.Duration(n) * time.Second }
	budget := 1 + d.draw("budget", 6)
	m := modelConfig{
		pause:      pick("pause", 60, 7, 0),
		maxPause:   pick("max pause", 24*3600, 40),
		firstGap:   pick("probe after", 3, 5, 0),
		recover:    pick("recover", 180, 11, 0),
		grow:       pick("grow", 1, 2, 0),
		floor:      1 + d.draw("floor", min(2, budget)),
		maxWaiting: pick("max waiting", 0, 2),
		burst:      pick("burst", 0, 0, 1, 3),
		cut:        func(_, inFlight int) int { return inFlight / 2 },
		lastGap:    60,
	}
	cfg := limiter.Config{
		Budget: budget, Floor: m.floor, Pause: seconds(m.pause), MaxPause: seconds(m.maxPause), ProbeAfter: seconds(m.firstGap),
		Recover: seconds(m.recover), Grow: m.grow, MaxWaiting: m.maxWaiting, Clock: d.clock,
	}
	if m.pause == 0 {
		cfg.Pause = -1
	} else {
		m.lastGap = m.pause
		if d.draw("doubling", 2) == 0 {
			cfg.MaxAssumedPause = cfg.Pause
		}
	}
	m.maxAssumed = 600
	if cfg.MaxAssumedPause > 0 {
		m.maxAssumed = m.pause
	}
	if m.probes = m.firstGap > 0; !m.probes {
		m.firstGap, cfg.ProbeAfter = 3, -1
	}
	if m.recover == 0 {
		cfg.Recover = -1
	}
	if m.grow == 0 {
		cfg.Grow = -1
	}
	if m.burst > 0 {
		cfg.Pace, cfg.Burst = 1, m.burst
	}
	if d.draw("cut", 2) == 0 {
		m.cut = func(budget, inFlight int) int { return min(budget, inFlight) - 1 }
		cfg.Cut = m.cut
	}

	l, err := limiter.New(cfg)
	require.NoError(d, err)
	d.l, d.m = l, newModel(m, budget)
	d.stale, err = l.TryAcquire()
	require.NoError(d, err)
	d.m.release(d.m.admit(limiter.Normal))
	d.stale.Release()
	l.Hold("")
	l.Resume("")
	d.m.hold = true
	d.m.resume()
	d.compare("begin", false)
}

func (d *driver) step() {
	lifts := false // may this step move BlockedUntil to earlier?
	what := ""
	switch d.draw("step", 16) {
	case 0, 1, 2:
		what = "acquire"
		d.acquire(limiter.Priority(d.draw("priority", 3)))
	case 3:
		what = "wait"
		d.acquire(running)
	case 4:
		what = "try"
		d.try(false)
	case 5, 6:
		what = "release"
		if h := d.any(d.slots); h != nil {
			h.slot.Release()
			d.m.release(h.ticket)
			if d.draw("twice", 4) == 0 {
				h.slot.Release()
			}
		}
	case 7, 8, 9:
		what = "refused"
		h := d.anyOrigin()
		overloaded := d.draw("overloaded", 4) == 0
		stated := []int{0, 0, 0, 1, 5, 30, 100, -5, math.MaxInt32}[d.draw("stated", 9)]
		if h == nil {
			if overloaded {
				d.l.ReportOverloaded(time.Duration(stated) * time.Second)
			} else {
				d.l.ReportRateLimited(time.Duration(stated) * time.Second)
			}
			d.m.refused(nil, overloaded, stated)
		} else {
			h.refused(overloaded, time.Duration(stated)*time.Second)
			d.m.refused(h.ticket, overloaded, stated)
		}
	case 10, 11:
		what, lifts = "succeeded", true
		if h := d.anyOrigin(); h == nil {
			d.l.ReportSuccess()
			d.m.succeeded(nil)
		} else {
			h.succeeded()
			d.m.succeeded(h.ticket)
		}
	case 12:
		what = "cancel"
		if n := len(d.people); n > 0 {
			p := d.people[d.draw("person", n)]
			p.cancel()
			d.m.leave(p.model)
		}
	case 13:
		what = "operator"
		switch d.draw("operator", 3) {
		case 0:
			d.l.Hold("hold")
			d.m.hold = true
		case 1:
			lifts = true
			d.l.Resume("resume")
			d.m.resume()
		case 2:
			n := 1 + d.draw("budget", 6)
			require.NoError(d, d.l.SetBudget(n))
			d.m.setBudget(n)
		}
	case 14:
		what = "time"
		d.pass([]int{1, 2, 3, 10, 31, 61, 181, 650}[d.draw("seconds", 8)])
		lifts = true // by its end; compare sees to the rest
	case 15:
		what = "set the time of day"
		d.jump([]int{3, 10, 31, 700, -3, -50, -4000}[d.draw("jump", 7)])
		lifts = true
	}
	d.m.handOut()
	d.settle()
	d.compare(what, lifts)
	if d.draw("law", 2) == 0 {
		d.try(true)
		d.m.handOut()
		d.settle()
		d.compare("the law of Status", false)
	}
}

func (d *driver) any(hs []*held) *held {
	if len(hs) == 0 {
		return nil
	}
	return hs[d.draw("which", len(hs))]
}

// anyOrigin returns a slot or call; nil stands for the plain hooks.
func (d *driver) anyOrigin() *held {
	switch d.draw("origin", 4) {
	case 0:
		return nil
	case 1:
		return d.any(d.calls)
	default:
		return d.any(d.slots)
	}
}

// acquire has somebody call Acquire or Wait.
func (d *driver) acquire(p limiter.Priority) {
	deadline := []int{-1, -1, -1, 0, 5, 61}[d.draw("deadline", 6)]
	ctx, cancel := context.WithCancel(d.ctx)
	if deadline >= 0 {
		ctx, cancel = context.WithTimeout(d.ctx, time.Duration(deadline)*time.Second+500*time.Millisecond)
	}
	var under *held // a slot whose Wait is called
	if p == running && d.draw("under", 2) == 0 {
		under = d.any(d.slots)
	}
	who := &person{cancel: cancel}
	go func() {
		defer cancel()
		var (
			slot *limiter.Slot
			call *limiter.Call
			err  error
		)
		switch {
		case p != running:
			slot, err = d.l.AcquireAs(ctx, p)
		case under != nil:
			call, err = under.slot.Wait(ctx)
		default:
			call, err = d.l.Wait(ctx)
		}
		who.slot, who.call, who.err, who.back = slot, call, err, true
	}()
	synctest.Wait()

	ticket, asks, reason := d.m.enter(p, deadline)
	if asks == nil {
		asks = &asked{priority: p, ticket: ticket, gone: ticket == nil}
	}
	who.model = asks
	if asks.ticket == nil && asks.gone {
		var blocked *limiter.BlockedError
		require.ErrorAs(d, who.err, &blocked)
		require.Equal(d, reason, blocked.Reason)
		require.Equal(d, reason != limiter.ReasonQueueFull, errors.Is(who.err, context.DeadlineExceeded))
	}
	if under != nil {
		asks.under = under.ticket
	}
	d.people = append(d.people, who)
}

// try calls TryAcquire: it passes exactly when Status has said so.
func (d *driver) try(giveBack bool) {
	shown := d.l.Status().Reason
	require.Equal(d, d.m.shown(), shown)
	slot, err := d.l.TryAcquire()
	if shown != limiter.ReasonNone {
		var blocked *limiter.BlockedError
		require.ErrorAs(d, err, &blocked)
		require.Equal(d, shown, blocked.Reason)
		return
	}
	require.NoError(d, err)
	h := &held{slot: slot, ticket: d.m.admit(limiter.Normal)}
	if giveBack {
		slot.Release()
		d.m.release(h.ticket)
		return
	}
	d.slots = append(d.slots, h)
}

// pass lets time pass, and looks at every second of it.
func (d *driver) pass(seconds int) {
	for range seconds {
		time.Sleep(500 * time.Millisecond)
		for _, p := range d.people {
			if a := p.model; a.ticket == nil && !a.gone && a.deadline >= 0 {
				if a.deadline--; a.deadline < 0 {
					d.m.leave(a)
				}
			}
		}
		time.Sleep(500 * time.Millisecond)
		synctest.Wait()
		d.m.second()
		d.m.handOut()
		d.line += time.Second
		d.settle()
		d.compare("a second", true)
	}
}

// jump sets the time of day. Forward it is as if the host had slept; backward it
// is nothing.
func (d *driver) jump(seconds int) {
	d.clock.jump(time.Duration(seconds) * time.Second)
	d.stale.ReportRateLimited(0) // those who sleep look again at the next call
	for range seconds {
		d.m.second()
		d.line += time.Second
	}
}

// settle takes over what people have come back with, and compares it with whom
// the model has let in.
func (d *driver) settle() {
	synctest.Wait()
	var rest []*person
	for _, p := range d.people {
		let := p.model.ticket != nil
		require.Equal(d, let || p.model.gone, p.back, "%v has come back", p.model.priority)
		if !p.back {
			rest = append(rest, p)
		} else {
			require.Equal(d, let, p.err == nil, "%v: %v", p.model.priority, p.err)
		}
		switch {
		case p.slot != nil:
			d.slots = append(d.slots, &held{slot: p.slot, ticket: p.model.ticket})
		case p.call != nil:
			p.model.ticket.slot = p.model.under
			d.calls = append(d.calls, &held{call: p.call, ticket: p.model.ticket})
		}
	}
	d.people = rest
}

// compare compares what Status shows with the model. No step but one that lifts
// moves BlockedUntil to earlier.
func (d *driver) compare(what string, lifts bool) {
	m, st := d.m, d.l.Status()
	require.Equal(d, m.shown(), st.Reason, what)
	require.Equal(d, m.budget, st.Budget, what)
	require.Equal(d, m.inFlight(), st.InFlight, what)
	require.Equal(d, m.waiting(), st.Waiting, what)
	require.Equal(d, m.storm, st.Storm, what)
	until := time.Duration(0)
	if m.paused {
		left := time.Duration(m.left()) * time.Second
		require.Equal(d, left, st.BlockedUntil.Sub(d.clock.Now()), what)
		require.Equal(d, time.Duration(m.pausedFor)*time.Second, d.clock.Now().Sub(st.Since), what)
		until = d.line + left
	} else {
		require.Zero(d, st.BlockedUntil, what)
	}
	over := d.until <= d.line
	if !lifts || until > 0 && !over && what == "a second" {
		require.True(d, over || until >= d.until, "%s has shortened the pause from %v to %v", what, d.until, until)
	}
	d.until = until
}
