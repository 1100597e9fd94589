package statuspage

import (
	"cmp"
	"fmt"
	"sync"
	"time"

	"github.com/holdoff-go/holdoff/internal/clock"
	"github.com/holdoff-go/holdoff/limiter"
	"github.com/holdoff-go/holdoff/spawn"
)

// Clock tells the time. A nil Clock is the system's; it should be the one that
// the limiters and spawners have.
type Clock = clock.Clock

// defaultHistory is long enough to see an incident whole: the longest assumed
// pause is 10 min, and a budget of 16 that was halved is back in 24 min.
const defaultHistory = 30 * time.Minute

// A Config sets a Page up. Its zero value is good.
type Config struct {
	// Title heads the page. Empty is "holdoff".
	Title string
	// History is how far back the budget is drawn. 0 is 30 min; negative is an
	// error. The last 256 changes of a limiter are kept at most.
	History time.Duration
	// Cause says what is shown of a worker's last error. nil shows the status of
	// an HTTP answer, and of any other error the first line up to what looks like
	// a body, with what looks like a key blanked. The result is cut after 200 bytes
	// and escaped. It is called without a lock held, once a worker and request; if
	// it panics, the error's type is shown.
	Cause func(error) string
	// Clock is the source of time. nil is the system's.
	Clock Clock
}

// A Page is an http.Handler that shows what it watches. It must be made by New.
// It is safe for concurrent use, runs no goroutine and needs no Close.
type Page struct {
	title   string
	history time.Duration
	cause   func(error) string
	clock   Clock

	mu       sync.Mutex
	limiters []func() []limiter.Status
	spawners []watched
	tracks   tracks
}

// A watched spawner is one with its heading.
type watched struct {
	name    string
	spawner *spawn.Spawner
}

// New returns a page that watches nothing yet. The error names the field that
// makes no sense.
func New(cfg Config) (*Page, error) {
	if cfg.History < 0 {
		return nil, fmt.Errorf("statuspage: Config.History is %v: it must be positive, or 0 for %v", cfg.History, defaultHistory)
	}
	if cfg.Cause == nil {
		cfg.Cause = line
	}
	return &Page{
		title:   cmp.Or(cfg.Title, "holdoff"),
		history: cmp.Or(cfg.History, defaultHistory),
		cause:   cfg.Cause,
		clock:   clock.Or(cfg.Clock),
	}, nil
}

// WatchLimiter shows l. Its budget is drawn over time if OnLimiterEvent is its
// Config.OnEvent, or is called by it, and its Name is its own.
func (p *Page) WatchLimiter(l *limiter.Limiter) {
	p.WatchLimiters(func() []limiter.Status { return []limiter.Status{l.Status()} })
	p.record(p.clock.Now(), l.Status())
}

// WatchLimiters shows the limiters that statuses returns, which may come and go.
// It is called for each request, without a lock held. At most 100 limiters are
// shown, those that are blocked first.
func (p *Page) WatchLimiters(statuses func() []limiter.Status) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.limiters = append(p.limiters, statuses)
}

// WatchSpawner shows the roster of s under the name given. Of a larger roster
// 500 workers are shown: those that have failed or wait first.
func (p *Page) WatchSpawner(name string, s *spawn.Spawner) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.spawners = append(p.spawners, watched{name, s})
}

// OnLimiterEvent keeps what the event says of the limiter's budget. It is for
// limiter.Config.OnEvent, and does not wait for anything.
func (p *Page) OnLimiterEvent(e limiter.Event) { p.record(e.Time, e.Status) }

func (p *Page) record(at time.Time, s limiter.Status) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.tracks.add(s.Name, sampleOf(at, s), at.Add(-p.history))
}
