package spawn_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdoff-go/holdoff/limiter"
	"github.com/holdoff-go/holdoff/retry"
	"github.com/holdoff-go/holdoff/spawn"
)

// A Run inside a Run: where the slot is.

// child runs a worker inside ctx.
func (s *scene) child(ctx context.Context, id string, run func(context.Context, *spawn.Attempt) error) error {
	_, err := s.spawner.Run(ctx, spawn.Worker{ID: id, Run: run})
	return err
}

func napping(d time.Duration) func(context.Context, *spawn.Attempt) error {
	return func(ctx context.Context, _ *spawn.Attempt) error {
		select {
		case <-time.After(d):
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// free requires that no slot is out.
func (s *scene) free() {
	s.Helper()
	st := s.limiter.Status()
	require.Zero(s, st.InFlight)
	require.Zero(s, st.Waiting)
}

func TestPlace_ChainOfChildrenInOneSlot(t *testing.T) {
	play(t, limiter.Config{Budget: 1}, spawn.Config{}, func(s *scene) {
		var nest func(depth int) func(context.Context, *spawn.Attempt) error
		nest = func(depth int) func(context.Context, *spawn.Attempt) error {
			return func(ctx context.Context, a *spawn.Attempt) error {
				require.Equal(t, 1, s.limiter.Status().InFlight)
				if depth == 0 {
					return nil
				}
				if err := s.child(ctx, fmt.Sprint("depth", depth), nest(depth-1)); err != nil {
					return err
				}
				require.Equal(t, 1, s.limiter.Status().InFlight, "the slot is back")
				return a.Wait(ctx)
			}
		}
		_, err := s.launch("root", nest(20)).Wait()
		require.NoError(t, err)
		s.free()
	})
}

func TestPlace_ParallelChildrenTakeTurns(t *testing.T) {
	play(t, limiter.Config{Budget: 1}, spawn.Config{}, func(s *scene) {
		parent := s.launch("parent", func(ctx context.Context, _ *spawn.Attempt) error {
			var children sync.WaitGroup
			for i := range 5 {
				children.Go(func() { s.check(s.child(ctx, fmt.Sprint("child", i), napping(time.Second))) })
			}
			children.Wait()
			return nil
		})
		_, err := parent.Wait()
		require.NoError(t, err)
		require.Equal(t, 5*time.Second, s.now())
		s.free()
	})
}

// check is require.NoError for goroutines that are not the test's.
func (s *scene) check(err error) {
	if err != nil {
		s.Errorf("unexpected: %v", err)
	}
}

func TestPlace_ParallelChildrenUseFreeSlots(t *testing.T) {
	play(t, limiter.Config{Budget: 3}, spawn.Config{}, func(s *scene) {
		parent := s.launch("parent", func(ctx context.Context, _ *spawn.Attempt) error {
			var children sync.WaitGroup
			for i := range 5 {
				children.Go(func() { s.check(s.child(ctx, fmt.Sprint("child", i), napping(time.Second))) })
			}
			children.Wait()
			return nil
		})
		_, err := parent.Wait()
		require.NoError(t, err)
		require.Equal(t, 2*time.Second, s.now(), "3 and 2")
		s.free()
	})
}

func TestPlace_RefusedChildBacksOffWithoutTheSlot(t *testing.T) {
	play(t, limiter.Config{Budget: 1}, spawn.Config{}, func(s *scene) {
		parent := s.launch("parent", func(ctx context.Context, a *spawn.Attempt) error {
			err := s.child(ctx, "child", func(_ context.Context, a *spawn.Attempt) error {
				if a.Number() == 1 {
					return transient()
				}
				return nil
			})
			require.Equal(t, 1, s.limiter.Status().InFlight, "the parent has a slot again: the child's")
			return errors.Join(err, a.Wait(ctx))
		})
		s.at(1)
		require.Zero(t, s.limiter.Status().InFlight)
		other := s.launch("other", napping(time.Second))
		s.at(1)
		require.Equal(t, spawn.Running, s.status("other").State)
		results, _ := wait(parent, other)
		require.Equal(t, map[spawn.State]int{spawn.Succeeded: 2}, ended(results))
		require.Equal(t, 3*time.Second, s.now())
		s.free()
	})
}

func TestPlace_ParentOfACanceledChildQueuesForItsNextCall(t *testing.T) {
	play(t, limiter.Config{Budget: 1}, spawn.Config{}, func(s *scene) {
		parent := s.launch("parent", func(ctx context.Context, a *spawn.Attempt) error {
			short, cancel := context.WithCancel(ctx)
			time.AfterFunc(time.Second, cancel)
			err := s.child(short, "child", func(context.Context, *spawn.Attempt) error { return transient() })
			require.ErrorIs(t, err, context.Canceled)
			require.Zero(t, s.limiter.Status().InFlight)
			time.Sleep(time.Second) // while another worker takes the one slot
			var calls sync.WaitGroup
			for range 3 { // in parallel: one of them queues, and the others go with it
				calls.Go(func() { s.check(a.Wait(ctx)) })
			}
			calls.Wait()
			require.Equal(t, 10*time.Second, s.now())
			require.Equal(t, 1, s.limiter.Status().InFlight)
			return nil
		})
		s.at(1.5)
		other := s.launch("other", napping(8500*time.Millisecond))
		results, _ := wait(parent, other)
		require.Equal(t, map[spawn.State]int{spawn.Succeeded: 2}, ended(results))
		s.free()
	})
}

func TestPlace_WaitThatIsCanceledLosesNothing(t *testing.T) {
	play(t, limiter.Config{Budget: 1}, spawn.Config{}, func(s *scene) {
		s.limiter.Hold("test")
		s.limiter.Resume("test")
		parent := s.launch("parent", func(ctx context.Context, a *spawn.Attempt) error {
			s.limiter.Hold("nobody calls")
			short, cancel := context.WithTimeout(ctx, time.Second)
			defer cancel()
			require.ErrorIs(t, a.Wait(short), context.DeadlineExceeded)
			short, cancel = context.WithTimeout(ctx, time.Second)
			defer cancel()
			_, err := s.spawner.Run(short, spawn.Worker{ID: "child", Run: napping(0)})
			require.ErrorIs(t, err, context.DeadlineExceeded)
			require.Equal(t, 1, s.limiter.Status().InFlight, "the borrowed slot is back")
			s.limiter.Resume("go on")
			return a.Wait(ctx)
		})
		_, err := parent.Wait()
		require.NoError(t, err)
		s.free()
	})
}

func TestPlace_ChildThatNobodyWaitsFor(t *testing.T) {
	// The parent's attempt ends before its child does.
	for _, end := range []struct {
		name string
		err  error
	}{{"succeeded", nil}, {"refused and retried", transient()}, {"dead", errOwn}} {
		t.Run(end.name, func(t *testing.T) {
			play(t, limiter.Config{Budget: 1}, spawn.Config{}, func(s *scene) {
				orphan := make(chan error, 1)
				parent := s.launch("parent", func(ctx context.Context, a *spawn.Attempt) error {
					if a.Number() > 1 {
						require.Equal(t, 1, s.limiter.Status().InFlight)
						time.Sleep(20 * time.Second)
						require.Equal(t, 1, s.limiter.Status().InFlight, "what the orphan gave back was its own")
						return nil
					}
					go func() {
						orphan <- s.child(context.WithoutCancel(ctx), "orphan", func(ctx context.Context, _ *spawn.Attempt) error {
							return s.child(ctx, "grandchild", napping(10*time.Second))
						})
					}()
					time.Sleep(time.Second)
					return end.err
				})
				s.at(2)
				require.Equal(t, 1, s.limiter.Status().InFlight, "it is still in the slot")
				next := s.launch("next", napping(0))
				s.at(9)
				require.Equal(t, spawn.Queued, s.status("next").State)
				require.NoError(t, <-orphan)
				_, _ = wait(parent, next)
				s.free()
			})
		})
	}
}

func TestPlace_GrandchildThatNobodyWaitsForReturnsTheRootsSlot(t *testing.T) {
	play(t, limiter.Config{Budget: 1}, spawn.Config{}, func(s *scene) {
		late := make(chan error, 1)
		root := s.launch("root", func(ctx context.Context, a *spawn.Attempt) error {
			err := s.child(ctx, "child", func(ctx context.Context, _ *spawn.Attempt) error {
				go func() { late <- s.child(context.WithoutCancel(ctx), "late", napping(5*time.Second)) }()
				time.Sleep(time.Second)
				return nil
			})
			require.NoError(t, err)
			require.Equal(t, 1, s.limiter.Status().InFlight)
			time.Sleep(10 * time.Second)
			require.Equal(t, 1, s.limiter.Status().InFlight, "the slot is the root's again, not free")
			return a.Wait(ctx)
		})
		_, err := root.Wait()
		require.NoError(t, err)
		require.NoError(t, <-late)
		s.free()
	})
}

func TestPlace_StartInsideTakesASlotOfItsOwn(t *testing.T) {
	play(t, limiter.Config{Budget: 2}, spawn.Config{}, func(s *scene) {
		parent := s.launch("parent", func(ctx context.Context, _ *spawn.Attempt) error {
			h := s.spawner.Start(ctx, spawn.Worker{ID: "beside", Run: napping(time.Second)})
			time.Sleep(time.Millisecond)
			require.Equal(t, 2, s.limiter.Status().InFlight)
			_, err := h.Wait()
			return err
		})
		_, err := parent.Wait()
		require.NoError(t, err)
		s.free()
	})
}

func TestPlace_ChildOfAnotherSpawner(t *testing.T) {
	t.Run("at the same limiter", func(t *testing.T) {
		play(t, limiter.Config{Budget: 1}, spawn.Config{}, func(s *scene) {
			other, err := spawn.New(spawn.Config{Limiter: s.limiter})
			require.NoError(t, err)
			_, err = s.launch("parent", func(ctx context.Context, _ *spawn.Attempt) error {
				_, err := other.Run(ctx, spawn.Worker{ID: "parent", Run: napping(time.Second)})
				return err
			}).Wait()
			require.NoError(t, err)
			s.free()
		})
	})
	t.Run("at another one", func(t *testing.T) {
		play(t, limiter.Config{Budget: 1}, spawn.Config{}, func(s *scene) {
			upstairs, err := limiter.New(limiter.Config{Budget: 1})
			require.NoError(t, err)
			other, err := spawn.New(spawn.Config{Limiter: upstairs})
			require.NoError(t, err)
			_, err = s.launch("parent", func(ctx context.Context, _ *spawn.Attempt) error {
				_, err := other.Run(ctx, spawn.Worker{Run: func(context.Context, *spawn.Attempt) error {
					require.Equal(t, 1, upstairs.Status().InFlight)
					require.Equal(t, 1, s.limiter.Status().InFlight)
					return nil
				}})
				return err
			}).Wait()
			require.NoError(t, err)
			s.free()
			require.Zero(t, upstairs.Status().InFlight)
		})
	})
}

// TestPlace_RandomFamilies grows random families under a small budget, with
// refusals, failures, cancellations and children that nobody waits for, and
// requires that all end, that no slot is lost, and that there are never more
// in flight than the budget.
func TestPlace_RandomFamilies(t *testing.T) {
	for seed := range uint64(60) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			budget := 1 + int(seed%3)
			config := limiter.Config{Budget: budget, Pause: 10 * time.Second}
			play(t, config, spawn.Config{}, func(s *scene) {
				f := &family{scene: s, rng: rand.New(rand.NewPCG(seed, 1)), budget: int32(budget)}
				ctx, cancel := context.WithTimeout(s.ctx, 2*time.Hour)
				defer cancel()
				for range 6 {
					f.all.Go(func() {
						_, err := s.spawner.Run(ctx, spawn.Worker{Run: f.member(3)})
						f.note(err)
					})
				}
				f.all.Wait()
				require.Less(t, s.now(), 2*time.Hour, "nobody hangs")
				require.NoError(t, ctx.Err())
				s.free()
				require.NoError(t, s.spawner.Drain(s.ctx))
			})
		})
	}
}

