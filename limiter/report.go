package limiter

import (
	"time"

	"github.com/holdoff-go/holdoff/internal/hook"
)

// ReportRateLimited is the hook for a refusal: the upstream said no, and stated
// that retryAfter should pass first; zero, negative and past times state nothing.
// It is of unknown origin; where the Slot or Call of the refused call is at
// hand, its report is the better one, because it can tell the refusals of one
// burst, and old news, from new ones.
func (l *Limiter) ReportRateLimited(retryAfter time.Duration) {
	l.refuse(&origin{}, ReasonRateLimited, retryAfter)
}

// ReportOverloaded is the hook for an upstream short of capacity: a refusal
// whose pause is short where none is stated. Otherwise it is ReportRateLimited.
func (l *Limiter) ReportOverloaded(retryAfter time.Duration) {
	l.refuse(&origin{}, ReasonOverloaded, retryAfter)
}

// ReportSuccess is the hook for an accepted call of unknown origin. It clears an
// assumed pause and opens the gate wholly; a stated pause stays.
func (l *Limiter) ReportSuccess() { l.succeed(&origin{}) }

// A refusal is one report that the upstream said no.
type refusal struct {
	origin
	cause  Reason
	stated time.Duration // zero, negative: nothing was stated
	cut    int           // what the budget is cut to, if this cuts
}

func (l *Limiter) refuse(o *origin, cause Reason, stated time.Duration) {
	l = l.lock()
	t := l.look()
	r := refusal{origin: *o, cause: cause, stated: stated}
	var cut *int
	if l.cut != nil && l.state.cuts(t, r) {
		cut = l.askCut()
		l = l.present()
		// What happened meanwhile is as if this refusal had come a moment later.
		t, r.origin = l.look(), *o
	}
	if l.state.isNews(r) {
		// Callers that have not heard of their leave are not in flight yet, and must
		// not start on it now, unless they would still get it.
		l.takeBack()
		if r.cut = l.state.inFlight / 2; cut != nil {
			r.cut = *cut
		}
		before := l.state
		l.state.refuse(t, r)
		l.compare(&before, "")
	}
	l.handOut(t)
	l.unlock()
}

// askCut gives up the lock while it asks Config.Cut. nil: it has no say.
func (l *Limiter) askCut() (n *int) {
	budget, inFlight := l.state.budget, l.state.inFlight
	for w := l.granted.head; w != nil; w = w.next {
		if w.granted.Load() && w.priority != call && w.pass.of(l) {
			inFlight-- // it has not heard of its leave
		}
	}
	if inFlight == 0 {
		return nil
	}
	l.unlock()
	hook.Call(l.notify.logger, "Config.Cut", func() {
		cut := l.cut(budget, inFlight)
		n = &cut
	})
	l.mu.Lock() // not deferred: a Cut may end this goroutine by runtime.Goexit
	return n
}

func (l *Limiter) succeed(o *origin) {
	l = l.lock()
	t := l.advance()
	before := l.state
	l.state.succeed(t, *o)
	o.counted = false // answered
	l.compare(&before, "")
	l.handOut(t)
	l.unlock()
}
