package spawn

import (
	"context"
	"errors"
	"time"

	"github.com/holdoff-go/holdoff/internal/outcall"
	"github.com/holdoff-go/holdoff/limiter"
)

// A Worker is one piece of work to run to its end.
type Worker struct {
	// ID names the worker in results, events and the roster, over all of its
	// attempts. Empty makes one up. The ID of a worker that is alive is an error.
	ID string
	// Priority is that of its first attempt. What has been refused comes back as
	// limiter.Resumed; an emergency stays one.
	Priority limiter.Priority
	// Limiter is the worker's own, as a rule a gate of the keys that it calls with.
	// Without a Pool it is the same credential for all workers of a spawner: a quota
	// that is used up parks them all, so have a Spawner for each account, and a gate
	// for each model.
	// A worker inside of one with other keys takes a slot of its own; let the budget
	// of a key that both have leave room for it. nil is Config.Limiter.
	Limiter Limiter
	// NoRepeat says that the work must not be done twice: it is retried only when
	// it was refused before anything was accepted.
	NoRepeat bool
	// Idempotent says that the work may be done twice with no harm, effects that
	// it declares included: those need no decision. With NoRepeat it is an error.
	Idempotent bool
	// Checkpoint is what the first attempt finds saved: that of a Result whose run
	// it goes on with. nil is nothing.
	Checkpoint any
	// Resume allows the run to go on by itself instead of being Parked. Its zero
	// value is never.
	Resume Resume
	// Patience is for how long, from the first refusal in a row, the worker does
	// not die of a storm, however few others are left to probe it: what it is
	// refused as a probe of a storm that is older than its attempt does not spend
	// its last retry. 0 is not at all; negative is an error.
	Patience time.Duration
	// OnEvent is told of each change of this worker's state, before
	// Config.OnEvent and on the same terms. nil is nobody.
	OnEvent func(Event)
	// Run does the work. It is called once an attempt, each time on a goroutine of
	// its own, and should resume rather than restart where it can. Its context
	// ends with the one given to Spawner.Run, by Handle.Cancel, and by Drain. A nil
	// error is success; any other is put to the classifier. Required.
	Run func(ctx context.Context, a *Attempt) error
}

func (w Worker) validate() error {
	switch {
	case w.Run == nil:
		return errors.New("spawn: Worker.Run is nil: it is required")
	case w.Priority < limiter.Normal || w.Priority > limiter.Emergency:
		return errors.New("spawn: Worker.Priority is " + w.Priority.String() + ": it must be Normal, Resumed or Emergency")
	case w.Limiter != nil && outcall.None(w.Limiter):
		return errors.New("spawn: Worker.Limiter is a nil pointer: it must be a limiter, or nil for Config.Limiter")
	case w.Patience < 0:
		return errors.New("spawn: Worker.Patience is " + w.Patience.String() + ": it must be positive, or 0 for none")
	case w.NoRepeat && w.Idempotent:
		return errors.New("spawn: Worker.NoRepeat and Worker.Idempotent are both set: work may be done twice, or not")
	}
	return w.Resume.validate()
}