// A family is workers that run workers.
type family struct {
	*scene
	all     sync.WaitGroup
	mu      sync.Mutex
	rng     *rand.Rand
	budget  int32
	calling atomic.Int32 // workers that are in a call, and not waiting for a child
}

func (f *family) roll(n int) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.rng.IntN(n)
}

func (f *family) note(err error) {
	if errors.Is(err, context.DeadlineExceeded) {
		f.Errorf("a worker hung: %v", err)
	}
}

// call is one call of a worker; the slot it needs is held meanwhile.
func (f *family) call(ctx context.Context) {
	if n := f.limiter.Status(); n.InFlight > int(f.budget) {
		f.Errorf("%d in flight of %d", n.InFlight, f.budget)
	}
	if n := f.calling.Add(1); n > f.budget {
		f.Errorf("%d calls at once, budget %d", n, f.budget)
	}
	defer f.calling.Add(-1)
	select {
	case <-time.After(time.Duration(1+f.roll(2000)) * time.Millisecond):
	case <-ctx.Done():
	}
}

func (f *family) member(generations int) func(context.Context, *spawn.Attempt) error {
	return func(ctx context.Context, a *spawn.Attempt) error {
		f.call(ctx)
		for range f.roll(3) {
			if generations == 0 {
				break
			}
			f.children(ctx, generations-1)
			if err := a.Wait(ctx); err != nil {
				return err
			}
			f.call(ctx)
			a.Progress()
		}
		switch f.roll(12) {
		case 0:
			return transient()
		case 1:
			return rateLimited(0)
		case 2:
			return rateLimited(float64(1 + f.roll(5)))
		case 3:
			return errOwn
		case 4:
			panic("family")
		}
		return nil
	}
}

