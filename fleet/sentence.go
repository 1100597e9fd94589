package fleet

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// String returns the decision as one sentence, such as
//
//	granted 4 of 4 at up to $0.45/hr, past rate_window for emergency e1 (workers_dead: 59 pending, none running since after 18:20:00); left: $6.87/hr, 13 instances
//	denied by rate_window: 3 of 3 launches in the last 15m; next at 18:40:10, in 9m59s; left: $8.67/hr, 17 instances
func (d Decision) String() string {
	var s strings.Builder
	switch {
	case d.Code == Duplicate:
		return fmt.Sprintf("duplicate: key %q was granted %s at %s: %s", d.Key, plural(d.Granted, "instance"), clockTime(d.At, d.At), ids(d.Reservations))
	case d.Granted > 0:
		fmt.Fprintf(&s, "granted %d of %d at up to %s/hr", d.Granted, d.Asked, d.MaxPrice)
		d.writeBypass(&s)
		if d.Granted < d.Asked {
			fmt.Fprintf(&s, "; the rest is stopped by %s: %s", d.StoppedBy, d.detail())
		}
	case d.Code == "":
		return "no decision"
	default:
		fmt.Fprintf(&s, "denied by %s: %s", d.StoppedBy, d.detail())
	}
	if !d.RetryAt.IsZero() {
		fmt.Fprintf(&s, "; next at %s, in %s", clockTime(d.RetryAt, d.At), span(upToSecond(d.RetryAt.Sub(d.At))))
	}
	if d.Granted < d.Asked && d.Claimed && !d.Established {
		fmt.Fprintf(&s, "; an emergency was claimed but is not established (%s)", d.Evidence)
	}
	if slices.ContainsFunc(d.Findings, func(f Finding) bool { return f.Constraint == constraintBudget }) {
		fmt.Fprintf(&s, "; left: %s/hr, %s", d.Headroom.Money, plural(d.Headroom.Instances, "instance"))
	}
	return s.String()
}

func (d Decision) writeBypass(s *strings.Builder) {
	if len(d.Bypassed) == 0 {
		return
	}
	fmt.Fprintf(s, ", past %s", strings.Join(d.Bypassed, " and "))
	joint := " for"
	if d.Episode != "" {
		fmt.Fprintf(s, "%s emergency %s (%s)", joint, d.Episode, d.Evidence)
		joint = " and by"
	} else {
		joint = " by"
	}
	if len(d.Overrides) > 0 {
		fmt.Fprintf(s, "%s leave of %s", joint, strings.Join(d.Overrides, " and "))
	}
}

// detail is what the stopping constraint rests on. The name of the need does not
// tell its code, which is one of two, so that is said as well. An allowance that is
// used up matters only because pacing stops the launch, so it says both.
func (d Decision) detail() string {
	f, _ := d.Finding(d.StoppedBy)
	switch f.Constraint {
	case constraintNeed:
		return f.Detail + " (" + string(f.Code) + ")"
	case constraintAllowance:
	default:
		return f.Detail
	}
	for _, paced := range d.Findings {
		if pacing(paced) && paced.Allowed <= d.Granted {
			return f.Detail + ", and " + paced.Constraint + " is full: " + paced.Detail
		}
	}
	return f.Detail
}

func ids(rs []Reservation) string {
	names := make([]string, len(rs))
	for i, r := range rs {
		names[i] = string(r.ID)
		if r.Instance != "" {
			names[i] = r.Instance
		}
		names[i] += " " + string(r.State)
	}
	return strings.Join(names, ", ")
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// clockTime writes t as a time of day, with the date when it is another day
// than now's.
func clockTime(t, now time.Time) string {
	t = t.In(now.Location())
	if t.YearDay() == now.YearDay() && t.Year() == now.Year() {
		return t.Format(time.TimeOnly)
	}
	return t.Format(time.DateTime)
}

// span writes d as people do: 15m, not 15m0s.
func span(d time.Duration) string {
	s := d.String()
	for _, zero := range []string{"m0s", "h0m"} {
		if strings.HasSuffix(s, zero) {
			s = s[:len(s)-2]
		}
	}
	return s
}

// upToSecond rounds a wait up: a second early is refused again.
func upToSecond(d time.Duration) time.Duration {
	if part := d % time.Second; part > 0 {
		d += time.Second - part
	}
	return d
}

// age is a span that needs no more than seconds.
func age(d time.Duration) string { return span(d.Round(time.Second)) }

func inventorySays(b *book) string {
	if l := b.ctl.Inventory; l.used() {
		return "listed " + age(b.now.Sub(l.At)) + " ago"
	}
	return "the ledger is the inventory: nothing was listed yet"
}

func suspicion(l listing) string {
	return fmt.Sprintf("the latest listing lacks %d of %d known instances; another must agree before it is believed", len(l.Lacks), l.Known)
}

// allowanceSays tells of the allowance, with granted more launches past pacing.
func allowanceSays(e *episode, granted, left int) string {
	if left >= unlimited-granted {
		return fmt.Sprintf("emergency %s is bounded by the caps and the need alone", e.ID)
	}
	return fmt.Sprintf("emergency %s has launched %d past pacing and may launch %d more", e.ID, e.Launches+granted, left)
}
