package fleet

// grant writes down what was decided, bypasses and all, before anything is
// launched.
func (e *evaluation) grant(to State) error {
	b, d := e.book, &e.d
	if d.Granted == 0 {
		return nil
	}
	b.ctl.LastLaunch = b.now
	if past := d.Granted - e.paced; past > 0 {
		e.charge(past)
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
		if len(r.Bypassed) > 0 {
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
// else the allowance of the episode, else the operators' overrides.
func (e *evaluation) charge(n int) {
	b, d := e.book, &e.d
	if e.claim && b.ctl.Episode == nil { // a claim is an emergency of its one request
		episode := b.newEpisode(HostClaim{}.Name(), d.Reason)
		episode.Launches = n
		b.end(episode, "a claim holds for its request alone")
		d.Episode = episode.ID
		return
	}
	if episode := b.ctl.Episode; episode != nil && d.Established {
		use := n
		if !e.claim {
			left, _ := episode.left(e.guard.cfg.Allowance, b.now)
			use = min(n, left)
		}
		if use > 0 {
			episode.Launches += use
			episode.Spent = b.now
			d.Episode = episode.ID
			n -= use
		}
	}
	if n > 0 {
		d.Overrides = b.draw(n)
	}
}