// children runs some at once and waits for them.
func (f *family) children(ctx context.Context, generations int) {
	var these sync.WaitGroup
	for range 1 + f.roll(3) {
		these.Go(func() {
			ctx, cancel := context.WithCancel(ctx)
			defer cancel()
			if f.roll(5) == 0 {
				time.AfterFunc(time.Duration(f.roll(5000))*time.Millisecond, cancel)
			}
			_, err := f.spawner.Run(ctx, spawn.Worker{Run: f.member(generations)})
			f.note(err)
		})
	}
	these.Wait()
}

// TestPlace_RandomOrphans lets children live on when their parents have ended.
func TestPlace_RandomOrphans(t *testing.T) {
	for seed := range uint64(40) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			budget := 1 + int(seed%2)
			play(t, limiter.Config{Budget: budget, Pause: 10 * time.Second}, spawn.Config{}, func(s *scene) {
				f := &family{scene: s, rng: rand.New(rand.NewPCG(seed, 2)), budget: 1 << 20}
				var orphan func(generations int) func(context.Context, *spawn.Attempt) error
				orphan = func(generations int) func(context.Context, *spawn.Attempt) error {
					return func(ctx context.Context, _ *spawn.Attempt) error {
						alive := context.WithoutCancel(ctx)
						for range f.roll(3) {
							if generations > 0 {
								f.all.Go(func() {
									_, err := s.spawner.Run(alive, spawn.Worker{Run: orphan(generations - 1)})
									f.note(err)
								})
							}
						}
						time.Sleep(time.Duration(f.roll(2000)) * time.Millisecond)
						return []error{nil, transient(), rateLimited(0), errOwn}[f.roll(4)]
					}
				}
				for range 4 {
					f.all.Go(func() {
						_, err := s.spawner.Run(s.ctx, spawn.Worker{Run: orphan(3)})
						f.note(err)
					})
				}
				f.all.Wait()
				require.Less(t, s.now(), 2*time.Hour)
				s.free()
			})
		})
	}
}

