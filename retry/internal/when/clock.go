package when

import (
	"time"
)

// At reads the date and time of day at the start of text, as people write them,
// and returns how long it is until then: "3pm (America/New_York)", "Dec 4, 9am",
// "10:57 PM GMT-3", "2026-12-01 at 00:00 UTC", "December 4th, 2026 3:05 PM",
// "Monday at 9:00", "tomorrow", "midnight UTC", "1796036400".
//
// A time without a zone is read in naive, or in now's own zone if naive is nil.
// A time of day without a date is the next one after now, and a date without a
// year the next one too, unless it has only just passed. A whole date in the past
// is a wait of 0.
func At(text string, now time.Time, naive *time.Location) (time.Duration, bool) {
	if naive == nil {
		naive = now.Location()
	}
	p := parser{text: text}
	if at, ok := p.epoch(); ok {
		return until(at, now), true
	}
	var c calendar
	if !p.read(&c) {
		return 0, false
	}
	loc := naive
	if c.zone != nil {
		loc = c.zone
	}
	return c.next(now.In(loc))
}

// A calendar is what a text says of a date and a time of day.
type calendar struct {
	year, month, day int // 0: not said
	weekday          int // 1 is Sunday; 0: not said
	relative         int // days from today, if hasRelative
	hasRelative      bool
	hour, minute     int
	second           int
	hasTime          bool
	zone             *time.Location
}

func (p *parser) read(c *calendar) bool {
	dated := p.date(c)
	p.skip(" ,;-T")
	p.word("at")
	p.skip(" ")
	c.hasTime = p.timeOfDay(c, dated)
	if !c.hasTime && (!dated || c.hasRelative && c.relative == 0) {
		return false
	}
	return p.zone(c)
}

// rollover is how long a date without a year counts as past rather than as next
// year's: a message about a limit is not read a week later.
const rollover = 7 * day

// next returns the wait from now, in whose zone the calendar is read.
func (c *calendar) next(now time.Time) (time.Duration, bool) {
	at := func(year, month, d int) time.Time {
		return time.Date(year, time.Month(month), d, c.hour, c.minute, c.second, 0, now.Location())
	}
	year, month, today := now.Date()
	switch {
	case c.year != 0:
		return until(at(c.year, c.month, c.day), now), true
	case c.month != 0:
		t := at(year, c.month, c.day)
		if t.Month() != time.Month(c.month) {
			return 0, false // February 30
		}
		if now.Sub(t) > rollover {
			t = at(year+1, c.month, c.day)
		}
		return until(t, now), true
	case c.weekday != 0:
		days := (c.weekday - 1 - int(now.Weekday()) + 7) % 7
		t := at(year, int(month), today+days)
		if !t.After(now) {
			t = at(year, int(month), today+days+7)
		}
		return until(t, now), true
	case c.hasRelative:
		return until(at(year, int(month), today+c.relative), now), true
	}
	t := at(year, int(month), today)
	if !t.After(now) {
		t = at(year, int(month), today+1)
	}
	return until(t, now), true
}
