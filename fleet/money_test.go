package fleet_test

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdoff-go/holdoff/fleet"
)

func TestParseMoney(t *testing.T) {
	tests := []struct {
		text string
		want fleet.Money
		back string
	}{
		{"0", 0, "$0.00"},
		{"8", 8 * fleet.Dollar, "$8.00"},
		{"$0.4", 40 * fleet.Cent, "$0.40"},
		{"0.5101", 510_100, "$0.5101"},
		{"0.000001", 1, "$0.000001"},
		{"0.1000000000", 10 * fleet.Cent, "$0.10"},
		{"-$1.50", -150 * fleet.Cent, "-$1.50"},
		{"007", 7 * fleet.Dollar, "$7.00"},
		{"9223372036854.775807", math.MaxInt64, "$9223372036854.775807"},
	}
	for _, tt := range tests {
		t.Run(tt.text, func(t *testing.T) {
			got, err := fleet.ParseMoney(tt.text)
			require.NoError(t, err)
			require.Equal(t, tt.want, got)
			require.Equal(t, tt.back, got.String())
		})
	}
	require.Equal(t, "-$9223372036854.775808", fleet.Money(math.MinInt64).String())
	for _, bad := range []string{
		"", "$", "-", ".5", "5.", "1,000", "1e3", "0x10", "+1", "--1", "$-1", "1.0000001", " 1", "1 ", "NaN", "Inf", "1.2.3", "٣",
		"9223372036854.775808", "99999999999999999999999999",
	} {
		t.Run("not "+bad, func(t *testing.T) {
			_, err := fleet.ParseMoney(bad)
			require.ErrorContains(t, err, `"`+bad)
		})
	}
}

func TestMoneyJSON(t *testing.T) {
	var v struct{ A, B, C fleet.Money }
	require.NoError(t, json.Unmarshal([]byte(`{"A":"0.45","B":0.1,"C":null}`), &v))
	require.Equal(t, 45*fleet.Cent, v.A)
	require.Equal(t, 10*fleet.Cent, v.B, "the digits, not a float")
	require.Zero(t, v.C)
	data, err := json.Marshal(v)
	require.NoError(t, err)
	require.JSONEq(t, `{"A":"0.45","B":"0.10","C":"0.00"}`, string(data))
	for _, bad := range []string{`{"A":1e3}`, `{"A":true}`, `{"A":[1]}`, `{"A":"x"}`, `{"A":"\u0030.5"}`} {
		require.Error(t, json.Unmarshal([]byte(bad), &v), bad)
	}
}

func FuzzParseMoney(f *testing.F) {
	for _, s := range []string{"0.45", "$8", "-$1.50", "9223372036854.775807", "1e9", "0.0000001", "00.10"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		m, err := fleet.ParseMoney(s)
		if err != nil {
			return
		}
		again, err := fleet.ParseMoney(m.String())
		require.NoError(t, err)
		require.Equal(t, m, again, s)
		text, err := m.MarshalText()
		require.NoError(t, err)
		require.NoError(t, again.UnmarshalText(text))
		require.Equal(t, m, again, s)
	})
}
