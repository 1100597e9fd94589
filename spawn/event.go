package spawn

import (
	"context"
	"log/slog"
	"time"

	"github.com/holdoff-go/holdoff/internal/hook"
	"github.com/holdoff-go/holdoff/retry"
)

// An Event is one change of a worker's state. Fields may be added.
type Event struct {
	ID      string // the worker's
	State   State  // that it has reached
	Time    time.Time
	Attempt int // the number of its last attempt; 0 before the first
	// Credential is the ID of the one of the pool that the last attempt called with;
	// empty without a pool, and before the first.
	Credential string
	Until      time.Time // when it may go on, for BackingOff and Parked, where known
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
	if n.logger != nil {
		hook.Call(n.logger, "Config.Logger", func() { n.log(e) })
	}
	if worker != nil {
		hook.Call(n.logger, "Worker.OnEvent", func() { worker(e) })
	}
	if n.onEvent != nil {
		hook.Call(n.logger, "Config.OnEvent", func() { n.onEvent(e) })
	}
}

func (n *notifier) death(d Death) {
	if n.onDeath != nil {
		hook.Call(n.logger, "Config.OnDeath", func() { n.onDeath(d) })
	}
}

func (n *notifier) log(e Event) {
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
	if e.Credential != "" {
		attrs = append(attrs, slog.String("credential", e.Credential))
	}
	if !e.Until.IsZero() {
		attrs = append(attrs, slog.Time("until", e.Until))
	}
	n.logger.LogAttrs(context.Background(), level, "holdoff: worker "+e.State.String(), attrs...)
}
