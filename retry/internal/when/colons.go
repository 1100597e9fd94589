package when

import (
	"strings"
	"time"
)

// colons reads hours, minutes and seconds with colons between them, as .NET and
// Python print a span: "00:01:30", "1.02:03:04.5". With parts of 2 it reads the
// "4:59" of a countdown too. What has half a day or a zone behind it is a time of
// day.
func colons(text string, parts int) (time.Duration, string, bool) {
	p := parser{text: text}
	p.skip(" \t'\"`*~")
	days := 0
	first, ok := p.number(1, 4)
	if ok && p.char(".") {
		days = first
		first, ok = p.number(2, 2)
	}
	if !ok || !p.char(":") {
		return 0, text, false
	}
	second, ok := p.number(2, 2)
	if !ok || second > 59 {
		return 0, text, false
	}
	total := time.Duration(first)*time.Minute + time.Duration(second)*time.Second
	switch {
	case p.char(":"):
		third, ok := p.number(2, 2)
		if !ok || third > 59 {
			return 0, text, false
		}
		total = time.Duration(days)*day + 60*total + time.Duration(third)*time.Second + p.fraction()
	case parts > 2 || days > 0:
		return 0, text, false
	default:
		if unit, _ := unitAt(strings.TrimLeft(p.rest(), " ")); unit == time.Hour { // "1:30 hours"
			total *= 60
		}
	}
	if p.isTimeOfDay() {
		return 0, text, false
	}
	return total, p.rest(), true
}

// fraction takes a decimal fraction of a second.
func (p *parser) fraction() time.Duration {
	mark := p.at
	if !p.char(".,") || p.digits() == "" {
		p.at = mark
		return 0
	}
	n, _ := number("0." + p.digits())
	p.at += len(p.digits())
	d, _ := Units(n, time.Second)
	return d
}

// isTimeOfDay reports whether what follows figures makes them those of a clock,
// or of something else altogether.
func (p parser) isTimeOfDay() bool {
	if p.at < len(p.text) && isWordByte(p.text[p.at]) && p.text[p.at] != '\'' || strings.HasPrefix(p.rest(), ":") {
		return true
	}
	if _, said := p.halfOfDay(); said {
		return true
	}
	var c calendar
	return !p.zone(&c) || c.zone != nil
}
