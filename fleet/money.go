package fleet

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Money is an amount in micro-dollars, a millionth of a dollar, and where it is
// a price or a budget of this package, an amount an hour. Integers add up
// exactly: 20 × $0.40 is $8.00, where floats say 8.000000000000002 and an exact
// cap would refuse the last instance.
//
// In JSON it is a decimal string of dollars such as "0.45"; a plain JSON number
// is read too, digit by digit and never through a float.
type Money int64

// Dollar and Cent are for writing amounts: 45 * fleet.Cent.
const (
	Dollar Money = 1_000_000
	Cent   Money = Dollar / 100
)

// decimals is how many digits of a dollar a Money keeps.
const decimals = 6

// ParseMoney reads an amount of dollars such as "0.45", "$8" or "-$1.50". More
// than six decimals, exponents, separators and amounts beyond the range of
// Money are errors: an amount is never rounded.
func ParseMoney(s string) (Money, error) {
	rest, negative := strings.CutPrefix(s, "-")
	rest = strings.TrimPrefix(rest, "$")
	whole, fraction, dotted := strings.Cut(rest, ".")
	if whole == "" || dotted && fraction == "" || !digits(whole) || !digits(fraction) {
		return 0, fmt.Errorf("%q is not an amount of dollars such as 0.45", clip(s))
	}
	fraction = strings.TrimRight(fraction, "0")
	if len(fraction) > decimals {
		return 0, fmt.Errorf("%q has more than %d decimals", clip(s), decimals)
	}
	micros, err := strconv.ParseUint(whole+fraction+strings.Repeat("0", decimals-len(fraction)), 10, 64)
	switch {
	case err != nil && !errors.Is(err, strconv.ErrRange):
		return 0, fmt.Errorf("%q is not an amount of dollars such as 0.45", clip(s))
	case err != nil || micros > math.MaxInt64:
		return 0, fmt.Errorf("%q is more than an amount can hold", clip(s))
	case negative:
		return -Money(micros), nil
	}
	return Money(micros), nil
}

func digits(s string) bool {
	return strings.Trim(s, "0123456789") == ""
}

// clip bounds what of a stranger's input goes into an error.
func clip(s string) string {
	const limit = 40
	if len(s) > limit {
		return s[:limit] + "…"
	}
	return s
}

// String returns the amount as "$0.45", with at least two decimals and as many
// as it has.
func (m Money) String() string {
	if m < 0 {
		return "-$" + m.dollars()
	}
	return "$" + m.dollars()
}

// dollars writes the amount without its sign.
func (m Money) dollars() string {
	micros := uint64(m)
	if m < 0 {
		micros = -micros // right for the smallest Money too, whose negation does not fit an int64
	}
	fraction := fmt.Sprintf("%0*d", decimals, micros%uint64(Dollar))
	for len(fraction) > 2 && fraction[len(fraction)-1] == '0' {
		fraction = fraction[:len(fraction)-1]
	}
	return strconv.FormatUint(micros/uint64(Dollar), 10) + "." + fraction
}

// MarshalText returns the amount as "0.45".
func (m Money) MarshalText() ([]byte, error) {
	if m < 0 {
		return []byte("-" + m.dollars()), nil
	}
	return []byte(m.dollars()), nil
}

// UnmarshalText reads what [ParseMoney] reads.
func (m *Money) UnmarshalText(text []byte) error {
	parsed, err := ParseMoney(string(text))
	if err != nil {
		return err
	}
	*m = parsed
	return nil
}

// UnmarshalJSON reads a string as [ParseMoney] does, or a plain number.
func (m *Money) UnmarshalJSON(data []byte) error {
	text := string(data)
	if len(text) >= 2 && text[0] == '"' && text[len(text)-1] == '"' {
		text = text[1 : len(text)-1]
	} else if text == "null" {
		return nil
	}
	return m.UnmarshalText([]byte(text))
}

// fit returns how many times price goes into m, at least zero.
func (m Money) fit(price Money) int {
	if m <= 0 || price <= 0 {
		return 0
	}
	return int(min(m/price, math.MaxInt32))
}
