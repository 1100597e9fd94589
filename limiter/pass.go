package limiter

// A pass is leave by one limiter, and the head of a chain of passes: a caller of a
// Gate has one for each of its limiters, the narrowest first. All of a chain is
// given at once, or nothing. Before leave is given it says who is asked for it.
type pass struct {
	limiter *Limiter
	origin  origin // its counted is guarded by the limiter's lock
	wider   *pass  // by the next wider limiter of the gate; nil: none
}

// advance brings all limiters of x up to the time.
func (x *pass) advance() instant {
	l := x.limiter
	switch {
	case l.group != nil:
		return l.group.gather(x)
	case l.state.steady():
		return l.now
	}
	return l.look()
}

// catchUp is advance for who comes to x: those who waited and may go by now have
// gone, before him.
func (x *pass) catchUp() instant {
	l := x.limiter
	if l.group == nil && l.state.steady() {
		return l.now // nor has time let anybody go
	}
	t := x.advance()
	x.handOut(t)
	return t
}

// handOut follows a change in all limiters of x, which are handed out as one: who
// needs but one of them does not go before who has waited longer for both.
func (x *pass) handOut(t instant) {
	d := x.limiter.domain
	for ; x != nil; x = x.wider {
		if x.limiter.awaited() {
			d.unserve(x.limiter)
		}
	}
	if len(d.unserved) > 0 || d.granted.len > 0 {
		d.serve(t)
	}
}

// blocker returns who does not let p in, and why: of several the one that is known
// to last longest, else the narrowest. nil: all do.
func (x *pass) blocker(p Priority, t instant) (by *Limiter, why answer) {
	for ; x != nil; x = x.wider {
		a := x.limiter.state.may(p, t)
		if a.reason != ReasonNone && (by == nil || a.from > why.from) {
			by, why = x.limiter, a
		}
	}
	return by, why
}

// shutter is blocker as TryAcquire asks it.
func (x *pass) shutter(t instant) (by *Limiter, why answer) {
	for ; x != nil; x = x.wider {
		a := x.limiter.blocked(&x.limiter.state, t)
		if a.reason != ReasonNone && (by == nil || a.from > why.from) {
			by, why = x.limiter, a
		}
	}
	return by, why
}

// admit lets p in everywhere.
func (x *pass) admit(p Priority, t instant) {
	for ; x != nil; x = x.wider {
		x.origin = x.limiter.admit(p, t)
	}
}

// release gives back what was admitted.
func (x *pass) release() {
	for ; x != nil; x = x.wider {
		x.limiter.state.release(x.origin)
		x.origin.gone = true
	}
}

// of reports whether x is of l, among others.
func (x *pass) of(l *Limiter) bool {
	for ; x != nil; x = x.wider {
		if x.limiter == l {
			return true
		}
	}
	return false
}

// at returns the part of x that is of the first of scopes that it has; else the
// narrowest.
func (x *pass) at(scopes []string) *pass {
	for _, scope := range scopes {
		for y := x; y != nil; y = y.wider {
			if y.limiter.key.Scope == scope {
				return y
			}
		}
	}
	return x
}

// said is the origin of x as far as it never changes.
func (x *pass) said() origin {
	return origin{generation: x.origin.generation}
}

// again returns a chain to ask the same limiters with once more.
func (x *pass) again() pass {
	y := pass{limiter: x.limiter}
	for last := &y; x.wider != nil; last = last.wider {
		x = x.wider
		last.wider = &pass{limiter: x.limiter}
	}
	return y
}
