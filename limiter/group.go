package limiter

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/holdoff-go/holdoff/internal/clock"
)

// defaultIdleAfter is that of the longest memory that a limiter has without being
// asked: what a storm's end leaves behind.
const defaultIdleAfter = forgetAfter

// A GroupConfig sets a Group up. Its zero value gives each key a limiter of the
// zero Config.
type GroupConfig struct {
	// Config returns the Config of the limiter for a key. An empty Name becomes the
	// key's String, and Clock is the group's. It is called without a lock held, when
	// a Gate of the key is first used and the group has no limiter for it; what
	// comes of it may be dropped, if another call was quicker. A Config that makes
	// no sense, or panics, is the error of each call through the gate. nil is the
	// zero Config.
	Config func(Key) Config
	// IdleAfter is for how long a limiter that nobody asks is kept, if it is as new:
	// nothing in flight, nobody waiting, no hold, no pause or memory of a storm, the
	// budget that Config gave, and a full burst. 0 is 10 min; negative is an error.
	IdleAfter time.Duration
	// Clock is the source of time for all of the group; see Config.Clock.
	Clock Clock
}

// A Group has one limiter for each Key, made when it is first needed, and forgotten
// when nobody has needed it for a while and nothing would be lost with it.
//
// Its main method is Of, which returns a Gate: the limiters of some keys, as one.
// All limiters of a group share one lock, so that a Gate's caller is let in by all
// of them at once or waits holding nothing; and they deliver their events one at a
// time, in order.
//
// A Group is safe for concurrent use. It must be made by NewGroup, needs no Close,
// and runs a goroutine only for each limiter whose callers wait for a time.
type Group struct {
	config    func(Key) Config
	idleAfter time.Duration
	made      atomic.Uint64
	*domain

	// Guarded by domain.mu.
	limiters       map[Key]*Limiter
	newest, oldest *Limiter // by when they were last used
}

// NewGroup returns a group for cfg. The error names the field that makes no sense.
func NewGroup(cfg GroupConfig) (*Group, error) {
	if cfg.IdleAfter < 0 {
		return nil, fmt.Errorf("limiter: GroupConfig.IdleAfter is %v: it must be positive, or 0 for 10m", cfg.IdleAfter)
	}
	if cfg.Config == nil {
		cfg.Config = func(Key) Config { return Config{} }
	}
	return &Group{
		config:    cfg.Config,
		idleAfter: cmp.Or(cfg.IdleAfter, defaultIdleAfter),
		domain:    newDomain(clock.Or(cfg.Clock)),
		limiters:  make(map[Key]*Limiter),
	}, nil
}

// Of returns the limiters of keys as one, the narrowest last: account, key, model.
// A key that comes twice counts once. Without a key it is the limiter of the zero
// Key. It costs two small allocations; a Gate may be kept or made for each call.
func (g *Group) Of(keys ...Key) *Gate {
	gate := &Gate{group: g, keys: make([]Key, 0, max(len(keys), 1))}
	for _, k := range slices.Backward(keys) {
		if !slices.Contains(gate.keys, k) {
			gate.keys = append(gate.keys, k)
		}
	}
	if len(keys) == 0 {
		gate.keys = append(gate.keys, Key{})
	}
	return gate
}

// make makes a limiter for k, which takes its seat when it is first asked.
func (g *Group) make(k Key) (*Limiter, error) {
	cfg, err := g.configOf(k)
	if err != nil {
		return nil, err
	}
	cfg.Clock = g.clock
	cfg.Name = cmp.Or(cfg.Name, k.String())
	cfg, err = cfg.withDefaults()
	if err != nil {
		return nil, fmt.Errorf("limiter: GroupConfig.Config of key %s: %w", k, err)
	}
	l := newLimiter(cfg, g.domain)
	l.group, l.key = g, k
	// Late reports of calls that an earlier limiter of the key let in are old news
	// to this one.
	l.state.generation = g.made.Add(1) << generationBits
	return l, nil
}

// configOf asks GroupConfig.Config. A panic in it is the caller's error, who may be
// a worker's goroutine, which must not take the process down.
func (g *Group) configOf(k Key) (cfg Config, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("limiter: GroupConfig.Config of key %s panicked: %v", k, p)
		}
	}()
	return g.config(k), nil
}

// generationBits leaves a limiter of a group four billion generations.
const generationBits = 32

// statusChunk is how many limiters Status looks at before it lets others have the
// lock: some tens of microseconds.
const statusChunk = 64

// Status returns a snapshot of each limiter that the group has, by name. It looks
// at them one after the other, not at one instant, and forgets those whose time
// has come.
func (g *Group) Status() []Status {
	g.mu.Lock()
	g.now = g.line.Now()
	for g.sweep(statusChunk) {
		g.unlock()
		g.mu.Lock()
	}
	limiters := make([]*Limiter, 0, len(g.limiters))
	for l := g.newest; l != nil; l = l.older {
		limiters = append(limiters, l)
	}
	g.unlock()

	all := make([]Status, 0, len(limiters))
	for chunk := range slices.Chunk(limiters, statusChunk) {
		g.mu.Lock()
		t := g.line.Now()
		for _, l := range chunk {
			all = append(all, l.statusAt(t))
		}
		g.mu.Unlock()
	}
	slices.SortFunc(all, func(a, b Status) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// Len returns how many limiters the group has.
func (g *Group) Len() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.limiters)
}
