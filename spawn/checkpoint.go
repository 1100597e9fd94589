package spawn

import (
	"bytes"
	"slices"
	"sync"
)

// carried is what a run carries from attempt to attempt and into its Result.
type carried struct {
	nameless  bool // the worker's ID is made up
	forgotten bool // the effects are; guarded by effects.mu

	mu         sync.Mutex
	attempt    int // the number of the latest
	checkpoint any
	partial    []Unverified
	dropped    int // from before partial
	effects    []Effect
	declared   *Effect // the last one since the checkpoint; nil: none
}

// Save keeps v, what has been done so far or where to go on, for the next attempt
// and in Result.Checkpoint, in the place of what was saved before. Effects that
// have been declared are part of it: they stand in no retry's way any more. v is
// kept as it is and must not be changed any more, but for a []byte, which is
// copied. nil takes the checkpoint away. A goroutine that an earlier attempt has
// left behind saves nothing once a later one has begun.
func (a *Attempt) Save(v any) {
	v = own(v)
	c := a.run.carried
	c.mu.Lock()
	defer c.mu.Unlock()
	if a.number != c.attempt {
		return
	}
	c.checkpoint, c.declared = v, nil
}

// Checkpoint returns what was saved last, by this attempt or one before it, else
// Worker.Checkpoint; nil if there is neither. To have it or the zero value:
//
//	state, _ := a.Checkpoint().(State)
func (a *Attempt) Checkpoint() any {
	c := a.run.carried
	c.mu.Lock()
	defer c.mu.Unlock()
	return own(c.checkpoint)
}

// own returns v, or a copy if it is a buffer that its owner may use again.
func own(v any) any {
	if b, ok := v.([]byte); ok {
		return bytes.Clone(b)
	}
	return v
}

// begin notes that attempt number begins.
func (c *carried) begin(number int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.attempt = number
}

// into writes into r what has been carried so far.
func (c *carried) into(r *Result) {
	c.mu.Lock()
	defer c.mu.Unlock()
	r.Checkpoint = own(c.checkpoint)
	r.Partial, r.PartialDropped = slices.Clone(c.partial), c.dropped
	r.Effects = slices.Clone(c.effects)
}

// note puts an effect of Once into the trace, in the place of what is known of
// the same try.
func (c *carried) note(e Effect) {
	e.Result = nil
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range c.effects {
		if c.effects[i].Intent == e.Intent && e.Intent != "" {
			c.effects[i] = e
			return
		}
	}
	c.trace(e)
}

// trace appends to the trace, and drops from the middle what is too much.
func (c *carried) trace(e Effect) { c.effects = appendKept(c.effects, e) }
