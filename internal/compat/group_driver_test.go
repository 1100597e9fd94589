package compat

import (
	"context"
	"fmt"
	"math"
	"slices"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdoff-go/holdoff/limiter"
)

// A groupDriver does the same to a group and to its model, and compares them.
type groupDriver struct {
	require.TestingT
	draw    source
	ctx     context.Context
	g       *limiter.Group
	m       *groupModel
	budgets []int
	forgets bool // the group forgets what it can at every second
	callers []*groupCaller
	slots   []*groupCaller
	calls   []*groupCaller
	old     []*groupCaller // slots that were released
}

// A groupCaller is somebody who called a gate.
type groupCaller struct {
	*joint
	cancel context.CancelFunc

	// What came of it: to be read after synctest.Wait.
	slot *limiter.Slot
	call *limiter.Call
	err  error
	back bool
}

func groupKey(i int) limiter.Key { return limiter.Key{Scope: fmt.Sprint("scope", i), Name: "x"} }

// driveGroup runs steps random steps. It must be called in a synctest bubble.
func driveGroup(t require.TestingT, draw source, steps int) {
	ctx, cancel := context.WithCancel(context.Background())
	d := &groupDriver{TestingT: t, draw: draw, ctx: ctx, m: &groupModel{}}
	defer func() {
		cancel()
		synctest.Wait()
	}()
	d.begin()
	for range steps {
		d.step()
	}
}

func (d *groupDriver) begin() {
	var cfgs []limiter.Config
	for range 2 + d.draw("keys", 3) {
		budget := 1 + d.draw("budget", 4)
		m := modelConfig{
			pause: 7, maxAssumed: 600, maxPause: 24 * 3600, firstGap: 3, lastGap: 7, probes: true,
			recover: 11, grow: 1, floor: 1, burst: []int{0, 0, 2}[d.draw("burst", 3)],
			cut: func(_, inFlight int) int { return inFlight / 2 },
		}
		cfg := limiter.Config{Budget: budget, Pause: 7 * time.Second, Recover: 11 * time.Second}
		if m.burst > 0 {
			cfg.Pace, cfg.Burst = 1, m.burst
		}
		cfgs = append(cfgs, cfg)
		d.budgets = append(d.budgets, budget)
		d.m.keys = append(d.m.keys, newModel(m, budget))
	}
	group := limiter.GroupConfig{Config: func(k limiter.Key) limiter.Config {
		var i int
		_, err := fmt.Sscanf(k.Scope, "scope%d", &i)
		require.NoError(d, err)
		return cfgs[i]
	}}
	group.IdleAfter = math.MaxInt64
	if d.forgets = d.draw("forgets", 2) == 0; d.forgets {
		group.IdleAfter = 1
	}
	var err error
	d.g, err = limiter.NewGroup(group)
	require.NoError(d, err)
	d.compare("begin")
}

// some returns one to all of the keys, in any order.
func (d *groupDriver) some() (keys []int, gate *limiter.Gate) {
	all := make([]int, len(d.m.keys))
	for i := range all {
		all[i] = i
	}
	for n := 1 + d.draw("how many", len(all)); len(keys) < n; {
		i := d.draw("key", len(all))
		keys = append(keys, all[i])
		all = slices.Delete(all, i, i+1)
	}
	return keys, d.gate(keys)
}

func (d *groupDriver) gate(keys []int) *limiter.Gate {
	var of []limiter.Key
	for _, k := range slices.Backward(keys) {
		of = append(of, groupKey(k))
	}
	return d.g.Of(of...)
}

func (d *groupDriver) step() {
	what := ""
	switch d.draw("step", 20) {
	case 0, 1, 2, 3, 4:
		what = "acquire"
		d.acquire(limiter.Priority(d.draw("priority", 3)))
	case 5:
		what = "wait"
		d.acquire(running)
	case 6:
		what = "try"
		d.try()
	case 7, 8, 9:
		what = "release"
		if c := d.any(d.slots); c != nil {
			c.slot.Release()
			d.m.release(c.joint)
			d.drop(c)
		}
	case 10, 11:
		what = "exchange"
		if c := d.any(d.slots); c != nil {
			d.exchange(c)
		}
	case 12, 13:
		what = "refused"
		d.refused()
	case 14, 15:
		what = "succeeded"
		d.succeeded()
	case 16:
		what = "cancel"
		if c := d.any(d.callers); c != nil {
			c.cancel()
			d.m.leave(c.joint)
			c.gone = true
		}
	case 17:
		what = "operator"
		d.operate()
	default:
		what = "time"
		d.pass([]int{1, 1, 2, 3, 7, 12, 31, 650}[d.draw("seconds", 8)])
	}
	d.m.handOut()
	d.settle()
	d.compare(what)
}

