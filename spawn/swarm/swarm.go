package swarm

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"
	"time"

	"github.com/holdoff-go/holdoff/spawn"
)

// ErrRanging is the Err of the only result of a loop over a swarm that another
// loop is ranging over.
var ErrRanging = errors.New("swarm: another loop is ranging over the results")

// ErrInputsChanged is the Err of the last result of a loop that does not find the
// inputs of the one before: the Swarm cannot tell where to go on.
var ErrInputsChanged = errors.New("swarm: the inputs are not those of the loop before: a sequence that can be used once cannot be resumed")

// errBroken is what cancels the members of a loop that was left early.
var errBroken = errors.New("swarm: the loop over the results was left")

// A Swarm is one function to be run over a sequence of inputs. It is made by
// New, and does nothing until somebody ranges over its Results, its main method.
// Progress says how far it is, and Stop ends one of its members. Run is the
// short way for a swarm that needs neither.
//
// Its methods are safe for concurrent use, but one loop ranges over it at a time.
// All its goroutines end with the loop.
type Swarm[K comparable, In, Out any] struct {
	cfg    Config[K, Out]
	inputs iter.Seq2[K, In]
	run    func(context.Context, *spawn.Attempt, In) (Out, error)

	mu      sync.Mutex
	ranging bool
	began   time.Time     // of the present loop
	elapsed time.Duration // of those before
	next    int           // the position of the first input that was not yielded
	last    K             // the key of the one before
	kept    map[int]*member[K, Out]
	live    map[K]*member[K, Out]

	counts    [spawn.Parked + 1]int // members by state
	stored    int
	taken     int  // inputs that are counted above
	exhausted bool // the last input has been taken
}

// New returns a swarm of f over inputs. The keys must differ from each other:
// they name the members, and the results in a Store. slices.All gives the inputs
// of a slice their indexes as keys, and Keyed keys of their own, which a Store
// should have. The inputs are taken as members can be started, on one goroutine;
// a sequence that waits must end with the context of the loop, and one that can be
// used once serves one loop.
//
// f is called once an attempt; see spawn.Worker.Run. The error names the field
// that makes no sense.
func New[K comparable, In, Out any](
	cfg Config[K, Out], inputs iter.Seq2[K, In], f func(context.Context, *spawn.Attempt, In) (Out, error),
) (*Swarm[K, In, Out], error) {
	cfg, err := cfg.withDefaults()
	switch {
	case err != nil:
		return nil, err
	case inputs == nil:
		return nil, errors.New("swarm: the inputs are nil: they are required")
	case f == nil:
		return nil, errors.New("swarm: the function is nil: it is required")
	}
	return &Swarm[K, In, Out]{cfg: cfg, inputs: inputs, run: f, live: make(map[K]*member[K, Out])}, nil
}

// Run yields the result of f for each of inputs, in their order: it is Results
// of a Swarm with the Config of that spawner alone.
func Run[K comparable, In, Out any](
	ctx context.Context, s *spawn.Spawner, inputs iter.Seq2[K, In], f func(context.Context, *spawn.Attempt, In) (Out, error),
) iter.Seq2[K, Result[Out]] {
	swarm, err := New(Config[K, Out]{Spawner: s}, inputs, f)
	if err != nil {
		return failed[K, Out](err)
	}
	return swarm.Results(ctx)
}

// Keyed gives each of inputs the key that key returns for it.
func Keyed[K comparable, In any](inputs iter.Seq[In], key func(In) K) iter.Seq2[K, In] {
	return func(yield func(K, In) bool) {
		for in := range inputs {
			if !yield(key(in), in) {
				return
			}
		}
	}
}

func failed[K comparable, Out any](err error) iter.Seq2[K, Result[Out]] {
	return func(yield func(K, Result[Out]) bool) {
		var none K
		yield(none, Result[Out]{Err: err, Run: spawn.Result{State: spawn.Canceled}})
	}
}

