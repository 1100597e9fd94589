package when

import (
	"net/http"
	"strings"
	"time"
)

// RetryAfter reads a Retry-After header: seconds, whole or not, the three forms
// of an HTTP date, and, though no standard has them, RFC 3339 and "30s". A date
// counts from date, the answer's own Date header, where that is known: the two
// clocks may differ. A date in the past is a wait of 0.
func RetryAfter(value string, now, date time.Time) (time.Duration, bool) {
	value = strings.TrimSpace(value)
	if n, ok := number(value); ok {
		// Some send an instant. Within a year of now it is one: as a number of
		// seconds it would be half a century.
		if at, ok := epoch(n); ok && at.After(now) && at.Sub(now) < 366*day {
			return until(at, now), true
		}
		return Units(n, time.Second)
	}
	if date.IsZero() {
		date = now
	}
	if at, ok := instant(value); ok {
		return until(at, date), true
	}
	return goDuration(value)
}

// Date reads a Date header.
func Date(value string) time.Time {
	at, err := http.ParseTime(value)
	if err != nil {
		return time.Time{}
	}
	return at
}

// Reset reads the value of a *-reset header or field, whatever its form: epoch
// seconds or milliseconds, seconds from now, a Go duration, a date. What lies in
// the past states nothing: the window has been renewed since.
func Reset(value string, now time.Time) (time.Duration, bool) {
	value = strings.TrimSpace(value)
	if n, ok := number(value); ok {
		if at, ok := epoch(n); ok {
			return until(at, now), at.After(now)
		}
		return Units(n, time.Second)
	}
	if at, ok := instant(value); ok {
		return until(at, now), at.After(now)
	}
	return goDuration(value)
}

// Instant reads a point in time in a field such as resets_at: epoch seconds or
// milliseconds, or a date. The past is a wait of 0.
func Instant(value string, now time.Time) (time.Duration, bool) {
	value = strings.TrimSpace(value)
	if n, ok := number(value); ok {
		at, ok := epoch(n)
		return until(at, now), ok
	}
	at, ok := instant(value)
	return until(at, now), ok
}

// instantLayouts are the forms in which machines write a whole instant, beside
// those of HTTP. The last is JavaScript's, without its zone in words.
var instantLayouts = []string{
	time.RFC3339Nano,
	"2006-01-02T15:04Z07:00", // ISO 8601 without seconds, as Jira's
	"2006-01-02T15:04:05Z0700",
	"2006-01-02 15:04:05Z07:00",
	"2006-01-02 15:04:05 UTC",
	"2006-Jan-02 15:04:05-0700 UTC", // WSO2's
	"2006-01-02 15:04:05 -0700 UTC", // Go's own
	time.RFC1123Z,
	"Mon, 02 Jan 2006 15:04:05 UTC", // HTTP's, with another name for GMT
	"Mon Jan 2 2006 15:04:05 GMT-0700",
}

func instant(value string) (time.Time, bool) {
	if len(value) < len("2006-01-02T15:04Z") || len(value) > 100 {
		return time.Time{}, false
	}
	if at, err := http.ParseTime(value); err == nil {
		return at, true
	}
	if paren := strings.IndexByte(value, '('); paren > 0 {
		value = strings.TrimSpace(value[:paren])
	}
	for _, layout := range instantLayouts {
		if at, err := time.Parse(layout, value); err == nil {
			return at, true
		}
	}
	return time.Time{}, false
}

// goDuration reads the likes of "6m0s", "1.2s" and "120ms".
func goDuration(value string) (time.Duration, bool) {
	if value == "" || value[0] < '0' || value[0] > '9' {
		return 0, false // time.ParseDuration takes signs
	}
	d, rest, ok := Span(value)
	return d, ok && rest == ""
}
