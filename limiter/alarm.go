package limiter

import "time"

// alarm wakes the limiter when time alone may let the first waiter in: one wait
// on the clock for all waiters. Its goroutine belongs to the queue: it runs only
// while somebody waits for a time. The limiter's lock guards it.
type alarm struct {
	at   instant
	tick <-chan time.Time // fires at at; outlives its watcher, so that the next one can use it
	stop chan struct{}    // ends the watcher; nil when none runs
}

// setAlarm makes sure that somebody looks again when the first in line may pass.
func (l *Limiter) setAlarm(t instant) {
	a := &l.alarm
	again := never
	if w := l.next(); w != nil {
		again = l.state.may(w.priority, t).again
	}
	switch {
	case a.stop != nil && a.at <= again && again != never:
		return // an early look does no harm, and sets the next
	case a.stop != nil:
		close(a.stop)
		a.stop = nil
	}
	if again == never {
		return
	}
	if a.tick == nil || a.at != again {
		a.at, a.tick = again, l.clock.After(again-t)
	}
	a.stop = make(chan struct{})
	go l.watch(a.tick, a.stop)
}

func (l *Limiter) watch(tick <-chan time.Time, stop <-chan struct{}) {
	select {
	case <-stop:
	case <-tick:
		l.mu.Lock()
		// A tick fires once. Whoever else counts on this one would sleep for ever,
		// so it is taken away from them too.
		if a := &l.alarm; a.tick == tick {
			if a.stop != nil {
				close(a.stop)
			}
			*a = alarm{}
		}
		l.handOut(l.look())
		l.unlock()
	}
}
