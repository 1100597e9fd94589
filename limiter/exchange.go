package limiter

import "errors"

// Exchange gives s back and takes a slot of g for it, in one step: of what both
// gates have in common nobody else gets anything in between. It is for work that
// goes on with another key, and so has a Resumed caller's turn; it does not wait. An
// error, a *BlockedError where g does not let it in, leaves s as it was.
func (g *Gate) Exchange(s *Slot) (*Slot, error) {
	n := new(Slot)
	if err := g.ask(&n.pass); err != nil {
		return nil, err
	}
	d := g.group.domain
	if s == nil || s.limiter.domain != d {
		return nil, errors.New("limiter: Exchange: the slot is of another group: it must be of the gate's own")
	}
	d.mu.Lock()
	if s.released { // before the look at its limiters: others may be in their seats
		d.unlock()
		return nil, errors.New("limiter: Exchange: the slot has been released")
	}
	s.advance()
	t := n.advance()
	s.handOut(t)
	n.handOut(t)
	undo := s.suspend()
	if by, why := n.blocker(Resumed, t); by != nil {
		undo()
		err := by.blockedError(why, t)
		d.unlock()
		return nil, err
	}
	s.released = true
	n.admit(Resumed, t)
	s.handOut(t)
	n.handOver(Resumed)
	return n, nil
}

// suspend releases x, and returns what makes that undone, as long as nothing else
// has changed.
func (x *pass) suspend() (undo func()) {
	var before []state
	for y := x; y != nil; y = y.wider {
		before = append(before, y.limiter.state)
	}
	x.release()
	return func() {
		for _, s := range before {
			x.limiter.state = s
			x.origin.gone = false // and no more: reports read the rest without the lock
			x = x.wider
		}
	}
}