func (d *groupDriver) any(of []*groupCaller) *groupCaller {
	if len(of) == 0 {
		return nil
	}
	return of[d.draw("which", len(of))]
}

// drop notes that the slot of c has been given back.
func (d *groupDriver) drop(c *groupCaller) {
	i := slices.Index(d.slots, c)
	d.slots = slices.Delete(d.slots, i, i+1)
	d.old = append(d.old, c)
}

func (d *groupDriver) acquire(p limiter.Priority) {
	c := &groupCaller{joint: &joint{priority: p, deadline: []int{-1, -1, -1, 0, 5, 20}[d.draw("deadline", 6)]}}
	var under *groupCaller // a slot whose Wait is called
	if p == running && d.draw("under", 2) == 0 {
		under = d.any(d.slots)
	}
	var gate *limiter.Gate
	if under != nil {
		c.under, c.keys = under.joint, under.keys
	} else {
		c.keys, gate = d.some()
	}
	ctx, cancel := context.WithCancel(d.ctx)
	if c.deadline >= 0 {
		ctx, cancel = context.WithTimeout(d.ctx, time.Duration(c.deadline)*time.Second+500*time.Millisecond)
	}
	c.cancel = cancel
	go func() {
		defer cancel()
		var (
			slot *limiter.Slot
			call *limiter.Call
			err  error
		)
		switch {
		case p != running:
			slot, err = gate.AcquireAs(ctx, p)
		case under != nil:
			call, err = under.slot.Wait(ctx)
		default:
			call, err = gate.Wait(ctx)
		}
		c.slot, c.call, c.err, c.back = slot, call, err, true
	}()
	synctest.Wait()
	if by, reason := d.m.enter(c.joint); reason != limiter.ReasonNone {
		d.blocked(c.err, by, reason)
		require.ErrorIs(d, c.err, context.DeadlineExceeded)
	}
	d.callers = append(d.callers, c)
}

// blocked expects that err says what the model does.
func (d *groupDriver) blocked(err error, by int, reason limiter.Reason) {
	var blocked *limiter.BlockedError
	require.ErrorAs(d, err, &blocked)
	require.Equal(d, reason, blocked.Reason)
	require.Equal(d, groupKey(by).String(), blocked.Name)
}

// try calls TryAcquire, which passes exactly when Status has said so.
func (d *groupDriver) try() {
	keys, gate := d.some()
	by, reason, _ := d.m.blocks(keys, limiter.Normal)
	st := gate.Status()
	require.Equal(d, reason, st.Reason)
	slot, err := gate.TryAcquire()
	if reason != limiter.ReasonNone {
		require.Equal(d, groupKey(by).String(), st.Name)
		d.blocked(err, by, reason)
		return
	}
	require.NoError(d, err)
	c := &groupCaller{joint: &joint{keys: keys}, slot: slot}
	d.m.admit(c.joint)
	d.slots = append(d.slots, c)
}

func (d *groupDriver) exchange(c *groupCaller) {
	keys, gate := d.some()
	n := &groupCaller{joint: &joint{keys: keys, priority: limiter.Resumed}}
	var err error
	n.slot, err = gate.Exchange(c.slot)
	if by, reason := d.m.exchange(c.joint, n.joint); reason != limiter.ReasonNone {
		d.blocked(err, by, reason)
		return
	}
	require.NoError(d, err)
	d.slots = append(d.slots, n)
	d.drop(c)
}

// anyOrigin returns a slot or call; nil stands for the hooks of a gate.
func (d *groupDriver) anyOrigin() *groupCaller {
	switch d.draw("origin", 5) {
	case 0:
		return nil
	case 1:
		return d.any(d.calls)
	case 2:
		return d.any(d.old)
	default:
		return d.any(d.slots)
	}
}

type groupReporter interface {
	At(scopes ...string) *limiter.Call
	ReportRateLimited(time.Duration)
	ReportOverloaded(time.Duration)
	ReportSuccess()
}

func (c *groupCaller) reporter() groupReporter {
	if c.slot != nil {
		return c.slot
	}
	return c.call
}

func (d *groupDriver) refused() {
	overloaded := d.draw("overloaded", 4) == 0
	seconds := []int{0, 0, 1, 5, 30, -5, math.MaxInt32}[d.draw("stated", 7)]
	stated := time.Duration(seconds) * time.Second
	c := d.anyOrigin()
	if c == nil {
		keys, gate := d.some()
		if overloaded {
			gate.ReportOverloaded(stated)
		} else {
			gate.ReportRateLimited(stated)
		}
		d.m.keys[keys[0]].refused(nil, overloaded, seconds)
		return
	}
	key := d.draw("scope", len(d.m.keys)) // maybe none that it has
	part := c.reporter().At(groupKey(key).Scope)
	if overloaded {
		part.ReportOverloaded(stated)
	} else {
		part.ReportRateLimited(stated)
	}
	k, t := c.at(key)
	d.m.keys[k].refused(t, overloaded, seconds)
}

