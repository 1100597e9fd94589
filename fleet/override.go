package fleet

import (
	"context"
	"fmt"
	"log/slog"
	"time"
)

// An Override is an operator's leave to launch past pacing for a while. Like an
// emergency it relaxes nothing else. The guard writes down who gave it, with
// each launch that uses it.
type Override struct {
	Actor  string    `json:"actor"`  // who; required
	Reason string    `json:"reason"` // why; required
	Until  time.Time `json:"until"`  // its end, in the future; required
	Count  int       `json:"count"`  // for how many launches; at least 1
}

// override is one that lasts.
type override struct {
	Override
	Left int `json:"left"`
}

// Override gives leave for o.Count launches past pacing until o.Until. It adds
// to those given before. It is for the host's operator: keep the Guard itself
// out of reach of a model and give that a [Tool].
func (g *Guard) Override(ctx context.Context, o Override) error {
	switch {
	case o.Actor == "":
		return fmt.Errorf("fleet: Override.Actor is empty: say who gives it")
	case o.Reason == "":
		return fmt.Errorf("fleet: Override.Reason is empty: say why it is given")
	case o.Count < 1:
		return fmt.Errorf("fleet: Override.Count is %d, not at least 1", o.Count)
	}
	err := g.update(ctx, func(b *book) error {
		if !o.Until.After(b.now) {
			return invalid("Override.Until is %s, which is past", o.Until.Format(time.RFC3339))
		}
		b.ctl.Overrides = append(b.ctl.Overrides, override{o, o.Count})
		return nil
	})
	if err == nil {
		g.cfg.Logger.WarnContext(ctx, "launches may go past pacing", slog.String("actor", o.Actor),
			slog.String("reason", o.Reason), slog.Time("until", o.Until), slog.Int("count", o.Count))
	}
	return err
}

// Kill stops every launch until it is lifted with an empty reason. Nothing
// relaxes it. It is in the ledger, so it outlives the process.
func (g *Guard) Kill(ctx context.Context, reason string) error {
	err := g.update(ctx, func(b *book) error {
		b.ctl.Killed = reason
		return nil
	})
	if err == nil {
		g.cfg.Logger.WarnContext(ctx, "kill switch", slog.Bool("on", reason != ""), slog.String("reason", reason))
	}
	return err
}

// overridesLeft sums what overrides still allow.
func (b *book) overridesLeft() int {
	n := 0
	for _, o := range b.ctl.Overrides {
		n += min(o.Left, unlimited-n)
	}
	return n
}

// draw uses n launches of the overrides, the one that ends first first, and
// says whose they were.
func (b *book) draw(n int) []string {
	var actors []string
	for n > 0 {
		next := -1
		for i, o := range b.ctl.Overrides {
			if o.Left > 0 && (next < 0 || o.Until.Before(b.ctl.Overrides[next].Until)) {
				next = i
			}
		}
		if next < 0 {
			break
		}
		o := &b.ctl.Overrides[next]
		used := min(n, o.Left)
		o.Left -= used
		n -= used
		actors = append(actors, fmt.Sprintf("%s (%s)", o.Actor, o.Reason))
	}
	return actors
}
