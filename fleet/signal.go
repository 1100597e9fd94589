package fleet

import (
	"context"
)

// Signal brings a sample of demand: what the rules look at. One that is not
// later than the latest is passed over; one that is already older than
// Config.MaxSignalAge tells nothing. When it establishes an emergency, every
// running [Loop] of this guard runs at once.
func (g *Guard) Signal(ctx context.Context, d Demand) error {
	if err := d.check(); err != nil {
		return err
	}
	return g.update(ctx, func(b *book) error {
		if d.Err != nil {
			if b.ctl.Demand == nil {
				b.ctl.Demand = &sample{}
			}
			b.ctl.Demand.Unread = d.Err.Error()
			return g.judge(b)
		}
		at := d.At.Round(0)
		if at.IsZero() || at.After(b.now) { // nothing is read in the future
			at = b.now
		}
		if last := b.ctl.Demand; last != nil && !last.At.IsZero() && !at.After(last.At) {
			return nil
		}
		b.ctl.Demand = &sample{Demand: d}
		b.ctl.Demand.At = at
		if d.Running > 0 {
			b.ctl.LastRunning = at
		}
		return g.judge(b)
	})
}
