package spawn

// keptPartial is how many chunks of partial output a Result holds. A chunk is a
// piece of text or a step's answer: more than a person reads.
const keptPartial = 1024

// Unverified is a piece of output of an attempt that nobody has said is whole or
// right: the attempt may have failed after it, and another may have made it again.
type Unverified struct {
	Attempt string // the ID of the attempt that made it
	Chunk   any
}

// Partial keeps a chunk of output that exists before the work is done: text that
// streams in, the answer of a step. Result.Partial has it however the run ends,
// in the order of the calls; a Result holds the last 1024. It is for people to
// look at; what the next attempt is to build on belongs in Save. A []byte is
// copied; any other value must not be changed any more.
func (a *Attempt) Partial(chunk any) {
	u := Unverified{Attempt: a.id, Chunk: own(chunk)}
	c := a.run.carried
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.partial) == keptPartial {
		c.partial[0] = Unverified{}
		c.partial = c.partial[1:]
		c.dropped++
	}
	c.partial = append(c.partial, u)
}
