package statuspage

import (
	_ "embed"
	"fmt"
	"html/template"
	"strings"
	"time"

	"github.com/holdoff-go/holdoff/limiter"
	"github.com/holdoff-go/holdoff/spawn"
)

var (
	//go:embed page.html
	pageText string
	//go:embed page.css
	styleText string
	//go:embed page.js
	scriptText string

	page = template.Must(template.New("page").Parse(pageText))
)

// A view is a snapshot in words.
type view struct {
	Title    string
	Headline string // what is wrong, in a few words
	Alarm    bool   // something is blocked
	Now      instant
	Limiters []limiterView
	Omitted  int
	Spawners []spawnerView
	Style    template.CSS
	Script   template.JS
}

type limiterView struct {
	limiter.Status
	Mark  string // the state's class in the style sheet
	State string
	Why   string
	Until *countdown
	Chart *chart
}

type spawnerView struct {
	Name    string
	Counts  []count
	Rows    []row
	Omitted int
}

type count struct {
	State string
	N     int
}

type row struct {
	worker
	Name  string // of the state
	Since countup
	Until *countdown
}

// An instant is a time for people, who are in several places.
type instant time.Time

// ISO is the instant for machines.
func (t instant) ISO() string { return time.Time(t).UTC().Format(time.RFC3339Nano) }

// Clock is the time of day.
func (t instant) Clock() string { return time.Time(t).UTC().Format("15:04:05") + " UTC" }

// A countdown is what remains until an instant; a countup what has passed since.
type (
	countdown struct {
		instant
		Left, Over string // Over is what to say when nothing is left
	}
	countup struct {
		instant
		Past string
	}
)

func until(t, now time.Time, over string) *countdown {
	if t.IsZero() {
		return nil
	}
	c := &countdown{instant(t), over, over}
	if left := t.Sub(now); left > 0 {
		c.Left = minutes(left, true)
	}
	return c
}

func viewOf(title string, s snapshot) view {
	v := view{
		Title: title, Now: instant(s.Time), Omitted: s.OmittedLimiters,
		Style: template.CSS(styleText), Script: template.JS(scriptText),
	}
	var blocked []string
	for _, r := range s.Limiters {
		l := viewLimiter(r, s.Time)
		if urgency(r.Status) == 0 {
			blocked = append(blocked, nameOf(r.Status))
		}
		v.Limiters = append(v.Limiters, l)
	}
	switch len(blocked) {
	case 0:
		v.Headline = "nothing is blocked"
	case 1:
		v.Headline = blocked[0] + " is blocked"
	default:
		v.Headline = fmt.Sprintf("%d limiters are blocked", len(blocked))
	}
	v.Alarm = len(blocked) > 0
	for _, r := range s.Spawners {
		v.Spawners = append(v.Spawners, viewSpawner(r, s.Time))
	}
	return v
}

func nameOf(s limiter.Status) string {
	if s.Name == "" {
		return "the limiter"
	}
	return s.Name
}

func viewLimiter(r limiterReport, now time.Time) limiterView {
	s := r.Status
	v := limiterView{Status: s, Until: until(s.BlockedUntil, now, "now"), Chart: draw(r.History)}
	v.Name = nameOf(s)
	v.Mark, v.State, v.Why = describe(s)
	if s.Storm && s.BlockedUntil.IsZero() {
		v.Why = strings.TrimPrefix(v.Why+" No call has been accepted since the last refusal.", " ")
	}
	return v
}

// describe says what the reason means for who looks at the page.
func describe(s limiter.Status) (mark, state, why string) {
	switch s.Reason {
	case limiter.ReasonNone:
		return "open", "Open", "New work is let in."
	case limiter.ReasonHold:
		why = "An operator holds the gate; it opens by Resume alone."
		if s.Hold != "" {
			why = "An operator holds the gate, for “" + s.Hold + "”; it opens by Resume alone."
		}
		return "held", "Held", why
	case limiter.ReasonRateLimited:
		return "paused", "Rate limited", "The upstream refused; no new work is let in."
	case limiter.ReasonOverloaded:
		return "paused", "Overloaded", "The upstream is short of capacity; no new work is let in."
	case limiter.ReasonProbing:
		return "busy", "Probing", "The pause is over; more is let in as calls are accepted."
	case limiter.ReasonBudget:
		return "busy", "Busy", "As many slots as the budget has are in flight."
	case limiter.ReasonPace:
		return "busy", "Paced", "The steady pace lets the next one in."
	case limiter.ReasonWaiting:
		return "busy", "Queueing", "Others are ahead in the queue."
	case limiter.ReasonConfig:
		return "held", "Misconfigured", "The group has no sensible Config for one of the gate's keys; nobody is let in."
	default:
		return "busy", string(s.Reason), ""
	}
}

func viewSpawner(r spawnerReport, now time.Time) spawnerView {
	v := spawnerView{Name: r.Name, Omitted: r.Omitted}
	for st := spawn.Queued; st <= spawn.Parked; st++ {
		if n := r.Counts[st.String()]; n > 0 {
			v.Counts = append(v.Counts, count{st.String(), n})
		}
	}
	for _, w := range r.Workers {
		v.Rows = append(v.Rows, row{
			worker: w,
			Name:   w.State.String(),
			Since:  countup{instant(w.Since), minutes(now.Sub(w.Since), false)},
			Until:  until(w.Until, now, over(w.State)),
		})
	}
	return v
}

// over is what a worker's wait has come to: after its back-off it waits at the
// gate, and one that was parked may be run again.
func over(s spawn.State) string {
	if s == spawn.Parked {
		return "no longer"
	}
	return "for its turn"
}

// Label is the count's state in words.
func (c count) Label() string { return strings.ReplaceAll(c.State, "_", " ") }

// Label is the worker's state in words.
func (r row) Label() string { return strings.ReplaceAll(r.Name, "_", " ") }

// ClassLabel is the failure's class in words.
func (r row) ClassLabel() string { return strings.ReplaceAll(r.Class, "_", " ") }

// minutes writes d as 1:05 or 2:01:05, rounded up for a countdown: while time is
// left it says so. The script does the same.
func minutes(d time.Duration, up bool) string {
	d = max(d, 0)
	s := int64(d / time.Second)
	if up && d%time.Second > 0 {
		s++
	}
	if s < 3600 {
		return fmt.Sprintf("%d:%02d", s/60, s%60)
	}
	return fmt.Sprintf("%d:%02d:%02d", s/3600, s/60%60, s%60)
}
