package fleet

import (
	"fmt"
	"time"
)

// A Window limits the launches in any stretch of time: at most Launches in any
// Per. It is a sliding log of launches, not a token bucket, which lets nearly
// twice as many through. A launch blocks while now - t < Per; at equality it no
// longer does. The zero value is no window.
type Window struct {
	Launches int
	Per      time.Duration
}

func (w Window) check() error {
	switch {
	case w.Launches < 0:
		return fmt.Errorf("fleet: Config.Window.Launches is %d", w.Launches)
	case w.Per < 0:
		return fmt.Errorf("fleet: Config.Window.Per is %s", w.Per)
	case (w.Launches == 0) != (w.Per == 0):
		return fmt.Errorf("fleet: Config.Window needs both Launches and Per, or neither for no window: they are %d and %s", w.Launches, w.Per)
	}
	return nil
}

// attempts returns when the launches in the window were, the earliest first.
func (g *Guard) attempts(b *book) ([]time.Time, error) {
	if g.cfg.Window.Launches == 0 {
		return nil, nil
	}
	rs, err := b.tx.Attempts(b.now.Add(-g.cfg.Window.Per))
	if err != nil {
		return nil, err
	}
	ts := make([]time.Time, len(rs))
	for i, r := range rs {
		ts[i] = r.At
	}
	return ts, nil
}

// maxNext bounds how many further places a finding names.
const maxNext = 16

// free is how many launches fit now.
func (w Window) free(log []time.Time) int {
	if w.Launches == 0 {
		return unlimited
	}
	return max(0, w.Launches-len(log))
}

// next returns when the window opens for launches beyond those that fit now, n
// at most, given that more are granted now. None of it is in the past: what has
// left the window is not in the log.
func (w Window) next(log []time.Time, granted, n int, now time.Time) []time.Time {
	if w.Launches == 0 || n <= 0 {
		return nil
	}
	n = min(n, w.Launches, maxNext)
	var opens []time.Time
	for i := len(log) + granted - w.Launches; len(opens) < n; i++ {
		switch {
		case i < 0: // still open
			return nil
		case i < len(log):
			opens = append(opens, log[i].Add(w.Per).In(now.Location()))
		case i < len(log)+granted:
			opens = append(opens, now.Add(w.Per))
		default: // behind those granted now, for which no time is known
			return opens
		}
	}
	return opens
}

func (g *Guard) windowFinding(log []time.Time) Finding {
	return Finding{
		Constraint: constraintWindow, Tier: TierPacing, Code: RateWindow,
		Allowed: g.cfg.Window.free(log), Detail: g.cfg.Window.says(len(log)),
	}
}

func (w Window) says(launches int) string {
	if w.Launches == 0 {
		return "no window"
	}
	return fmt.Sprintf("%d of %d launches in the last %s", launches, w.Launches, span(w.Per))
}
