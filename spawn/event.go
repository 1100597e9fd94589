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
		n.guard("Config.Logger", func() { n.log(e) })
	}
	if worker != nil {
		n.guard("Worker.OnEvent", func() { worker(e) })
	}
	if n.onEvent != nil {
		n.guard("Config.OnEvent", func() { n.onEvent(e) })
	}
}

func (n *notifier) death(d Death) {
	if n.onDeath != nil {
		n.guard("Config.OnDeath", func() { n.onDeath(d) })
	}
}

// guard calls f, which calls the host's function: a panic in that must not take
// the fleet down. It is logged.
func (n *notifier) guard(function string, f func()) {
	defer func() {
		p := recover()
		if p == nil {
			return
		}
		logger := n.logger
		if logger == nil {
			logger = slog.Default()
		}
		defer func() { _ = recover() }() // the logger itself may be what panics
		logger.Error("holdoff: "+function+" panicked", "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
	}()
	f()
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
