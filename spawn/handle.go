package spawn

// A Handle is a worker that Start has started. It is safe for concurrent use.
type Handle struct {
	run    *run
	done   chan struct{}
	result Result
	err    error
}

// start runs r on a goroutine of its own.
func (r *run) start() *Handle {
	h := &Handle{run: r, done: make(chan struct{})}
	go func() {
		defer func() { // for a hook may end this goroutine by runtime.Goexit
			h.result, h.err = r.result, r.err
			close(h.done)
		}()
		_, _ = r.loop()
	}()
	return h
}

// Wait returns how the run ended, as Spawner.Run does, once it has. A worker that
// waits here for one that it started gives its slot to nobody meanwhile: when all
// slots are held by such parents, they wait for ever. Spawner.Run is for children.
func (h *Handle) Wait() (Result, error) {
	<-h.done
	return h.result, h.err
}

// Done returns a channel that is closed when the run has ended.
func (h *Handle) Done() <-chan struct{} { return h.done }

// Cancel stops the worker: its context ends with cause, and it ends as Canceled
// unless it fails or succeeds first. A nil cause is context.Canceled. Other
// workers are not touched.
func (h *Handle) Cancel(cause error) {
	if h.run != nil {
		h.run.cancel(cause)
	}
}

// Status returns where the worker is now. The status of a worker that was never
// admitted has its ID only.
func (h *Handle) Status() WorkerStatus {
	if h.run == nil {
		return WorkerStatus{ID: h.result.ID, State: Canceled}
	}
	return h.run.spawner.statusOf(h.run)
}