// Results runs the swarm, and yields the key and the result of each input as soon
// as it and all before it have ended.
//
// When ctx ends, or the spawner drains, the members at work end, and what has not
// been started is yielded as Canceled: every input has a result, whatever
// happens. When the loop is left early, the members at work are canceled and
// waited for. To range over Results again is to go on after the last result that
// was yielded: what had finished by then is not run again, what had not is. The
// inputs must come again for that, in the same order; see ErrInputsChanged.
func (s *Swarm[K, In, Out]) Results(ctx context.Context) iter.Seq2[K, Result[Out]] {
	return func(yield func(K, Result[Out]) bool) {
		l := s.begin(ctx)
		if l == nil {
			failed[K, Out](ErrRanging)(yield)
			return
		}
		// Deferred, because the loop's body may panic, or end its goroutine.
		defer l.end()
		go l.feed()
		for m := range l.order {
			<-m.done
			s.yielded(m.key)
			if !yield(m.key, m.result) {
				return
			}
		}
		if l.changed {
			failed[K, Out](ErrInputsChanged)(yield)
			return
		}
		l.raise()
	}
}

// Stop cancels the member of key, with cause or context.Canceled for nil: its
// Result is Canceled, and the others are not touched. It reports whether that
// member was alive.
func (s *Swarm[K, In, Out]) Stop(key K, cause error) bool {
	s.mu.Lock()
	m := s.live[key]
	if m != nil {
		m.stopped = true
	}
	s.mu.Unlock()
	if m == nil {
		return false
	}
	m.cancel(cause)
	return true
}

func (s *Swarm[K, In, Out]) wasStopped(m *member[K, Out]) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return m.stopped
}

// begin returns a new loop, or nil while there is another.
func (s *Swarm[K, In, Out]) begin(ctx context.Context) *loop[K, In, Out] {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ranging {
		return nil
	}
	s.ranging, s.began = true, s.cfg.Clock.Now()
	return newLoop(ctx, s)
}

func (s *Swarm[K, In, Out]) yielded(key K) {
	s.mu.Lock()
	s.next++
	s.last = key
	s.mu.Unlock()
}

// ended closes the present loop, which has kept what finished out of its turn,
// and dropped members that will be run again.
func (s *Swarm[K, In, Out]) ended(kept map[int]*member[K, Out], dropped []*member[K, Out]) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ranging, s.kept = false, kept
	s.elapsed += s.cfg.Clock.Now().Sub(s.began)
	for _, m := range dropped {
		if m.counted {
			s.counts[m.state]--
			s.taken--
		}
	}
	s.exhausted = s.exhausted && len(dropped) == 0
}

func (s *Swarm[K, In, Out]) id(key K) string {
	if s.cfg.Name == "" {
		return fmt.Sprint(key)
	}
	return s.cfg.Name + "/" + fmt.Sprint(key)
}

// join makes m one of the living.
func (s *Swarm[K, In, Out]) join(m *member[K, Out]) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.count(m, spawn.Queued)
	if s.live[m.key] == nil {
		s.live[m.key] = m
	}
}

// part takes m, which has ended, from the living.
func (s *Swarm[K, In, Out]) part(m *member[K, Out]) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.count(m, m.result.Run.State) // one that was not admitted had no events
	if s.live[m.key] == m {
		delete(s.live, m.key)
	}
}

// settled counts m, which ended without being started.
func (s *Swarm[K, In, Out]) settled(m *member[K, Out]) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if m.result.Stored {
		s.taken++
		s.stored++
		return
	}
	s.count(m, m.result.Run.State)
}

func (s *Swarm[K, In, Out]) takenAll() {
	s.mu.Lock()
	s.exhausted = true
	s.mu.Unlock()
}

func (s *Swarm[K, In, Out]) count(m *member[K, Out], state spawn.State) {
	if m.counted {
		s.counts[m.state]--
	} else {
		m.counted = true
		s.taken++
	}
	m.state = state
	s.counts[state]++
}

// observe takes in what the spawner tells of m.
func (s *Swarm[K, In, Out]) observe(m *member[K, Out], e spawn.Event) {
	s.mu.Lock()
	kind := kindOf(e, m.state)
	s.count(m, e.State)
	m.until = e.Until
	tell := kind != "" && s.cfg.OnEvent != nil
	var p Progress
	if tell {
		p = s.progress()
	}
	s.mu.Unlock()
	if tell {
		s.cfg.OnEvent(Event[K]{Kind: kind, Key: m.key, Event: e, Progress: p})
	}
}
