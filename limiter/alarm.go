package limiter

import "time"

// alarm wakes the limiter when time alone may let the first waiter in: one wait
// on the clock for all waiters. Its goroutine belongs to the queue: it runs only
// while somebody waits for a time. The limiter's lock guards it.
type alarm struct {
	at    instant
	jumps int              // of the line when tick was set: after another, tick comes late
	tick  <-chan time.Time // fires at at; outlives its watcher, so that the next one can use it
	stop  chan struct{}    // ends the watcher; nil when none runs
}

// setAlarm makes sure that somebody looks at again, seen from t; never: nobody
// need look.
func (l *Limiter) setAlarm(t, again instant) {
	a := &l.alarm
	jumps := l.line.Jumps()
	switch {
	case a.stop != nil && a.at <= again && again != never && a.jumps == jumps:
		return // an early look does no harm, and sets the next
	case a.stop != nil:
		close(a.stop)
		a.stop = nil
	}
	if again == never {
		return
	}
	if a.tick == nil || a.at != again || a.jumps != jumps {
		a.at, a.jumps, a.tick = again, jumps, l.clock.After(again-t)
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
