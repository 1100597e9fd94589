package swarm

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/holdoff-go/holdoff/internal/clock"
	"github.com/holdoff-go/holdoff/spawn"
)

// Clock tells the time and waits for it. A nil Clock is the system's; the fakes
// of clockwork, benbjohnson/clock and k8s.io/utils/clock are Clocks as they are.
type Clock = clock.Clock

const (
	// defaultCap is eight times the limiter's default budget: members that back
	// off hold no slot, and must not keep those that could from using one.
	defaultCap = 128
	// defaultAhead is far more than a swarm is likely to have of inputs, and a
	// small amount of memory unless results are large.
	defaultAhead = 4096
	// defaultPatience is the longest pause that a limiter assumes by default: a
	// storm that outlasts it is more than a full window.
	defaultPatience = 10 * time.Minute
)

// A Config sets a Swarm up. Spawner is required; the zero value of every other
// field is its documented default. K is the type of the keys, Out that of the
// results.
type Config[K comparable, Out any] struct {
	// Spawner runs the members. It may run other work too. Required.
	Spawner *spawn.Spawner
	// Name precedes the key in the worker IDs of the members, "name/key". Empty is
	// the key alone: the IDs must differ from those of all other workers that live
	// in the spawner, so two swarms at once need names.
	Name string

	// Cap is how many members are alive at once, whatever they do: those that back
	// off count. How many of them call the upstream is the limiter's budget. 0 is
	// 128; negative is an error.
	Cap int
	// Burst is how many members are started at once before Pace applies. 0 is 1;
	// negative, or set without Pace, is an error.
	Burst int
	// Pace is the least time between two starts after the burst. The burst comes
	// once, at the beginning of a loop: quiet time saves nothing up for another. 0
	// is no pace; negative is an error.
	Pace time.Duration
	// Ahead is how many inputs beyond the one that the loop waits for may have
	// been taken: what has finished waits there in memory for its place in the
	// order. 0 is 4096; negative is an error. Less than Cap, it bounds the members
	// too.
	Ahead int

	// Patience is the time, from its first refusal in a row, for which a member
	// does not die of a storm even if it is the only one left: its last retry is
	// kept until the storm is over. A member that is refused while calls of others
	// are accepted dies as by the spawner's policy. 0 is 10 min; negative is none.
	Patience time.Duration

	// Store keeps the results that have succeeded, and is asked before a member is
	// started. nil keeps none beyond this Swarm.
	Store Store[K, Out]
	// Total is how many inputs there are, for Progress. 0 is not known, until the
	// last one has been taken; negative is an error.
	Total int
	// OnEvent is told of each change of a member, in order for one member and at
	// the same time for several. It is called by the member's worker, and should
	// be quick; a panic in it is contained and logged. nil is nobody.
	OnEvent func(Event[K])
	// Clock is the source of time for Pace and Progress. nil is the system's.
	Clock Clock
}

func (c Config[K, Out]) withDefaults() (Config[K, Out], error) {
	if c.Spawner == nil {
		return c, errors.New("swarm: Config.Spawner is nil: it is required")
	}
	var err error // the first that is wrong
	check := func(bad bool, name string, value any, want string) {
		if bad && err == nil {
			err = fmt.Errorf("swarm: Config.%s is %v: %s", name, value, want)
		}
	}
	check(c.Cap < 0, "Cap", c.Cap, "it must be at least 1, or 0 for 128")
	check(c.Burst < 0, "Burst", c.Burst, "it must be at least 1, or 0 for 1")
	check(c.Burst > 0 && c.Pace == 0, "Burst", c.Burst, "it has no meaning without Pace")
	check(c.Pace < 0, "Pace", c.Pace, "it must be positive, or 0 for no pace")
	check(c.Ahead < 0, "Ahead", c.Ahead, "it must be at least 1, or 0 for 4096")
	check(c.Total < 0, "Total", c.Total, "it must be the number of inputs, or 0 if that is not known")
	c.Cap = cmp.Or(c.Cap, defaultCap)
	c.Burst = cmp.Or(c.Burst, 1)
	c.Ahead = cmp.Or(c.Ahead, defaultAhead)
	c.Patience = max(0, cmp.Or(c.Patience, defaultPatience))
	c.Clock = clock.Or(c.Clock)
	return c, err
}
