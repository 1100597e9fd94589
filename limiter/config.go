package limiter

import (
	"cmp"
	"fmt"
	"log/slog"
	"math"
	"time"

	"golang.org/x/time/rate"

	"github.com/holdoff-go/holdoff/internal/clock"
)

// Clock tells the time and waits for it. A nil Clock is the system's clock,
// which behaves under testing/synctest; the fakes of clockwork,
// benbjohnson/clock and k8s.io/utils/clock are Clocks as they are.
type Clock = clock.Clock

const (
	defaultBudget          = 16
	defaultFloor           = 1
	defaultPause           = time.Minute // the usual window of a provider's limit
	defaultMaxAssumedPause = 10 * time.Minute
	defaultMaxPause        = 24 * time.Hour
	defaultProbeAfter      = 3 * time.Second // the first step of the usual ladder
	defaultRecover         = 3 * time.Minute
)

// A Config sets a Limiter up. Its zero value is good for one upstream quota;
// every field says what its zero means.
type Config struct {
	// Name is shown in Status, errors, events and log records. It is never
	// interpreted; do not put a secret in it.
	Name string

	// Budget is how many slots may be in flight at once: the start, and the
	// ceiling of all growth. 0 is 16; negative is an error.
	Budget int
	// Floor is what refusals never cut the budget below. 0 is 1; negative, or
	// more than Budget, is an error.
	Floor int

	// Pause is assumed after a refusal that states no time. 0 is 60 s, the usual
	// window of a provider's limit; negative assumes none, so that such a refusal
	// only cuts the budget. An overload assumes 10 s, or Pause if that is shorter.
	Pause time.Duration
	// MaxAssumedPause bounds the doubling of assumed pauses in one storm. 0 is
	// 10 min, or Pause if that is longer; less than Pause is an error. Equal to
	// Pause, nothing is doubled.
	MaxAssumedPause time.Duration
	// MaxPause caps a stated time. 0 is 24 h; negative is an error.
	MaxPause time.Duration

	// ProbeAfter is when the first probe may go, counted from the refusal that
	// assumed a pause; then the gap doubles with each probe's refusal, up to
	// Pause. 0 is 3 s, or Pause if that is shorter; more than Pause is an error;
	// negative lets nobody probe before the pause ends.
	ProbeAfter time.Duration
	// Recover is the time without a refusal that gives back one slot of the
	// budget. 0 is 3 min; negative is never.
	Recover time.Duration

	// Cut says to what a refusal that opens a pause cuts the budget, given the
	// budget and the slots in flight, which are at least one. The result is
	// bounded by Floor and the budget. nil is half of what is in flight. It is
	// called without a lock held; if it panics, nil's rule applies.
	Cut func(budget, inFlight int) int
	// Grow is how many rounds of successes, of as many calls as the budget is,
	// give back one slot. 0 is 1; negative is never. Only successes that are
	// known to have begun after the last refusal count.
	Grow int

	// Pace is a steady rate of admissions and further calls, a second, kept by a
	// golang.org/x/time/rate limiter. 0 is none; negative or NaN is an error.
	Pace rate.Limit
	// Burst is how many may come at once within Pace. 0 is 1; negative, or set
	// without Pace, is an error.
	Burst int

	// MaxWaiting bounds the Normal callers that wait in Acquire; one more gets a
	// *BlockedError with ReasonQueueFull. 0 is unlimited; negative is an error. Who
	// waits for a Gate is counted by the limiter that blocks it, and is not turned
	// away any more when it goes on to the next.
	MaxWaiting int

	// OnEvent is told of every change, in order and one at a time, without a lock
	// held, by whoever made or noticed the change: it may call the limiter, and
	// should be quick, because events queue up behind it. A panic in it is
	// contained and logged. nil is nobody.
	OnEvent func(Event)
	// Logger gets one warning for each pause and one record for its end, each
	// hold and each Resume; budget changes at level debug. nil is silent, but for a
	// panic of a hook, which goes to slog.Default.
	Logger *slog.Logger
	// Clock is the source of time. It is asked under the limiter's lock and must
	// not call the limiter. nil is the system's.
	Clock Clock
}

// Tower returns the numbers of the tower that this library began with: a budget
// of 16 and a pause of 60 s that never doubles; a refusal cuts the budget to one
// less than what is in flight, once in 2 s; and only quiet time, 3 min a slot,
// gives it back.
func Tower() Config {
	return Config{
		Name:            "tower",
		Budget:          16,
		Floor:           1,
		Pause:           time.Minute,
		MaxAssumedPause: time.Minute,
		Recover:         3 * time.Minute,
		Cut:             func(budget, inFlight int) int { return min(budget, inFlight) - 1 },
		Grow:            -1,
	}
}

