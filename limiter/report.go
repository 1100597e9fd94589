package limiter

import "time"

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

func (l *Limiter) refuse(o *origin, cause Reason, stated time.Duration) {
	cut := l.proposeCut()
	l.mu.Lock()
	t := l.look()
	if cut == nil {
		half := l.state.inFlight / 2
		cut = &half
	}
	before := l.state
	l.state.refuse(t, refusal{origin: *o, cause: cause, stated: stated, cut: *cut})
	if l.state != before {
		// A caller that has not heard of its leave must not start on it now, unless
		// it would still get it.
		l.takeBack()
	}
	l.compare(&before, "")
	l.handOut(t)
	l.unlock()
}

// proposeCut asks Config.Cut, which is not called under the lock: what happens
// between is as if this refusal had come a moment later. nil is the default.
func (l *Limiter) proposeCut() (n *int) {
	if l.cut == nil {
		return nil
	}
	l.mu.Lock()
	l.advance()
	budget, inFlight := l.state.budget, l.state.inFlight
	l.unlock()
	if inFlight == 0 {
		return nil
	}
	l.notify.guard("Config.Cut", func() {
		cut := l.cut(budget, inFlight)
		n = &cut
	})
	return n
}

func (l *Limiter) succeed(o *origin) {
	l.mu.Lock()
	t := l.advance()
	before := l.state
	l.state.succeed(t, *o)
	o.counted = false // answered
	l.compare(&before, "")
	l.handOut(t)
	l.unlock()
}
