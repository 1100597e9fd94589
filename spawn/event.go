package spawn

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"

	"github.com/holdoff-go/holdoff/retry"
)

// An Event is one change of a worker's state. Fields may be added.
type Event struct {
	ID      string // the worker's
	State   State  // that it has reached
	Time    time.Time
	Attempt int       // the number of its last attempt; 0 before the first
	Until   time.Time // when it may go on, for BackingOff and Parked, where known
	// Verdict and Err are those of the last attempt, for what follows one.
	Verdict retry.Verdict
	Err     error
}

// notifier tells the host what happens. It is called without a lock.
type notifier struct {
	onEvent func(Event)
	onDeath func(Death)
	logger  *slog.Logger
}

func (n *notifier) event(e Event, worker func(Event)) {
	n.log(e)
	n.tell("Worker.OnEvent", worker, e)
	n.tell("Config.OnEvent", n.onEvent, e)
}

func (n *notifier) tell(function string, f func(Event), e Event) {
	if f != nil {
		defer n.contain(function)
		f(e)
	}
}

func (n *notifier) death(d Death) {
	if n.onDeath != nil {
		defer n.contain("Config.OnDeath")
		n.onDeath(d)
	}
}

// contain logs a panic of the host's function; it must not take the fleet down.
func (n *notifier) contain(function string) {
	if p := recover(); p != nil {
		logger := n.logger
		if logger == nil {
			logger = slog.Default()
		}
		logger.Error("holdoff: "+function+" panicked", "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
	}
}

func (n *notifier) log(e Event) {
	if n.logger == nil {
		return
	}
	var level slog.Level
	switch e.State {
	case BackingOff:
		level = slog.LevelDebug
	case Parked:
		level = slog.LevelWarn
	case Dead:
		level = slog.LevelError
	default:
		return
	}
	attrs := []slog.Attr{
		slog.String("worker", e.ID),
		slog.Int("attempt", e.Attempt),
		slog.String("verdict", e.Verdict.String()),
	}
	if !e.Until.IsZero() {
		attrs = append(attrs, slog.Time("until", e.Until))
	}
	n.logger.LogAttrs(context.Background(), level, "holdoff: worker "+e.State.String(), attrs...)
}