// withDefaults checks c and fills in what is zero.
func (c Config) withDefaults() (Config, error) {
	var err error // the first that is wrong
	check := func(bad bool, name string, value any, want string) {
		if bad && err == nil {
			err = fmt.Errorf("limiter: Config.%s is %v: %s", name, value, want)
		}
	}
	check(c.Budget < 0, "Budget", c.Budget, "it must be at least 1, or 0 for 16")
	check(c.Floor < 0, "Floor", c.Floor, "it must be at least 1, or 0 for 1")
	check(c.MaxAssumedPause < 0, "MaxAssumedPause", c.MaxAssumedPause, "it must be at least Pause, or 0 for 10m; a negative Pause assumes none")
	check(c.MaxPause < 0, "MaxPause", c.MaxPause, "it must be positive, or 0 for 24h")
	check(c.Pace < 0 || math.IsNaN(float64(c.Pace)), "Pace", float64(c.Pace), "it must be positive, or 0 for no steady pace")
	check(c.Burst < 0, "Burst", c.Burst, "it must be at least 1, or 0 for 1")
	check(c.Burst > 0 && c.Pace == 0, "Burst", c.Burst, "it has no meaning without Pace")
	check(c.MaxWaiting < 0, "MaxWaiting", c.MaxWaiting, "it must be at least 1, or 0 for unlimited")
	if err != nil {
		return c, err
	}

	c.Budget = cmp.Or(c.Budget, defaultBudget)
	c.Floor = cmp.Or(c.Floor, defaultFloor)
	c.Pause = cmp.Or(c.Pause, defaultPause)
	c.MaxAssumedPause = cmp.Or(c.MaxAssumedPause, max(defaultMaxAssumedPause, c.Pause))
	c.MaxPause = cmp.Or(c.MaxPause, defaultMaxPause)
	if c.ProbeAfter == 0 {
		c.ProbeAfter = defaultProbeAfter
		if c.Pause > 0 {
			c.ProbeAfter = min(c.ProbeAfter, c.Pause)
		}
	}
	c.Recover = cmp.Or(c.Recover, defaultRecover)
	c.Grow = cmp.Or(c.Grow, 1)
	c.Burst = cmp.Or(c.Burst, 1)
	c.Clock = clock.Or(c.Clock)

	check(c.Floor > c.Budget, "Floor", c.Floor, fmt.Sprintf("it must not be above Budget, which is %d", c.Budget))
	check(c.MaxAssumedPause < c.Pause, "MaxAssumedPause", c.MaxAssumedPause, fmt.Sprintf("it must not be below Pause, which is %v", c.Pause))
	check(c.Pause > 0 && c.ProbeAfter > c.Pause, "ProbeAfter", c.ProbeAfter, fmt.Sprintf("it must not be above Pause, which is %v", c.Pause))
	return c, err
}

// rules are the numbers of a Config as the state reads them.
type rules struct {
	budget          int
	floor           int
	pause           time.Duration // negative: none is assumed
	maxAssumedPause time.Duration
	maxPause        time.Duration
	probing         bool          // probes may go before the end of an assumed pause
	firstGap        time.Duration // from the refusal to the first probe
	lastGap         time.Duration // what the doubling of the gap ends at
	recover         time.Duration // negative: never
	grow            int           // negative: never
	pace            *pace         // nil: none; the one part of the state that is not copied
}

// rules expects that c has its defaults.
func (c Config) rules() *rules {
	r := &rules{
		budget:          c.Budget,
		floor:           c.Floor,
		pause:           c.Pause,
		maxAssumedPause: c.MaxAssumedPause,
		maxPause:        c.MaxPause,
		probing:         c.ProbeAfter > 0,
		firstGap:        c.ProbeAfter,
		lastGap:         c.Pause,
		recover:         c.Recover,
		grow:            c.Grow,
		pace:            newPace(c.Pace, c.Burst),
	}
	// Stated pauses have a timetable too, whatever is assumed: it is what keeps
	// "Retry-After: 1" from sending a probe a second.
	if r.lastGap < 0 {
		r.lastGap = max(defaultPause, c.ProbeAfter)
	}
	if r.firstGap < 0 {
		r.firstGap = min(defaultProbeAfter, r.lastGap)
	}
	return r
}
