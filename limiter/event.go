package limiter

import (
	"context"
	"log/slog"
	"time"

	"github.com/holdoff-go/holdoff/internal/hook"
)

// An EventKind says what changed, in one stable word.
type EventKind string

// The kinds of events.
const (
	EventPauseOpened  EventKind = "pause_opened"   // no new work starts until Status.BlockedUntil
	EventPauseChanged EventKind = "pause_changed"  // Status.BlockedUntil has moved
	EventPauseEnded   EventKind = "pause_ended"    // by time, a success or Resume
	EventProbe        EventKind = "probe"          // a caller has been let in to try the upstream during a storm
	EventBudget       EventKind = "budget_changed" // by a refusal, growth or SetBudget
	EventHold         EventKind = "hold"           // by Hold
	EventResume       EventKind = "resume"         // by Resume
)

// An Event is one change of a limiter. Fields may be added.
type Event struct {
	Kind EventKind
	// Time is when the change was noticed: what time alone changes shows at the
	// next call, or when the first waiter is let in.
	Time time.Time
	// Reason is the word given to Hold or Resume; else the pause's Reason.
	Reason string
	// Status is the limiter right after the change.
	Status Status
}

// outbox holds the events that have not been delivered. Its domain's lock guards
// it; one caller at a time delivers, so that events keep their order.
type outbox struct {
	pending    []delivery
	delivering bool
}

// A delivery is an event and whom to tell of it.
type delivery struct {
	to *notifier
	Event
}

// note puts an event into the outbox.
func (l *Limiter) note(kind EventKind, reason string) {
	if !l.notify.active() {
		return
	}
	l.outbox.pending = append(l.outbox.pending, delivery{&l.notify, Event{
		Kind: kind, Time: l.line.At(l.now), Reason: reason, Status: l.status(&l.state, l.now),
	}})
}

// compare notes what has changed since before.
func (l *Limiter) compare(before *state, reason string) {
	if !l.notify.active() {
		return
	}
	after := &l.state
	if reason == "" {
		reason = string(after.cause)
	}
	switch {
	case after.open && !before.open:
		l.note(EventPauseOpened, reason)
	case before.open && !after.open:
		l.note(EventPauseEnded, reason)
	case after.open && after.until() != before.until():
		l.note(EventPauseChanged, reason)
	}
	if after.budget != before.budget {
		l.note(EventBudget, reason)
	}
}

// unlock unlocks, and delivers what the caller's change has put into the outbox.
func (d *domain) unlock() {
	if len(d.outbox.pending) == 0 || d.outbox.delivering {
		d.mu.Unlock()
		return
	}
	d.deliver()
}

func (d *domain) deliver() {
	d.outbox.delivering = true
	defer func() {
		// A callback may have ended this goroutine by runtime.Goexit, as a test's
		// FailNow does. Then this delivers the rest.
		d.outbox.delivering = false
		d.unlock()
	}()
	for len(d.outbox.pending) > 0 {
		e := d.outbox.pending[0]
		d.outbox.pending = d.outbox.pending[1:]
		func() {
			d.mu.Unlock()
			defer d.mu.Lock()
			e.to.send(e.Event)
		}()
	}
	d.outbox.pending = nil
}

// notifier tells the host what happens. It is called without the lock.
type notifier struct {
	onEvent func(Event)
	logger  *slog.Logger
}

func (n *notifier) active() bool { return n.onEvent != nil || n.logger != nil }

func (n *notifier) send(e Event) {
	if n.logger != nil {
		hook.Call(n.logger, "Config.Logger", func() { n.log(e) })
	}
	if n.onEvent != nil {
		hook.Call(n.logger, "Config.OnEvent", func() { n.onEvent(e) })
	}
}

// log writes one warning for each pause and one record for its end, not one a
// refusal.
func (n *notifier) log(e Event) {
	level := slog.LevelDebug
	switch e.Kind {
	case EventPauseOpened:
		level = slog.LevelWarn
	case EventPauseEnded, EventHold, EventResume:
		level = slog.LevelInfo
	}
	s := e.Status
	attrs := []slog.Attr{
		slog.String("limiter", s.Name),
		slog.String("reason", e.Reason),
		slog.Int("budget", s.Budget),
		slog.Int("in_flight", s.InFlight),
		slog.Int("waiting", s.Waiting),
	}
	if !s.BlockedUntil.IsZero() {
		attrs = append(attrs, slog.Time("blocked_until", s.BlockedUntil))
	}
	n.logger.LogAttrs(context.Background(), level, "holdoff: "+string(e.Kind), attrs...)
}
