// Package hook calls functions of the host's, such as a Config.OnEvent.
package hook

import (
	"fmt"
	"log/slog"
	"runtime/debug"
)

// Call calls f, which calls the host's function of that name: a panic in that must
// not take the fleet down. It is logged to logger, for which nil is the default one.
func Call(logger *slog.Logger, name string, f func()) {
	defer func() { report(logger, name, recover(), "%v") }()
	f()
}

// CallDiscreetly is Call that logs of a panic's value only the type: the value may
// hold the secret that the function was at.
func CallDiscreetly(logger *slog.Logger, name string, f func()) {
	defer func() { report(logger, name, recover(), "%T") }()
	f()
}

func report(logger *slog.Logger, name string, value any, format string) {
	if value == nil {
		return
	}
	if logger == nil {
		logger = slog.Default()
	}
	defer func() { _ = recover() }() // the logger itself may be what panics
	logger.Error("holdoff: "+name+" panicked", "panic", fmt.Sprintf(format, value), "stack", string(debug.Stack()))
}
