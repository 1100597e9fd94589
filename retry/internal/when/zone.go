package when

import (
	"strings"
	"sync"
	"time"
)

// zones are the abbreviations that people write in these messages. Those of
// places with summer time name the place: "3pm PST" in July means what the
// clock on the wall there shows.
var zones = map[string]string{
	"pt": "America/Los_Angeles", "pst": "America/Los_Angeles", "pdt": "America/Los_Angeles", "pacific": "America/Los_Angeles",
	"mt": "America/Denver", "mst": "America/Denver", "mdt": "America/Denver",
	"ct": "America/Chicago", "cdt": "America/Chicago",
	"et": "America/New_York", "est": "America/New_York", "edt": "America/New_York", "eastern": "America/New_York",
	"cet": "Europe/Paris", "cest": "Europe/Paris", "bst": "Europe/London",
	"jst": "Asia/Tokyo", "kst": "Asia/Seoul", "ist": "Asia/Kolkata",
}

// zone takes the zone behind a time, if there is one. It is false for a zone
// that is named but not known: the time would be wrong by hours.
func (p *parser) zone(c *calendar) bool {
	p.skip(" ")
	closing := ""
	if p.char("(") {
		closing = ")"
	} else if p.char("[") {
		closing = "]"
	}
	start := p.at
	for p.at < len(p.text) && isZoneByte(p.text[p.at]) {
		p.at++
	}
	name := p.text[start:p.at]
	if closing == "" {
		name = strings.TrimRight(name, ".-") // the end of a sentence
	}
	if name == "" {
		return true
	}
	lower := strings.ToLower(name)
	if offset, ok := strings.CutPrefix(lower, "utc"); ok {
		return c.offset(offset, true)
	}
	if offset, ok := strings.CutPrefix(lower, "gmt"); ok {
		return c.offset(offset, true)
	}
	switch {
	case lower == "z":
		c.zone = time.UTC
		return true
	case name[0] == '+' || name[0] == '-':
		return c.offset(lower, false)
	case zones[lower] != "":
		return c.place(zones[lower])
	case strings.Contains(name, "/") && name[0] >= 'A' && name[0] <= 'Z':
		return c.place(name)
	}
	return true // another word
}

func isZoneByte(b byte) bool {
	return b|0x20 >= 'a' && b|0x20 <= 'z' || b >= '0' && b <= '9' || strings.IndexByte("/_+-:.", b) >= 0
}

// places remembers the zones that were loaded, each from a file. There are some
// 600 in the world.
var places sync.Map // string → *time.Location

func (c *calendar) place(name string) bool {
	if loc, ok := places.Load(name); ok {
		c.zone = loc.(*time.Location)
		return true
	}
	loc, err := time.LoadLocation(name)
	if err != nil {
		return false
	}
	places.Store(name, loc)
	c.zone = loc
	return true
}

// offset reads "", "+8", "-3", "+05:30" and "+0800". Text that is no offset is
// one if it need not be there.
func (c *calendar) offset(s string, optional bool) bool {
	p := parser{text: s}
	sign := 1
	switch {
	case p.char("+"):
	case p.char("-"):
		sign = -1
	default:
		c.zone = time.UTC
		return optional
	}
	d := p.digits()
	hours, minutes := 0, 0
	switch len(d) {
	case 1, 2:
		hours, _ = p.number(1, 2)
		if p.char(":") {
			minutes, _ = p.number(2, 2)
		}
	case 4:
		n, _ := p.number(4, 4)
		hours, minutes = n/100, n%100
	default:
		return false
	}
	if hours > 14 || minutes > 59 {
		return false
	}
	c.zone = time.FixedZone("", sign*(hours*60+minutes)*60)
	return true
}
