package spawn

// A storm is what the fleet has paid for the limiter's present one, which lasts
// from the refusal that opens a pause until a success, Resume or 10 min of quiet.
//
// Every refused attempt counts against its worker. But while a storm lasts only
// the probe makes attempts, and which worker that is, is chance: one whose
// siblings are in long calls probes alone. So nobody dies of a storm that has
// cost the fleet no more probes than its workers have retries before their last:
// with the default policy two each, and eight for a fleet of four, which the
// limiter spreads over more than 330 s. A worker alone has its own and no more.
type storm struct {
	workers int // the most that were alive at a refusal
	probes  int // attempts that began in it and were refused
}

// inStorm reports, as an attempt begins, whether there is a storm.
func (s *Spawner) inStorm() bool {
	if s.limiter.Status().Storm {
		return true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.storm = storm{} // the next one is another
	return false
}

// refused books a refusal, and reports whether the storm spares r, whose retries,
// of which there were so many, are used up. Only an attempt made in the storm is
// its probe.
func (s *Spawner) refused(r *run, probe bool, retries int) (spared bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.storm.workers = max(s.storm.workers, 1+s.othersLocked(r))
	if !probe {
		return false
	}
	s.storm.probes++
	return s.storm.probes <= (retries-1)*s.storm.workers
}

// others returns how many workers are alive besides r and those that wait for it.
func (s *Spawner) others(r *run) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.othersLocked(r)
}

func (s *Spawner) othersLocked(r *run) int {
	n := len(s.live) - 1
	for a := r.parent; a != nil; a = a.run.parent {
		if a.run.spawner == s && s.live[a.run.worker.ID] == a.run {
			n--
		}
	}
	return n
}
