package fleet

// grant writes down what was decided, bypasses and all, before anything is
// launched.
func (e *evaluation) grant(to State) error {
	b, d := e.book, &e.d
	if d.Granted == 0 {
		return nil
	}
	b.ctl.LastLaunch = b.now
	charged := 0
	if past := d.Granted - e.paced; past > 0 {
		charged = e.charge(past)
	}
	for i := range d.Granted {
		r := Reservation{
			ID: newReservationID(d.Key, i), Key: d.Key, Offer: d.Offer, State: to, Price: d.MaxPrice,
			At: b.now, Changed: b.now, Due: b.now.Add(e.guard.cfg.ResolveDeadline),
		}
		for _, f := range d.Findings {
			if f.Bypassed && f.Allowed <= i {
				r.Bypassed = append(r.Bypassed, f.Constraint)
			}
		}
		if len(r.Bypassed) > 0 && i < e.paced+charged { // the others are the operators'
			r.Episode = d.Episode
		}
		if err := b.put(r); err != nil {
			return err
		}
		d.Reservations = append(d.Reservations, r)
	}
	return nil
}

// charge notes n launches past pacing with what allowed them: the host's claim,
// else the allowance of the episode, else the operators' overrides. It returns
// how many of them are an emergency's.
func (e *evaluation) charge(n int) int {
	b, d := e.book, &e.d
	if e.claim && b.ctl.Episode == nil { // a claim is an emergency of its one request
		episode := b.newEpisode(HostClaim{}.Name(), d.Reason)
		episode.Launches = n
		b.end(episode, "a claim holds for its request alone")
		d.Episode = episode.ID
		return n
	}
	use := e.fromEpisode(n)
	if use > 0 {
		b.ctl.Episode.Launches += use
		b.ctl.Episode.Spent = b.now
		d.Episode = b.ctl.Episode.ID
	}
	if n > use {
		d.Overrides = b.draw(n - use)
	}
	return use
}

// fromEpisode is how many of n launches past pacing the open episode stands for.
func (e *evaluation) fromEpisode(n int) int {
	episode := e.book.ctl.Episode
	switch {
	case episode == nil || !e.d.Established:
		return 0
	case e.claim:
		return n
	}
	left, _ := episode.left(e.guard.cfg.Allowance, e.book.now)
	return min(n, left)
}
