package spawn

import (
	"errors"
	"fmt"
	"strings"
)

// Errors that say why a run ended, or never began. Test for them with
// errors.Is. The error of a run that began is a *retry.Error, which also holds
// the cause of every attempt.
var (
	// ErrDraining says that the spawner takes no more work; the worker may be run
	// again elsewhere.
	ErrDraining = errors.New("spawn: draining")
	// ErrDuplicate says that a worker with this ID is alive.
	ErrDuplicate = errors.New("spawn: a worker with this ID is alive")
	// ErrParked says that the run met a limit that passes at RetryAt.
	ErrParked = errors.New("spawn: parked until the limit passes")
	// ErrNeedsDecision says that an effect may have been had, or was, and that the
	// work would be done again: somebody has to look. Result.Effects is the trace;
	// Spawner.Decide and Spawner.Revive go on.
	ErrNeedsDecision = errors.New("spawn: an effect needs a decision")
	// ErrInFlight says that an effect is running in another goroutine.
	ErrInFlight = errors.New("spawn: the effect is in flight")
	// ErrNotDone is for functions given to Once: an error that wraps it says that
	// there was no effect for certain, whatever its class.
	ErrNotDone = errors.New("spawn: the effect was not had")
	// ErrNotRevivable says that no Dead or Parked worker with this ID is among the
	// ended that the roster keeps.
	ErrNotRevivable = errors.New("spawn: no dead or parked worker with this ID is kept")
	// ErrRetryBudget says that Config.RetryBudget had no retry left.
	ErrRetryBudget = errors.New("spawn: the retry budget is spent")
	// ErrGoexit says that the worker, or a hook before the worker's end, ended its
	// goroutine by runtime.Goexit, as testing.T.FailNow does.
	ErrGoexit = errors.New("spawn: worker or hook called runtime.Goexit")
)

// A PanicError is a panic of a worker, or its runtime.Goexit, as the failure of
// its attempt.
type PanicError struct {
	Value any    // what was given to panic; ErrGoexit for a Goexit
	Stack []byte // of the goroutine that panicked
}

// Error returns the value, without the stack.
func (e *PanicError) Error() string {
	if e.Value == ErrGoexit {
		return ErrGoexit.Error()
	}
	return fmt.Sprintf("spawn: worker panicked: %v", e.Value)
}

// Unwrap returns the value if it is an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// A StragglersError names the workers that were still running when the context
// given to Drain ended. They have been canceled with the cause ErrDraining.
type StragglersError struct {
	IDs   []string // in order of arrival
	cause error
}

// Error names the stragglers.
func (e *StragglersError) Error() string {
	return fmt.Sprintf("spawn: %d still running when the drain ended: %s", len(e.IDs), strings.Join(e.IDs, ", "))
}

// Unwrap returns the cause that the context of Drain ended with.
func (e *StragglersError) Unwrap() error { return e.cause }

// is is errors.Is. Half-filled errors of SDKs panic when asked, and what cannot
// be compared does in errors.Is: such an error is not the target.
func is(err, target error) (ok bool) {
	defer func() { _ = recover() }()
	return errors.Is(err, target)
}

// as is errors.AsType, with the same care.
func as[E error](err error) (found E, ok bool) {
	defer func() { _ = recover() }()
	return errors.AsType[E](err)
}
