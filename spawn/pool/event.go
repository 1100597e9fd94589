package pool

import (
	"context"
	"log/slog"
	"strconv"
	"time"

	"github.com/holdoff-go/holdoff/internal/hook"
	"github.com/holdoff-go/holdoff/retry"
)

// An EventKind says what has happened to a pool.
type EventKind int

const (
	// EventParked is a credential that is left alone from now on.
	EventParked EventKind = iota
	// EventProlonged is one that is parked and will be for longer.
	EventProlonged
	// EventReturned is one that nothing is known against any more: a call was
	// accepted, or it has a new secret. That the time has come is no event.
	EventReturned
	// EventSwitched is the pool's move to another credential.
	EventSwitched
	// EventSwitchFailed is a move that OnSwitch has failed.
	EventSwitchFailed
)

var kindNames = [...]string{"parked", "prolonged", "returned", "switched", "switch_failed"}

// String returns the kind as one stable word.
func (k EventKind) String() string {
	if k < 0 || int(k) >= len(kindNames) {
		return "EventKind(" + strconv.Itoa(int(k)) + ")"
	}
	return kindNames[k]
}

// MarshalText writes the word that String returns.
func (k EventKind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// An Event is one change of a pool. Fields may be added.
type Event struct {
	Kind       EventKind
	Time       time.Time
	Credential string      // the ID of the one concerned, or switched to
	From       string      // the ID of the one that was in use, of a switch
	Class      retry.Class // why it was parked: retry.QuotaExhausted or retry.Auth
	Until      time.Time   // of a parking; zero: until it has a new secret
	Stated     bool        // the provider said Until
	Reason     string      // of a return: "accepted" or "new secret"
	Err        error       // of a switch that failed
}

// notifier tells the host what happens. It is called without a lock.
type notifier struct {
	onEvent func(Event)
	logger  *slog.Logger
}

// outbox keeps the events that have not been told, so that they are told in order
// and one at a time. Rota.mu guards it.
type outbox struct {
	pending []Event
	telling bool // somebody is, and will tell these as well
}

// note has e told when the lock is given up.
func (r *Rota) note(e Event) {
	if r.notify.onEvent == nil && r.notify.logger == nil {
		return
	}
	e.Time = r.clock.Now()
	r.outbox.pending = append(r.outbox.pending, e)
}

// unlock unlocks, and tells what has been noted.
func (r *Rota) unlock() {
	if r.outbox.telling || len(r.outbox.pending) == 0 {
		r.mu.Unlock()
		return
	}
	r.outbox.telling = true
	heard := false
	defer func() {
		if !heard { // the host's function has ended the goroutine
			r.mu.Lock()
			r.outbox.telling = false
			r.mu.Unlock()
		}
	}()
	for len(r.outbox.pending) > 0 {
		e := r.outbox.pending[0]
		r.outbox.pending = r.outbox.pending[1:]
		r.mu.Unlock()
		r.notify.tell(e)
		r.mu.Lock()
	}
	r.outbox.pending = nil
	r.outbox.telling = false
	heard = true
	r.mu.Unlock()
}

func (n *notifier) tell(e Event) {
	if n.logger != nil {
		hook.CallDiscreetly(n.logger, "pool: Config.Logger", func() { n.log(e) })
	}
	if n.onEvent != nil {
		hook.CallDiscreetly(n.logger, "pool: Config.OnEvent", func() { n.onEvent(e) })
	}
}

// apart calls the host's function f on a goroutine of its own, so that no Goexit ends
// this one.
func (n *notifier) apart(function string, f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		hook.CallDiscreetly(n.logger, "pool: "+function, f)
	}()
	<-done
}

func (n *notifier) log(e Event) {
	level := slog.LevelInfo
	if e.Kind == EventParked || e.Kind == EventSwitchFailed {
		level = slog.LevelWarn
	}
	attrs := []slog.Attr{slog.String("credential", e.Credential)}
	if e.From != "" {
		attrs = append(attrs, slog.String("from", e.From))
	}
	if e.Class != retry.Unknown {
		attrs = append(attrs, slog.String("class", e.Class.String()))
	}
	if !e.Until.IsZero() {
		attrs = append(attrs, slog.Time("until", e.Until), slog.Bool("stated", e.Stated))
	}
	if e.Reason != "" {
		attrs = append(attrs, slog.String("reason", e.Reason))
	}
	n.logger.LogAttrs(context.Background(), level, "holdoff: credential "+e.Kind.String(), attrs...)
}
