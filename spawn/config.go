package spawn

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/holdoff-go/holdoff/internal/clock"
	"github.com/holdoff-go/holdoff/internal/outcall"
	"github.com/holdoff-go/holdoff/limiter"
	"github.com/holdoff-go/holdoff/retry"
	"github.com/holdoff-go/holdoff/spawn/pool"
)

// Clock tells the time and waits for it. A nil Clock is the system's; the fakes
// of clockwork, benbjohnson/clock and k8s.io/utils/clock are Clocks as they are.
type Clock = clock.Clock

// defaultMaxInlineWait is longer than the windows that providers count calls in,
// and shorter than the ones they sell plans by.
const defaultMaxInlineWait = time.Hour

// A Limiter is what a worker's attempts take their slots of: a *limiter.Limiter,
// for one quota, or a *limiter.Gate, for several that the work belongs to. A refusal
// pauses the limiter of the gate that the provider named: the one whose Key.Scope is
// the retry.Scope of the verdict; without such a key that of "account", unless a
// model was named; else, and where nothing was named, the narrowest.
type Limiter interface {
	AcquireAs(ctx context.Context, p limiter.Priority) (*limiter.Slot, error)
	TryAcquire() (*limiter.Slot, error)
	Status() limiter.Status
}

// A Pool is a *pool.Pool, whatever the type of its credentials is.
type Pool interface{ Rota() *pool.Rota }

// A Config sets a Spawner up. Limiter is required; the zero value of every other
// field is its documented default.
type Config struct {
	// Limiter stands before the upstream that the workers call. It may be shared
	// with other spawners and with callers of its own. Required.
	Limiter Limiter
	// Pool is the credentials that the workers call with, of which one is in use: a
	// *pool.Pool. Limiter, and each worker's own, must then be a *limiter.Gate from
	// the pool's group that names no credential: that of the provider, for example,
	// which stands above all of them. A worker gets its credential by pool.Pool.From.
	// nil: the workers have one that the spawner does not know of.
	Pool Pool
	// Policy is the ladder of retries; its zero value is 3 s, 6 s and 12 s. Its
	// MaxElapsed counts from Run, all waiting included. Its Clock, if nil, is the
	// Clock below.
	Policy retry.Policy
	// RetryBudget bounds the retries of the whole spawner for failures that open
	// no pause: a bucket of this many tokens, one for a retry, a tenth of one back
	// for a success. 0 is no bound; negative is an error.
	RetryBudget int
	// MaxInlineWait is the longest stated wait that a worker sits out after its own
	// refusal. A longer one ends its run as Parked, and leaves it to the host. 0 is
	// 1 h; negative is never to sit out a stated wait. Who has not been refused
	// himself queues for as long as his context and MaxElapsed allow.
	MaxInlineWait time.Duration
	// Effects keeps what is known of the effects of Once. nil is the memory of this
	// spawner, which forgets the effects of a worker that has succeeded, and with
	// the process all. One that outlives the process makes Once do so too; it is
	// its host's to clean, and an ID belongs to one spawner at a time.
	Effects EffectStore
	// OnDeath is the death path: it is told once of each worker that is Dead,
	// after the classifier and the policy have spoken and before Run returns. A
	// panic in it is contained and logged. nil is nobody.
	OnDeath func(Death)
	// OnEvent is told of each change of a worker's state, in order for one worker
	// and at the same time for several; a panic in it is contained and logged. nil
	// is nobody.
	OnEvent func(Event)
	// Clock is the source of time. nil is the system's.
	Clock Clock
	// Logger gets a record for each death and each parked worker, and one at level
	// debug for each retry: IDs, classes and rules, never an error's body. nil is
	// silent, but for a panic of a hook, which goes to slog.Default.
	Logger *slog.Logger
}

func (c Config) withDefaults() (Config, error) {
	if outcall.None(c.Limiter) {
		return c, errors.New("spawn: Config.Limiter is nil: it is required")
	}
	if c.Pool != nil {
		rota := c.Pool.Rota()
		if rota == nil {
			return c, errors.New("spawn: Config.Pool is a nil pointer: it must be a pool, or nil for none")
		}
		if err := serves(rota, c.Limiter); err != nil {
			return c, fmt.Errorf("spawn: Config.Limiter: %w", err)
		}
	}
	if c.RetryBudget < 0 {
		return c, fmt.Errorf("spawn: Config.RetryBudget is %d: it must be at least 1, or 0 for no bound", c.RetryBudget)
	}
	if err := c.Policy.Validate(); err != nil {
		return c, fmt.Errorf("spawn: Config.Policy: %w", err)
	}
	c.MaxInlineWait = max(0, cmp.Or(c.MaxInlineWait, defaultMaxInlineWait))
	if c.Effects == nil {
		c.Effects = newMemoryEffects()
	}
	c.Clock = clock.Or(c.Clock)
	if c.Policy.Clock == nil {
		c.Policy.Clock = c.Clock
	}
	if c.Policy.Classifier == nil {
		c.Policy.Classifier = retry.Standard(c.Clock)
	}
	return c, nil
}
