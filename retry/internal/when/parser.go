package when

import (
	"strings"
	"time"
)

// A parser reads dates and times from the start of a text.
type parser struct {
	text string
	at   int
}

func (p *parser) rest() string { return p.text[p.at:] }

func (p *parser) skip(cutset string) {
	p.at = len(p.text) - len(strings.TrimLeft(p.rest(), cutset))
}

// word takes w, if it stands here as a whole word in any case.
func (p *parser) word(w string) bool {
	if !strings.EqualFold(p.letters(), w) {
		return false
	}
	p.at += len(w)
	return true
}

// letters returns the run of ASCII letters here, without taking it.
func (p *parser) letters() string {
	end := p.at
	for end < len(p.text) && p.text[end]|0x20 >= 'a' && p.text[end]|0x20 <= 'z' {
		end++
	}
	return p.text[p.at:end]
}

// digits returns the run of digits here, without taking it.
func (p *parser) digits() string {
	end := p.at
	for end < len(p.text) && p.text[end] >= '0' && p.text[end] <= '9' {
		end++
	}
	return p.text[p.at:end]
}

// number takes a number of least to most digits.
func (p *parser) number(least, most int) (int, bool) {
	d := p.digits()
	if len(d) < least || len(d) > most {
		return 0, false
	}
	n := 0
	for _, c := range d {
		n = 10*n + int(c-'0')
	}
	p.at += len(d)
	return n, true
}

// char takes one of the given bytes.
func (p *parser) char(set string) bool {
	if p.at < len(p.text) && strings.IndexByte(set, p.text[p.at]) >= 0 {
		p.at++
		return true
	}
	return false
}

// epoch takes a number of seconds or milliseconds since 1970.
func (p *parser) epoch() (time.Time, bool) {
	d := p.digits()
	if len(d) != 10 && len(d) != 13 {
		return time.Time{}, false
	}
	n, _ := number(d)
	return epoch(n)
}

// date takes a date, if there is one.
func (p *parser) date(c *calendar) bool {
	start := p.at
	switch {
	case p.word("tomorrow"):
		c.relative, c.hasRelative = 1, true
		return true
	case p.word("today"), p.word("tonight"):
		c.hasRelative = true
		return true
	}
	if d := index3(p.letters(), weekdays[:]); d > 0 {
		c.weekday = d
		p.at += len(p.letters())
		p.skip(" ,")
	}
	if p.isoDate(c) || p.namedDate(c) {
		c.weekday = 0
		return true
	}
	if c.weekday > 0 {
		return true
	}
	p.at = start
	return false
}

// isoDate takes the likes of 2026-12-01 and 2026/12/01.
func (p *parser) isoDate(c *calendar) bool {
	start := p.at
	year, ok1 := p.number(4, 4)
	sep1 := p.char("-/.")
	month, ok2 := p.number(1, 2)
	sep2 := p.char("-/.")
	d, ok3 := p.number(1, 2)
	if ok1 && sep1 && ok2 && sep2 && ok3 && year >= 1970 && month >= 1 && month <= 12 && d >= 1 && d <= 31 {
		c.year, c.month, c.day = year, month, d
		return true
	}
	p.at = start
	return false
}

// namedDate takes the likes of "Dec 4", "December 4th, 2026" and "4 Dec 2026".
func (p *parser) namedDate(c *calendar) bool {
	start := p.at
	d, dayFirst := p.dayOfMonth()
	if dayFirst {
		p.skip(" ")
		p.word("of")
		p.skip(" -")
	}
	name := p.letters()
	month := index3(name, months[:])
	if month == 0 {
		p.at = start
		return false
	}
	p.at += len(name)
	p.skip(" .-")
	if !dayFirst {
		var ok bool
		if d, ok = p.dayOfMonth(); !ok {
			p.at = start
			return false
		}
	}
	c.month, c.day = month, d
	mark := p.at
	p.skip(" ,-")
	if year, ok := p.number(4, 4); ok && year >= 1970 && !strings.HasPrefix(p.rest(), ":") {
		c.year = year
	} else {
		p.at = mark
	}
	return true
}

func (p *parser) dayOfMonth() (int, bool) {
	start := p.at
	d, ok := p.number(1, 2)
	if !ok || d < 1 || d > 31 {
		p.at = start
		return 0, false
	}
	switch suffix := p.letters(); strings.ToLower(suffix) {
	case "st", "nd", "rd", "th":
		p.at += len(suffix)
	}
	return d, true
}

// timeOfDay takes the likes of 3pm, 3:20am, 10:57 PM, 17:00, 21:31:39, noon and
// midnight. A bare hour is none.
func (p *parser) timeOfDay(c *calendar, dated bool) bool {
	switch {
	case p.word("midnight"):
		return true
	case p.word("noon"):
		c.hour = 12
		return true
	}
	start := p.at
	hour, ok := p.number(1, 2)
	if !ok {
		return false
	}
	minute, second, colon := 0, 0, false
	if p.char(":") {
		if minute, ok = p.number(2, 2); !ok {
			p.at = start
			return false
		}
		colon = true
		if p.char(":") {
			if second, ok = p.number(2, 2); !ok {
				p.at = start
				return false
			}
			if p.char(".,") {
				p.at += len(p.digits())
			}
		}
	}
	half, said := p.halfOfDay()
	switch {
	case said && (hour < 1 || hour > 12), hour > 24, minute > 59, second > 59, !said && !colon:
		p.at = start
		return false
	case said:
		hour = hour%12 + half
	}
	c.hour, c.minute, c.second = hour, minute, second
	return true
}

// halfOfDay takes am or pm, and returns the hours it adds.
func (p *parser) halfOfDay() (int, bool) {
	start := p.at
	p.skip(" ")
	l := p.letters()
	mark := p.at + len(l)
	if len(l) == 1 && strings.HasPrefix(p.text[mark:], ".") { // a.m.
		p.at = mark + 1
		if second := p.letters(); len(second) == 1 {
			l += second
			mark = p.at + 1
			if strings.HasPrefix(p.text[mark:], ".") {
				mark++
			}
		}
	}
	switch strings.ToLower(l) {
	case "am":
		p.at = mark
		return 0, true
	case "pm":
		p.at = mark
		return 12, true
	}
	p.at = start
	return 0, false
}

var (
	weekdays = [...]string{"sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"}
	months   = [...]string{"january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november", "december"}
)

// index3 returns the place, from 1, of the name that word is or abbreviates by
// three letters or more.
func index3(word string, names []string) int {
	if len(word) < 3 {
		return 0
	}
	for i, name := range names {
		if len(word) <= len(name) && strings.EqualFold(name[:len(word)], word) {
			return i + 1
		}
	}
	return 0
}