// A child that is Canceled, because the wait would end after its deadline, did not
// fail. Neither has the parent that returns its error.
func TestPlace_AStoppedChildIsNoDeathOfItsParent(t *testing.T) {
	play(t, limiter.Config{}, spawn.Config{}, func(s *scene) {
		ctx, cancel := context.WithTimeout(s.ctx, 30*time.Second)
		defer cancel()
		result, err := s.spawner.Run(ctx, spawn.Worker{Run: func(ctx context.Context, _ *spawn.Attempt) error {
			_, err := s.spawner.Run(ctx, spawn.Worker{Run: func(context.Context, *spawn.Attempt) error { return rateLimited(60) }})
			return err
		}})
		require.Equal(s, spawn.Canceled, result.State)
		require.ErrorIs(s, err, context.DeadlineExceeded)
		require.ErrorIs(s, err, retry.RateLimited)
		require.Empty(s, s.deaths)
	})
}

// A parent that waits for its child makes no calls. So it has no retry to spare, for
// which another's child could wait for ever.
func TestPlace_WaitingParentsSpareNothing(t *testing.T) {
	calls := func(nested bool) (n int64) {
		play(t, limiter.Config{}, spawn.Config{}, func(s *scene) {
			var count atomic.Int64
			leaf := func(context.Context, *spawn.Attempt) error {
				count.Add(1)
				time.Sleep(50 * time.Millisecond)
				return rateLimited(0)
			}
			work := leaf
			if nested {
				work = func(ctx context.Context, _ *spawn.Attempt) error {
					_, err := s.spawner.Run(ctx, spawn.Worker{Run: leaf})
					return err
				}
			}
			one, two := s.launch("one", work), s.launch("two", work)
			for _, h := range []*spawn.Handle{one, two} {
				result, _ := h.Wait()
				require.Equal(s, spawn.Dead, result.State)
			}
			n = count.Load()
		})
		return n
	}
	require.Equal(t, calls(false), calls(true))
}
