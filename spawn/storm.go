package spawn

import (
	"github.com/holdoff-go/holdoff/internal/outcall"
	"github.com/holdoff-go/holdoff/limiter"
)

// A storm lasts from the refusal that opens the limiter's pause until a success,
// Resume or 10 min of quiet. Who dies of it?
//
// Every refused attempt counts against its worker. But while a storm lasts only
// the probe makes attempts, and whose turn that is, is chance: a worker whose
// siblings are all in long calls probes alone. So no last retry is spent on a
// storm while another worker has one to spare. Whoever is at the last queues as
// new work, behind those who can still probe; and if it is its turn all the same,
// a refusal costs it nothing. It counts again when nobody has a retry to spare,
// and for an attempt that began when the storm was over: what is refused while
// others are served is refused for itself.

// outlasts reports whether r, which has used its retries up and was refused once
// more, goes on. probe says that the attempt began in a storm.
func (r *run) outlasts(probe bool) bool {
	if !probe || r.ladder.taken == 0 { // a policy without retries stays one
		return false
	}
	_, spare := r.spawner.others(r)
	return spare > 0 || r.age()-r.since < r.worker.Patience
}

// returnsAs is the priority of r's next attempt.
func (r *run) returnsAs() limiter.Priority {
	if r.ladder.last() && r.gates.Status().Storm {
		if alive, _ := r.spawner.others(r); alive > 0 || r.worker.Patience > 0 {
			return limiter.Normal
		}
	}
	if r.worker.Priority == limiter.Emergency {
		return limiter.Emergency
	}
	return limiter.Resumed
}

// others returns how many workers of r's limiter are alive besides r, and how many
// of them have a retry to spare. Those that wait for a worker inside of them make
// no calls, and so have none.
func (s *Spawner) others(r *run) (alive, spare int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	waits := make(map[*run]bool)
	for _, child := range s.live {
		if child.parent != nil {
			waits[child.parent.run] = true
		}
	}
	for _, other := range s.live {
		if other == r || waits[other] || !outcall.Same(other.limiter, r.limiter) {
			continue
		}
		alive++
		if !other.atLast {
			spare++
		}
	}
	return alive, spare
}

// startAnew notes that r has all of its retries again.
func (r *run) startAnew() {
	r.spawner.mu.Lock()
	r.atLast = false
	r.spawner.mu.Unlock()
}
