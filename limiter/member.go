package limiter

// A member is a limiter's seat in a group. The group's lock guards it, but for
// group and key, which never change.
type member struct {
	group *Group // nil: the limiter is alone
	key   Key

	seated       bool    // the group has it under its key
	used         instant // when it was last asked, or found busy
	newer, older *Limiter
}

// present returns the limiter that l's key has now. One that the group has
// forgotten is as new, and takes its seat again unless another has it.
func (l *Limiter) present() *Limiter {
	if l.group == nil || l.seated {
		return l
	}
	if other := l.group.limiters[l.key]; other != nil {
		return other
	}
	l.group.seat(l)
	return l
}

// seat puts l under its key.
func (g *Group) seat(l *Limiter) {
	g.limiters[l.key] = l
	l.seated = true
	g.pushNewest(l)
}

// unseat forgets l.
func (g *Group) unseat(l *Limiter) {
	delete(g.limiters, l.key)
	l.seated = false
	l.state.renew() // a gate that knows it may have it back
	g.unlink(l)
}

// touch notes that l is used.
func (g *Group) touch(l *Limiter) {
	if g.newest != l {
		g.unlink(l)
		g.pushNewest(l)
	}
	l.used = g.now
}

func (g *Group) pushNewest(l *Limiter) {
	l.used = g.now
	l.newer, l.older = nil, g.newest
	if g.newest != nil {
		g.newest.newer = l
	} else {
		g.oldest = l
	}
	g.newest = l
}

func (g *Group) unlink(l *Limiter) {
	if l.newer != nil {
		l.newer.older = l.older
	} else {
		g.newest = l.older
	}
	if l.older != nil {
		l.older.newer = l.newer
	} else {
		g.oldest = l.newer
	}
	l.newer, l.older = nil, nil
}

// sweep looks at the n limiters that have not been asked for longest, and forgets
// those that may be. It reports whether there may be more.
func (g *Group) sweep(n int) (more bool) {
	for range n {
		l := g.oldest
		if l == nil || g.now-l.used < g.idleAfter {
			return false
		}
		l.bring(g.now)
		if l.waiting.len == 0 && l.state.asNew(g.now) {
			g.unseat(l)
		} else {
			g.touch(l)
		}
	}
	return true
}

// gather reads the clock, brings all limiters of x up to the time, and has those
// that were forgotten back.
func (g *Group) gather(x *pass) instant {
	g.now = g.line.Now()
	for ; x != nil; x = x.wider {
		l := g.enlist(x.limiter)
		if l != x.limiter {
			x.limiter = l // written only where it changes: reports read it without the lock
		}
		l.bring(g.now)
	}
	return g.now
}

// enlist returns the limiter that l's key has now, which is about to be used.
func (g *Group) enlist(l *Limiter) *Limiter {
	l = l.present()
	g.touch(l)
	g.sweep(2) // so that what is forgotten keeps pace with what is made
	return l
}
