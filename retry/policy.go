package retry

import (
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"github.com/cenkalti/backoff/v4"

	"github.com/holdoff-go/holdoff/internal/clock"
)

// A Clock tells the time and waits for it; nil stands for the real one. The
// fakes of clockwork, benbjohnson/clock and k8s.io/utils/clock satisfy it.
type Clock = clock.Clock

// Unlimited as a Policy's MaxRetries sets no bound on them; MaxElapsed and the
// context then end the run.
const Unlimited = math.MaxInt

// The defaults of a Policy: waits of 3, 6 and 12 s, then the end. They are the
// ladder of the tower this library grew out of.
const (
	defaultInitial    = 3 * time.Second
	defaultMax        = 12 * time.Second
	defaultMaxRetries = 3
)

// A Policy says how often and how long a failure is retried. The zero Policy is
// the default ladder: waits of 3, 6 and 12 s between four attempts. A Policy is
// a plain value: copy it, share it, use it from any number of goroutines.
type Policy struct {
	// Initial is the wait before the first retry; every further one doubles it.
	// 0 is 3 s.
	Initial time.Duration
	// Max is the longest wait of the ladder, before jitter. A wait the provider
	// stated may be longer and is never cut. 0 is 12 s.
	Max time.Duration
	// MaxRetries is the number of attempts after the first one. 0 is 3, -1 is
	// none, and Unlimited sets no bound.
	MaxRetries int
	// MaxElapsed bounds the whole run, waits included: a wait that would end
	// after it is not begun. 0 is no bound.
	MaxElapsed time.Duration
	// Jitter is the largest share of a wait that is added to it at random, from
	// 0 to 1. It only ever adds, so that no wait is shorter than the ladder or
	// the provider said; to waits longer than Max it adds a share of Max. 0 is off.
	Jitter float64
	// Classifier says what a failure means. nil is Standard(Clock).
	Classifier Classifier
	// Clock tells the time and waits. nil is the real clock.
	Clock Clock
}

// Validate returns an error that names the field and its value when the policy
// makes no sense.
func (p Policy) Validate() error {
	d := p.withDefaults()
	switch {
	case p.Initial < 0:
		return fmt.Errorf("retry: Policy.Initial is %v: want 0 for %v, or more", p.Initial, defaultInitial)
	case p.Max < 0:
		return fmt.Errorf("retry: Policy.Max is %v: want 0 for %v, or more", p.Max, defaultMax)
	case d.Initial > d.Max:
		return fmt.Errorf("retry: Policy.Initial is %v, above Max, %v: set both", d.Initial, d.Max)
	case p.MaxRetries < -1:
		return fmt.Errorf("retry: Policy.MaxRetries is %d: want -1 for none, 0 for %d, more, or Unlimited", p.MaxRetries, defaultMaxRetries)
	case p.MaxElapsed < 0:
		return fmt.Errorf("retry: Policy.MaxElapsed is %v: want 0 for no bound, or more", p.MaxElapsed)
	case math.IsNaN(p.Jitter) || p.Jitter < 0 || p.Jitter > 1:
		return fmt.Errorf("retry: Policy.Jitter is %v: want a share from 0 to 1", p.Jitter)
	}
	return nil
}

// withDefaults returns p with its zero fields filled in.
func (p Policy) withDefaults() Policy {
	if p.Initial == 0 {
		p.Initial = defaultInitial
	}
	if p.Max == 0 {
		p.Max = defaultMax
	}
	switch p.MaxRetries {
	case 0:
		p.MaxRetries = defaultMaxRetries
	case -1:
		p.MaxRetries = 0
	}
	p.Clock = clock.Or(p.Clock)
	if p.Classifier == nil {
		p.Classifier = Standard(p.Clock)
	}
	return p
}

// BackOff returns the policy's ladder for one run, not safe for concurrent use.
// NextBackOff returns the next wait, jitter included, and backoff.Stop once
// MaxRetries waits have been handed out; Reset starts the ladder anew. A policy
// that Validate refuses yields no wait at all. MaxElapsed is not the ladder's:
// [Do] looks at it.
func (p Policy) BackOff() backoff.BackOff {
	if p.Validate() != nil {
		return &backoff.StopBackOff{}
	}
	p = p.withDefaults()
	steps := backoff.NewExponentialBackOff(
		backoff.WithInitialInterval(p.Initial),
		backoff.WithMaxInterval(p.Max),
		backoff.WithMultiplier(2),
		backoff.WithRandomizationFactor(0), // it would be applied after the cap, and cuts as well as adds
		backoff.WithMaxElapsedTime(0),
		backoff.WithClockProvider(p.Clock),
	)
	return &ladder{backoff.WithMaxRetries(steps, uint64(p.MaxRetries)), p}
}

// A ladder adds the policy's jitter to the steps below it.
type ladder struct {
	backoff.BackOff
	policy Policy
}

func (l *ladder) NextBackOff() time.Duration {
	step := l.BackOff.NextBackOff()
	if step == backoff.Stop {
		return step
	}
	return l.policy.jittered(step)
}

// jittered returns d with the policy's jitter added, and never less than d.
// p has its defaults.
func (p Policy) jittered(d time.Duration) time.Duration {
	if p.Jitter == 0 {
		return d
	}
	extra := time.Duration(rand.Float64() * p.Jitter * float64(min(d, p.Max)))
	if extra > math.MaxInt64-d {
		return math.MaxInt64
	}
	return d + extra
}