func (d *groupDriver) succeeded() {
	c := d.anyOrigin()
	if c == nil {
		keys, gate := d.some()
		gate.ReportSuccess()
		for _, k := range keys { // one after the other
			d.m.keys[k].succeeded(nil)
			d.m.handOut()
		}
		return
	}
	if d.draw("part", 2) == 0 {
		key := d.draw("scope", len(d.m.keys))
		c.reporter().At(groupKey(key).Scope).ReportSuccess()
		k, t := c.at(key)
		d.m.keys[k].succeeded(t)
		return
	}
	c.reporter().ReportSuccess()
	for i, k := range c.keys {
		d.m.keys[k].succeeded(c.tickets[i])
		d.m.handOut()
	}
}

func (d *groupDriver) operate() {
	keys, gate := d.some()
	switch d.draw("operator", 4) {
	case 0:
		gate.Hold("hold")
		d.m.keys[keys[0]].hold = true
	case 1:
		n := 1 + d.draw("budget", 4)
		require.NoError(d, gate.SetBudget(n))
		d.m.keys[keys[0]].setBudget(n)
	default:
		gate.Resume("resume")
		for _, k := range keys { // one after the other
			d.m.keys[k].resume()
			d.m.handOut()
		}
	}
}

// pass lets time pass, and looks at every second of it.
func (d *groupDriver) pass(seconds int) {
	for range seconds {
		time.Sleep(500 * time.Millisecond)
		for _, c := range d.callers {
			if c.tickets == nil && !c.gone && c.deadline >= 0 {
				if c.deadline--; c.deadline < 0 {
					d.m.leave(c.joint)
					c.gone = true
				}
			}
		}
		synctest.Wait()
		time.Sleep(1) // what has just been asked is not forgotten
		d.forget()
		time.Sleep(500*time.Millisecond - 1)
		synctest.Wait()
		moved := 0
		for _, m := range d.m.keys {
			before := m.openness()
			if m.second(); m.openness() != before {
				moved++
			}
		}
		if moved > 1 {
			d.adopt()
		} else {
			d.m.handOut()
		}
		d.settle()
		d.forget()
		d.compare("a second")
	}
}

// adopt lets those in whom the group has let in. When several limiters open at one
// instant, each has an alarm of its own, and who stands at the first to ring goes
// first.
func (d *groupDriver) adopt() {
	for p := running; p >= limiter.Normal; p-- {
		for _, c := range d.callers {
			if c.back && c.err == nil && c.tickets == nil && c.priority == p {
				_, reason, _ := d.m.blocks(c.keys, p)
				require.Empty(d, reason, "%v has been let in", c.keys)
				d.m.leave(c.joint)
				d.m.admit(c.joint)
			}
		}
	}
}

// forget has the group forget what it can. It does so behind the back of calls that
// are out: their reports are old news then, and not made.
func (d *groupDriver) forget() {
	if !d.forgets {
		return
	}
	d.g.Status()
	d.old, d.calls = nil, nil
	for i, m := range d.m.keys {
		m.forget(d.budgets[i])
	}
}

// settle takes over what callers have come back with, and compares it with whom
// the model has let in.
func (d *groupDriver) settle() {
	synctest.Wait()
	var rest []*groupCaller
	for _, c := range d.callers {
		let := c.tickets != nil
		require.Equal(d, let || c.gone, c.back, "%v as %v has come back", c.keys, c.priority)
		switch {
		case !c.back:
			rest = append(rest, c)
		case c.slot != nil:
			d.slots = append(d.slots, c)
		case c.call != nil:
			d.calls = append(d.calls, c)
		}
		if c.back {
			require.Equal(d, let, c.err == nil, "%v as %v: %v", c.keys, c.priority, c.err)
		}
	}
	d.callers = rest
}

// compare compares what Status shows with the model.
func (d *groupDriver) compare(what string) {
	waiting := 0
	for i, m := range d.m.keys {
		st := d.gate([]int{i}).Status()
		require.Equal(d, m.shown(), st.Reason, what)
		require.Equal(d, m.budget, st.Budget, what)
		require.Equal(d, m.inFlight(), st.InFlight, what)
		require.Equal(d, m.storm, st.Storm, what)
		left := time.Duration(0)
		if m.paused {
			left = time.Duration(m.left()) * time.Second
		}
		require.Equal(d, left, max(0, time.Until(st.BlockedUntil)), what)
		waiting += st.Waiting
	}
	require.Equal(d, len(d.m.waiting), waiting, what)
	for _, j := range d.m.waiting {
		_, reason, _ := d.m.blocks(j.keys, j.priority)
		require.NotEmpty(d, reason, "%s: %v as %v waits for nothing", what, j.keys, j.priority)
	}
}
