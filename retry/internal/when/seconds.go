// Package when reads the waits and times that providers state: headers, spans
// in words, times of day. Every reader returns a wait from now that is never
// negative, and false for what states none.
package when

import (
	"math"
	"strconv"
	"strings"
	"time"
)

// Forever is the longest wait there is, some 292 years. Longer ones become it:
// a wait must not wrap around.
const Forever time.Duration = math.MaxInt64

// Units converts a number of units into a wait; negative, infinite and NaN
// state nothing.
func Units(n float64, unit time.Duration) (time.Duration, bool) {
	if math.IsNaN(n) || math.IsInf(n, 0) || n < 0 {
		return 0, false
	}
	d := n * float64(unit)
	if d >= float64(Forever) {
		return Forever, true
	}
	return time.Duration(math.Round(d)), true
}

// number reads a plain decimal: digits with at most one point. Signs,
// exponents, hexadecimals, "inf" and "nan" are no way to state a wait.
func number(s string) (float64, bool) {
	if s == "" || s == "." {
		return 0, false
	}
	point := false
	for i := range len(s) {
		switch c := s[i]; {
		case c >= '0' && c <= '9':
		case c == '.' && !point:
			point = true
		default:
			return 0, false
		}
	}
	f, err := strconv.ParseFloat(s, 64)
	return f, err == nil
}

// Milliseconds reads a header such as retry-after-ms.
func Milliseconds(value string) (time.Duration, bool) {
	n, ok := number(strings.TrimSpace(value))
	if !ok {
		return 0, false
	}
	return Units(n, time.Millisecond)
}

// epoch returns the instant that a number since 1970 stands for, judging the
// unit by its size: seconds reach 1e9 in 2001, and 1e12 ms is that same year.
// Smaller numbers are no instant.
func epoch(n float64) (time.Time, bool) {
	switch {
	case !(n > 1e9) || n >= 1e20:
		return time.Time{}, false
	case n > 1e17:
		n /= 1e9
	case n > 1e14:
		n /= 1e6
	case n > 1e12:
		n /= 1e3
	}
	whole, fraction := math.Modf(n)
	return time.Unix(int64(whole), int64(fraction*1e9)), true
}

// until returns how long it is until at; an instant that has passed is 0.
func until(at, now time.Time) time.Duration { return max(0, at.Sub(now)) }
