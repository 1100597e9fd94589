package desk

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/holdoff-go/holdoff/examples/wrap/agents"
	"github.com/holdoff-go/holdoff/limiter"
)

// A Desk hands jobs to a tower and books what becomes of them.
type Desk struct {
	Tower    agents.Tower
	Limiter  *limiter.Limiter
	OnBooked func(Booking) // is told of each job's end

	mu      sync.Mutex
	backlog []*job // waiting, in order
	running map[string]*job
}

// A Booking is the end of a job.
type Booking struct {
	ID              string
	Turns, Refusals int
	Err             error // nil: done; else the job is lost
}

// A job is a task on its way.
type job struct {
	task            agents.Task
	turns, refusals int
	exit            chan error
	slot            *limiter.Slot
}

// Open starts listening to the tower. Call it once, before Tick.
func (d *Desk) Open() {
	d.running = make(map[string]*job)
	d.Tower.OnTurnEnd(d.turnEnded)
	d.Tower.OnExit(func(id string, err error) { d.job(id).exit <- err })
}

// Add puts a task at the end of the backlog.
func (d *Desk) Add(t agents.Task) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.backlog = append(d.backlog, &job{task: t, exit: make(chan error, 1)})
}

// Tick spawns what is in the backlog. The host calls it once a second.
func (d *Desk) Tick(ctx context.Context) {
	for j := d.first(); j != nil; j = d.first() {
		if j.slot, _ = d.Limiter.TryAcquire(); j.slot == nil {
			return // the next tick asks again
		}
		d.begin(j)
		d.Tower.Spawn(ctx, j.task)
		go func() { d.settle(j, <-j.exit) }()
	}
}

func (d *Desk) turnEnded(id string, err error) {
	j := d.job(id)
	var refused *agents.RefusedError
	switch {
	case err == nil:
		j.turns++
		j.slot.ReportSuccess()
	case errors.As(err, &refused):
		j.refusals++
		j.slot.ReportRateLimited(refused.Wait)
	}
}

// settle books the end of a job, or puts the job back.
func (d *Desk) settle(j *job, err error) {
	d.mu.Lock()
	delete(d.running, j.task.ID)
	d.mu.Unlock()
	j.slot.Release()
	switch {
	case errors.Is(err, agents.ErrEvicted), errors.As(err, new(*agents.RefusedError)):
		d.putBack(j)
	default:
		d.OnBooked(Booking{j.task.ID, j.turns, j.refusals, err})
	}
}

// first returns the first job of the backlog, nil when it is empty.
func (d *Desk) first() *job {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.backlog) == 0 {
		return nil
	}
	return d.backlog[0]
}

// begin takes j from the backlog to the running ones.
func (d *Desk) begin(j *job) {
	d.mu.Lock()
	defer d.mu.Unlock()
	i := slices.Index(d.backlog, j)
	d.backlog = slices.Delete(d.backlog, i, i+1)
	d.running[j.task.ID] = j
}

// putBack puts j at the front of the backlog.
func (d *Desk) putBack(j *job) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.backlog = slices.Insert(d.backlog, 0, j)
}

func (d *Desk) job(id string) *job {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.running[id]
}
