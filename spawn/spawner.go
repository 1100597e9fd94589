package spawn

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/holdoff-go/holdoff/internal/clock"
	"github.com/holdoff-go/holdoff/internal/outcall"
	"github.com/holdoff-go/holdoff/retry"
	"github.com/holdoff-go/holdoff/spawn/pool"
)

// A Spawner runs workers under one policy against one upstream: each attempt
// takes a slot of the limiter, what it comes to is classified and reported, and
// only what no retry will mend reaches the death path.
//
// Its main methods are Run, which runs one worker to its end, and Start, which
// does so on a goroutine. Do is Run for a function with a value. Workers that
// were refused come back ahead of new ones, and hold no slot while they wait.
//
// A Spawner is safe for concurrent use. It must be made by New, runs no
// goroutine of its own and needs no Close; Drain ends it in good order.
type Spawner struct {
	limiter       Limiter
	policy        retry.Policy // with Clock and Classifier set
	maxInlineWait time.Duration
	clock         Clock
	notify        notifier
	budget        *retryBudget
	rota          *pool.Rota // of Config.Pool, else of one that nobody knows
	pooled        bool       // Config.Pool is set
	effects       *effects

	mu       sync.Mutex
	arrivals uint64
	live     map[string]*run
	ended    []entry       // the last keptEnded
	draining bool          // admission has ended
	idle     chan struct{} // closed when nobody lives; nil unless somebody asked
}

// New returns a spawner for cfg. The error names the field that makes no sense.
func New(cfg Config) (*Spawner, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	s := &Spawner{
		limiter:       cfg.Limiter,
		policy:        cfg.Policy,
		maxInlineWait: cfg.MaxInlineWait,
		clock:         cfg.Clock,
		notify:        notifier{onEvent: cfg.OnEvent, onDeath: cfg.OnDeath, logger: cfg.Logger},
		budget:        newRetryBudget(cfg.RetryBudget),
		effects:       newEffects(cfg.Effects, rand.Text()),
		live:          make(map[string]*run),
	}
	if s.pooled = cfg.Pool != nil; s.pooled {
		s.rota = cfg.Pool.Rota()
	} else {
		s.rota = pool.Alone(cfg.Clock)
	}
	return s, nil
}

// Run runs w until it is Succeeded, Dead, Canceled or Parked, and returns how
// and with what attempts. The error is nil for Succeeded. Otherwise it is a
// *retry.Error that holds the cause of every attempt, so that errors.Is finds
// the worker's own error, its class (retry.RateLimited, ...), ErrParked,
// ErrRetryBudget, retry.ErrElapsed, and the cause of a context that ended.
//
// A worker that was not admitted ends as Canceled with ErrDraining, ErrDuplicate
// or an error that names the field that makes no sense; it leaves no event and
// no line in the roster.
//
// A Run inside another worker, with its context, is a worker of its own. It uses
// its parent's slot while that waits for it. When it is given up, the parent is
// not retried for the error: it has been retried to the end.
func (s *Spawner) Run(ctx context.Context, w Worker) (Result, error) {
	r, err := s.admit(ctx, w)
	if err != nil {
		return Result{ID: w.ID, State: Canceled}, err
	}
	return r.loop()
}

// Start runs w on a goroutine of its own, which ends with the run. It is for work
// that its caller does not wait for: inside another worker it takes a slot of its
// own, and parents that hold all slots while they wait for such work wait for
// ever. For children in parallel call Run on goroutines.
func (s *Spawner) Start(ctx context.Context, w Worker) *Handle {
	r, err := s.admit(ctx, w)
	if err != nil {
		h := &Handle{done: make(chan struct{}), result: Result{ID: w.ID, State: Canceled}, err: err}
		close(h.done)
		return h
	}
	r.parent = nil
	return r.start()
}

// admit makes w one of the living.
func (s *Spawner) admit(ctx context.Context, w Worker) (*run, error) {
	if err := w.validate(); err != nil {
		return nil, err
	}
	if err := s.serves(w.Limiter); err != nil {
		return nil, fmt.Errorf("spawn: Worker.Limiter: %w", err)
	}
	r := s.newRun(w)
	if parent, ok := FromContext(ctx); ok && outcall.Same(parent.run.limiter, r.limiter) {
		r.parent = parent
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.draining {
		return nil, ErrDraining
	}
	s.arrivals++
	if w.ID == "" {
		r.worker.ID, r.carried.nameless = s.makeID(), true
	}
	if id := r.worker.ID; s.live[id] != nil {
		return nil, fmt.Errorf("%w: %q", ErrDuplicate, id)
	}
	r.result.ID = r.worker.ID
	s.enlist(ctx, r, s.arrivals)
	return r, nil
}

// newRun returns a run of w that is not alive yet.
func (s *Spawner) newRun(w Worker) *run {
	r := &run{
		spawner: s,
		worker:  w,
		limiter: s.limiter,
		line:    clock.NewLine(s.clock),
		ladder:  newLadder(s.policy),
		since:   none,
		carried: &carried{checkpoint: own(w.Checkpoint)},
	}
	if w.Limiter != nil {
		r.limiter = w.Limiter
	}
	r.gates = r.limiter
	return r
}

// enlist makes r one of the living. s.mu is held.
func (s *Spawner) enlist(ctx context.Context, r *run, arrival uint64) {
	w := &r.worker
	r.ctx, r.cancel = context.WithCancelCause(ctx)
	r.entry = entry{
		arrival: arrival,
		status:  WorkerStatus{ID: w.ID, State: Queued, Priority: w.Priority, Since: s.clock.Now()},
	}
	s.live[w.ID] = r
}

// makeID returns an ID that no living worker has, and none whose effects are known:
// they are not this one's.
func (s *Spawner) makeID() string {
	for n := s.arrivals; ; n++ {
		if id := "worker-" + strconv.FormatUint(n, 10); s.live[id] == nil && !s.effects.knows(id) {
			return id
		}
	}
}

// accepted notes that the upstream accepted a call with lease.
func (s *Spawner) accepted(lease pool.Lease) {
	s.budget.succeeded()
	s.rota.Accepted(lease)
}

// Drain shuts the spawner down in good order; to wait for all work, wait for Run
// or for the handles of Start. Admission ends at once, and so do the workers that
// wait: they are Canceled with ErrDraining, which is no death. Running attempts go on,
// but are not retried. Drain returns nil when the last of them has ended; when
// ctx ends first, the rest is canceled with the cause ErrDraining, and Drain
// returns a *StragglersError that names them, without waiting for them. A worker
// or a hook that calls Drain waits for itself.
func (s *Spawner) Drain(ctx context.Context) error {
	s.mu.Lock()
	s.draining = true
	for _, r := range s.live {
		if r.entry.status.State != Running {
			r.cancel(ErrDraining)
		}
	}
	if len(s.live) == 0 {
		s.mu.Unlock()
		return nil
	}
	if s.idle == nil {
		s.idle = make(chan struct{})
	}
	idle := s.idle
	s.mu.Unlock()

	select {
	case <-idle:
		return nil
	case <-ctx.Done():
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	stragglers := &StragglersError{cause: context.Cause(ctx)}
	for _, r := range slices.SortedFunc(maps.Values(s.live), byArrival) {
		stragglers.IDs = append(stragglers.IDs, r.worker.ID)
		r.cancel(ErrDraining)
	}
	if len(stragglers.IDs) == 0 {
		return nil
	}
	return stragglers
}

func byArrival(a, b *run) int { return cmp.Compare(a.entry.arrival, b.entry.arrival) }
