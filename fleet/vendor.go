package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/holdoff-go/holdoff/retry"
)

const (
	// vendorPause holds launches off when a vendor refuses for rate and states no
	// time, as long as package limiter's assumed pause.
	vendorPause = 60 * time.Second
	// overloadPause is the same for a vendor that is short of capacity.
	overloadPause = 10 * time.Second
	// maxVendorPause caps what a vendor states, as limiter's MaxPause does.
	maxVendorPause = 24 * time.Hour
)

func vendorFinding(b *book) Finding {
	f := Finding{Constraint: constraintVendor, Tier: TierVendor, Code: VendorPacing, Allowed: unlimited, Detail: "no refusal in force"}
	if h := b.ctl.Vendor; h.Until.After(b.now) {
		f.Allowed, f.RetryAt, f.Detail = 0, h.Until.In(b.now.Location()), h.Why
	}
	return f
}

// holdOff keeps launches off for d; a shorter hold never shortens a longer one.
func (b *book) holdOff(d time.Duration, why string) {
	if until := b.now.Add(min(d, maxVendorPause)); until.After(b.ctl.Vendor.Until) {
		b.ctl.Vendor = hold{From: b.now, Until: until, Why: why}
	}
}

// refusal is what a vendor's error came to.
type refusal struct {
	verdict retry.Verdict
	lost    bool // the machine may exist
	pause   time.Duration
}

// stops reports whether the next call would be refused as well.
func (r refusal) stops() bool {
	switch r.verdict.Class {
	case retry.RateLimited, retry.Overloaded, retry.QuotaExhausted, retry.Auth:
		return true
	}
	return false
}

// classify says what err means for a launch: was it refused for certain, and
// for how long is the vendor left alone?
func (g *Guard) classify(ctx context.Context, err error) refusal {
	// The caller's own end says nothing of what the vendor did.
	v := retry.Ask(context.WithoutCancel(ctx), g.cfg.Classifier, err)
	r := refusal{verdict: v, lost: lost(ctx, v.Class, err)}
	switch {
	case r.lost:
		return r
	case v.Stated && v.RetryAfter > 0:
		r.pause = v.RetryAfter
	case v.Class == retry.RateLimited:
		r.pause = vendorPause
	case v.Class == retry.Overloaded:
		r.pause = overloadPause
	}
	if done := (*retry.Error)(nil); errors.As(err, &done) && !done.RetryAt.IsZero() {
		r.pause = max(0, done.RetryAt.Sub(g.now()))
	}
	return r
}

// lost reports whether the call may have been carried out although it failed.
// What the vendor refused by its answer was not; nor was a call that never got
// there, nor one that the start function gave up by itself, without evidence of
// the vendor in its error. A time-out, a cut connection and a 500 are no answer.
func lost(ctx context.Context, class retry.Class, err error) bool {
	if errors.Is(err, ErrOutcomeUnknown) {
		return true
	}
	if done := (*retry.Error)(nil); errors.As(err, &done) { // a call that was repeated: one lost try is enough
		for _, cause := range done.Causes[:min(max(0, done.Attempts), len(done.Causes))] {
			if cause != nil && lost(ctx, retry.Ask(context.WithoutCancel(ctx), nil, cause).Class, cause) {
				return true
			}
		}
	}
	var dial *net.OpError
	var dns *net.DNSError
	if errors.As(err, &dial) && dial.Op == "dial" || errors.As(err, &dns) {
		return false
	}
	switch class {
	case retry.Transient, retry.Canceled:
		return true
	case retry.Unknown:
		return ctx.Err() != nil || unreadable(err)
	}
	return false
}

// unreadable reports whether err comes of reading an answer, so that the call
// was carried out.
func unreadable(err error) bool {
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	return errors.As(err, &syntax) || errors.As(err, &kind) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}

// A LaunchError is a granted launch that did not come to an instance. It
// unwraps to the start function's error, and errors.Is tells its retry.Class.
type LaunchError struct {
	Reservation ReservationID
	// State is StateRefused, and what was reserved is given back, or
	// StateUnknown, and it is kept until the outcome is known.
	State State
	// Class is what the error was taken for.
	Class retry.Class
	// RetryAt is until when the vendor is left alone; zero is not at all.
	RetryAt time.Time
	Err     error
}

// Error returns the reservation, its state and the cause.
func (e *LaunchError) Error() string {
	return fmt.Sprintf("fleet: launch %s: %s (%s): %v", e.Reservation, e.State, e.Class, e.Err)
}

// Unwrap returns the cause.
func (e *LaunchError) Unwrap() error { return e.Err }

// Is reports whether target is the error's class.
func (e *LaunchError) Is(target error) bool {
	c, ok := target.(retry.Class)
	return ok && c == e.Class
}
