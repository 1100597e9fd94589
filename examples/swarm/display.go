package main

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/holdoff-go/holdoff/examples/internal/cli"
	"github.com/holdoff-go/holdoff/retry"
	"github.com/holdoff-go/holdoff/spawn/swarm"
)

// A display shows the swarm while it runs. Events come from many tasks at once.
type display interface {
	event(at time.Duration, e swarm.Event[string])
	show(at time.Duration, p swarm.Progress, limiter string)
	end()
}

// newDisplay draws a bar on a terminal that has the room and writes lines elsewhere.
func newDisplay(w io.Writer) display {
	if cli.Redraws(w, screenLines) {
		return &screen{w: w}
	}
	return &journal{w: w}
}

// screenLines is how high a screen is.
const screenLines = 3

// A screen redraws a bar and two lines in place.
type screen struct {
	w     io.Writer
	drawn bool
}

func (s *screen) event(time.Duration, swarm.Event[string]) {} // the next frame shows it

func (s *screen) show(at time.Duration, p swarm.Progress, limiter string) {
	up := ""
	if s.drawn {
		up = fmt.Sprintf("\x1b[%dA", screenLines)
	}
	s.drawn = true
	fmt.Fprintf(s.w, "%s  %5s  %s\x1b[K\n%s\x1b[K\n%s\x1b[K\n",
		up, minutes(at), bar(p), cli.Clip("         "+count(p)), cli.Clip("         limiter "+limiter))
}

func (s *screen) end() {}

// barWidth leaves room for the time and the brackets.
const barWidth = cli.Width - 18

// bar draws who is where, each as wide as their share: done, running, backing
// off, lost, and what waits.
func bar(p swarm.Progress) string {
	if p.Total == 0 {
		return "[" + strings.Repeat("·", barWidth) + "]"
	}
	var b strings.Builder
	drawn, sum := 0, 0
	draw := func(n int, what string) {
		sum += n
		to := sum * barWidth / p.Total
		b.WriteString(strings.Repeat(what, to-drawn))
		drawn = to
	}
	draw(p.Done, "█")
	draw(p.Parked+p.Dead+p.Canceled, "×")
	draw(p.Running, "▓")
	draw(p.BackingOff, "░")
	draw(p.Total-sum, "·")
	return "[" + b.String() + "]"
}

func count(p swarm.Progress) string {
	s := fmt.Sprintf("%d of %d done, %d running, %d backing off", p.Done, p.Total, p.Running, p.BackingOff)
	for _, n := range []struct {
		n    int
		what string
	}{{p.Parked, "parked"}, {p.Dead, "dead"}, {p.Canceled, "canceled"}} {
		if n.n > 0 {
			s += fmt.Sprintf(", %d %s", n.n, n.what)
		}
	}
	if p.ETA > 0 {
		s += ", " + minutes(p.ETA) + " to go"
	}
	return s
}

// A journal writes lines, for a reader without a terminal: what happens to a task
// that is put off, and each tenth of the way.
type journal struct {
	mu      sync.Mutex
	w       io.Writer
	limiter string
	tenth   int
}

func (j *journal) event(at time.Duration, e swarm.Event[string]) {
	var text string
	switch e.Kind {
	case swarm.EventSuspended:
		text = fmt.Sprintf("is put off until %s: %s", minutes(at+e.Until.Sub(e.Time)), e.Verdict.Class)
		if lastInStorm(e) {
			text = fmt.Sprintf("is put off: %s (its last retry: others probe first)", e.Verdict.Class)
		}
	case swarm.EventResumed:
		text = fmt.Sprintf("is back, for attempt %d", e.Attempt)
	case swarm.EventAbandoned:
		text = fmt.Sprintf("is %s: %v", e.State, e.Err)
	default:
		return
	}
	j.line(at, e.Key+" "+text)
}

// lastInStorm reports whether a refused task has one retry left while others live.
// The spawner spends no last retry on a storm: the task queues behind the others.
func lastInStorm(e swarm.Event[string]) bool {
	others := e.Progress.Queued + e.Progress.Running + e.Progress.BackingOff - 1
	return e.Verdict.Class == retry.RateLimited && e.Attempt >= retries && others > 0
}

func (j *journal) show(at time.Duration, p swarm.Progress, limiter string) {
	// What comes before the semicolon: the load changes with each call.
	if state, _, _ := strings.Cut(limiter, ";"); state != j.limiter {
		j.limiter = state
		j.line(at, "limiter "+limiter)
	}
	if p.Total == 0 {
		return
	}
	if tenth := p.Done * 10 / p.Total; tenth != j.tenth {
		j.tenth = tenth
		j.line(at, count(p))
	}
}

func (j *journal) line(at time.Duration, text string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	fmt.Fprintf(j.w, "  %5s  %s\n", minutes(at), text)
}

func (j *journal) end() {}

// silent shows nothing.
type silent struct{}

func (silent) event(time.Duration, swarm.Event[string])   {}
func (silent) show(time.Duration, swarm.Progress, string) {}
func (silent) end()                                       {}
