package fleet

import (
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/holdoff-go/holdoff/internal/clock"
	"github.com/holdoff-go/holdoff/retry"
)

// Clock tells the time. The fakes of clockwork, benbjohnson/clock and
// k8s.io/utils/clock satisfy it as they are.
type Clock = clock.Clock

// Config is what [New] makes a [Guard] of. A zero field is its default; a value
// that makes no sense is an error naming field and value.
type Config struct {
	// Caps are required.
	Caps Caps
	// Window is the launch rate window. The zero value is none.
	Window Window
	// Rules establish emergencies. nil is WorkersDead with its defaults, and
	// HostClaim; an empty slice is none at all.
	Rules []Rule
	// Confirm is how long a rule must hold: 60 s over 2 samples, and 60 s for its
	// end.
	Confirm Confirm
	// Allowance bounds an episode that signals established: 4, and one more per
	// 15 min.
	Allowance Allowance
	// BootDeadline is how long after its launch an instance that still loads
	// covers need; zero is 150 min.
	BootDeadline time.Duration
	// ResolveDeadline is how long a launch nobody heard the end of is kept
	// reserved; zero is 10 min, longer than any create call takes and any listing
	// lags. Where Observe is called, a listing from after it decides.
	ResolveDeadline time.Duration
	// MaxSignalAge is how old a sample of demand and a listing may be to count;
	// zero is 6 min: a loop that looks every 5 min, and some slack.
	MaxSignalAge time.Duration
	// Constraints are the host's own.
	Constraints []Constraint
	// Resend says that the vendor's create call is idempotent on the
	// [ReservationID]. Then a repeated Launch sends the calls again, with the same
	// ID, whose outcome is unknown, unless the kill switch or the vendor's pause
	// forbids it. An instance that comes back settles it; a refusal says nothing
	// of the call before, and leaves it unknown. Leave it false where the vendor
	// would start a second machine: the outcome is then left to Observe and the
	// deadline.
	Resend bool
	// Ledger keeps it all; nil is a memory of this guard's own.
	Ledger Ledger
	// Classifier says what a vendor's error means; nil is retry.Standard.
	Classifier retry.Classifier
	// OnDecision is called with every decision of Reserve and Launch but
	// Duplicate, after it was written down and before the vendor is called.
	OnDecision func(Decision)
	// Clock is the time; nil is the real clock.
	Clock Clock
	// Logger gets a record for each decision and each emergency; nil is none.
	Logger *slog.Logger
}

// withDefaults returns the checked config with its zero fields filled.
func (c Config) withDefaults() (Config, error) {
	if err := c.check(); err != nil {
		return c, err
	}
	c.Clock = clock.Or(c.Clock)
	if c.Rules == nil {
		c.Rules = []Rule{WorkersDead{}, HostClaim{}}
	}
	c.Rules, c.Constraints = slices.Clone(c.Rules), slices.Clone(c.Constraints)
	setDefault(&c.Confirm.For, time.Minute)
	setDefault(&c.Confirm.Samples, 2)
	setDefault(&c.Confirm.Hold, time.Minute)
	setDefault(&c.Allowance.Burst, 4)
	setDefault(&c.Allowance.Refill, 15*time.Minute)
	setDefault(&c.BootDeadline, 150*time.Minute)
	setDefault(&c.ResolveDeadline, 10*time.Minute)
	setDefault(&c.MaxSignalAge, 6*time.Minute)
	c.BootDeadline, c.ResolveDeadline = min(c.BootDeadline, never), min(c.ResolveDeadline, never)
	if c.Ledger == nil {
		c.Ledger = NewMemory()
	}
	if c.Classifier == nil {
		c.Classifier = retry.Standard(c.Clock)
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c, nil
}

// never is a deadline that does not come: the longest durations added to now
// would not fit a ledger that keeps an instant as nanoseconds.
const never = 100 * 365 * 24 * time.Hour

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

func (c Config) check() error {
	if err := c.Caps.check(); err != nil {
		return err
	}
	if err := c.Window.check(); err != nil {
		return err
	}
	if c.Confirm.Samples < 0 {
		return fmt.Errorf("fleet: Config.Confirm.Samples is %d", c.Confirm.Samples)
	}
	for _, f := range []struct {
		name  string
		value time.Duration
	}{{"BootDeadline", c.BootDeadline}, {"ResolveDeadline", c.ResolveDeadline}, {"MaxSignalAge", c.MaxSignalAge}} {
		if f.value < 0 {
			return fmt.Errorf("fleet: Config.%s is %s", f.name, f.value)
		}
	}
	var names []string
	for i, rule := range c.Rules {
		if err := checkRule(rule, i, names); err != nil {
			return err
		}
		names = append(names, rule.Name())
	}
	names = nil
	for i, constraint := range c.Constraints {
		if err := constraint.check(i, names); err != nil {
			return err
		}
		names = append(names, constraint.Name)
	}
	return nil
}

func checkRule(rule Rule, index int, seen []string) error {
	switch {
	case rule == nil:
		return fmt.Errorf("fleet: Config.Rules[%d] is nil", index)
	case rule.Name() == "":
		return fmt.Errorf("fleet: Config.Rules[%d]: Name is empty", index)
	case slices.Contains(seen, rule.Name()):
		return fmt.Errorf("fleet: Config.Rules[%d]: Name is %q, as that of another one", index, rule.Name())
	}
	if c, ok := rule.(interface{ check() error }); ok {
		if err := c.check(); err != nil {
			return fmt.Errorf("fleet: Config.Rules[%d]: %w", index, err)
		}
	}
	return nil
}
