package swarm

import (
	"context"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/holdoff-go/holdoff/spawn"
)

// A loop is one range over the results: a feeder that takes the inputs and starts
// their members, and the caller, who takes the members off order.
type loop[K comparable, In, Out any] struct {
	swarm  *Swarm[K, In, Out]
	ctx    context.Context
	cancel context.CancelCauseFunc
	skip   int // inputs that were yielded before
	last   K   // the key of the last of them
	kept   map[int]*member[K, Out]

	// order holds the members in the order of their inputs. Its size is what bounds
	// the results that wait for one before them. The feeder closes it.
	order   chan *member[K, Out]
	alive   chan struct{} // holds a token for each member alive
	gone    chan struct{} // closed when the caller has left
	drained atomic.Bool   // the spawner takes no more

	starts  int
	started time.Time // the last of them

	// What ended the feeder, if not the inputs; set before order is closed.
	panicked any
	exited   bool
	changed  bool // they are not those of the loop before
}

func newLoop[K comparable, In, Out any](ctx context.Context, s *Swarm[K, In, Out]) *loop[K, In, Out] {
	l := &loop[K, In, Out]{
		swarm: s,
		skip:  s.next,
		last:  s.last,
		kept:  s.kept,
		order: make(chan *member[K, Out], s.cfg.Ahead),
		alive: make(chan struct{}, s.cfg.Cap),
		gone:  make(chan struct{}),
	}
	l.ctx, l.cancel = context.WithCancelCause(ctx)
	return l
}

// feed takes the inputs until they end, or the loop is left.
func (l *loop[K, In, Out]) feed() {
	returned := false
	defer close(l.order)
	defer func() {
		l.panicked = recover()
		l.exited = !returned && l.panicked == nil
	}()
	position := 0
	for key, in := range l.swarm.inputs {
		l.changed = !l.same(position, key)
		if l.changed || position >= l.skip && !l.take(position, key, in) {
			returned = true
			return
		}
		position++
	}
	returned = true
	l.changed = position < l.skip
	if !l.changed {
		l.swarm.takenAll()
	}
}

// same reports whether the input at position has the key that it had in the loop
// before, as far as anything depends on it: the place to go on from, and what
// finished out of its turn. A sequence that can be used once goes on from where
// it was left instead, and would lose inputs.
func (l *loop[K, In, Out]) same(position int, key K) bool {
	if m, ok := l.kept[position]; ok && position >= l.skip {
		return m.key == key
	}
	return position != l.skip-1 || l.last == key
}

// raise passes on to the caller what the inputs did, as iter.Pull does: a
// sequence that was cut short must not look like one that has ended.
func (l *loop[K, In, Out]) raise() {
	switch {
	case l.panicked != nil:
		panic(l.panicked)
	case l.exited:
		runtime.Goexit()
	}
}

// take brings one input on its way. It returns false once the loop is left.
func (l *loop[K, In, Out]) take(position int, key K, in In) bool {
	if m, ok := l.kept[position]; ok {
		l.order <- m
		return !l.left()
	}
	m := &member[K, Out]{key: key, id: l.swarm.id(key), position: position, done: make(chan struct{})}
	settled := l.look(m)
	// The caller takes it, whatever ends: to the last, the loop is drained.
	l.order <- m
	if !settled {
		if why := l.enter(); why != nil {
			m.over = l.ctx.Err() != nil
			m.end(canceled[Out](why...))
			settled = true
		}
	}
	if settled {
		l.swarm.settled(m)
	} else {
		l.start(m, in)
	}
	return !l.left()
}

// left reports whether the caller has left the loop: then no input is taken any
// more. A context that ends is no such thing: what is left is yielded as
// canceled.
func (l *loop[K, In, Out]) left() bool {
	select {
	case <-l.gone:
		return true
	default:
		return false
	}
}

// look ends m with what the store has for it, if anything.
func (l *loop[K, In, Out]) look(m *member[K, Out]) bool {
	if l.swarm.cfg.Store == nil || l.ctx.Err() != nil {
		return false
	}
	value, ok, err := load(l.ctx, l.swarm.cfg.Store, m.key)
	switch {
	case err != nil:
		r := canceled[Out](err)
		r.Err = err
		m.over = l.ctx.Err() != nil
		m.end(r)
	case ok:
		m.end(Result[Out]{Value: value, Stored: true, Run: spawn.Result{State: spawn.Succeeded}})
	}
	return ok || err != nil
}

// enter waits until one more member may be started, and returns why not.
func (l *loop[K, In, Out]) enter() []error {
	if why := l.over(); why != nil {
		return why
	}
	cfg := &l.swarm.cfg
	if cfg.Pace > 0 && l.starts >= cfg.Burst {
		if wait := cfg.Pace - cfg.Clock.Now().Sub(l.started); wait > 0 {
			select {
			case <-cfg.Clock.After(wait):
			case <-l.ctx.Done():
				return l.over()
			}
		}
	}
	select {
	case l.alive <- struct{}{}:
	case <-l.ctx.Done():
		return l.over()
	}
	if why := l.over(); why != nil { // both came at once, or while it waited
		l.leave()
		return why
	}
	l.starts++
	l.started = cfg.Clock.Now()
	return nil
}

func (l *loop[K, In, Out]) leave() { <-l.alive }

// over returns why no more members are started; nil while they are.
func (l *loop[K, In, Out]) over() []error {
	err, cause := l.ctx.Err(), context.Cause(l.ctx)
	switch {
	case err != nil && err == cause:
		return []error{err}
	case err != nil:
		return []error{err, cause}
	case l.drained.Load():
		return []error{spawn.ErrDraining}
	default:
		return nil
	}
}

// end leaves the loop: it cancels the members at work, waits for them, and keeps
// what has finished out of its turn.
func (l *loop[K, In, Out]) end() {
	close(l.gone)
	l.cancel(errBroken)
	kept := make(map[int]*member[K, Out])
	var dropped []*member[K, Out]
	defer func() { l.swarm.ended(kept, dropped) }() // whatever happens, another loop may follow
	for m := range l.order {
		<-m.done
		if l.cutOff(m) {
			dropped = append(dropped, m)
		} else {
			kept[m.position] = m
		}
	}
	for position, m := range l.kept {
		if position >= l.swarm.next {
			kept[position] = m
		}
	}
}

// cutOff reports whether m ended because the loop did, and not for a reason of
// its own.
func (l *loop[K, In, Out]) cutOff(m *member[K, Out]) bool { return m.over && !l.swarm.wasStopped(m) }
