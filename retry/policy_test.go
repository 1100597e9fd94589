package retry_test

import (
	"math"
	"testing"
	"time"

	"github.com/cenkalti/backoff/v4"
	"github.com/stretchr/testify/require"

	"github.com/holdoff-go/holdoff/retry"
)

func TestPolicy_Validate(t *testing.T) {
	cases := map[string]struct {
		policy retry.Policy
		says   []string // nothing: valid
	}{
		"zero":               {retry.Policy{}, nil},
		"none":               {retry.Policy{MaxRetries: -1}, nil},
		"unlimited":          {retry.Policy{MaxRetries: retry.Unlimited}, nil},
		"full jitter":        {retry.Policy{Jitter: 1}, nil},
		"negative initial":   {retry.Policy{Initial: -1}, []string{"Policy.Initial", "-1ns"}},
		"negative max":       {retry.Policy{Max: -time.Second}, []string{"Policy.Max", "-1s"}},
		"initial above max":  {retry.Policy{Initial: 2 * time.Second, Max: time.Second}, []string{"Policy.Initial", "2s", "1s"}},
		"above default max":  {retry.Policy{Initial: time.Minute}, []string{"Policy.Initial", "1m0s", "12s"}},
		"C8 retries":         {retry.Policy{MaxRetries: -2}, []string{"Policy.MaxRetries", "-2"}},
		"negative elapsed":   {retry.Policy{MaxElapsed: -1}, []string{"Policy.MaxElapsed", "-1ns"}},
		"F2 jitter is NaN":   {retry.Policy{Jitter: math.NaN()}, []string{"Policy.Jitter", "NaN"}},
		"negative jitter":    {retry.Policy{Jitter: -0.1}, []string{"Policy.Jitter", "-0.1"}},
		"jitter above 1":     {retry.Policy{Jitter: 1.5}, []string{"Policy.Jitter", "1.5"}},
		"jitter is infinite": {retry.Policy{Jitter: math.Inf(1)}, []string{"Policy.Jitter", "Inf"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			err := c.policy.Validate()
			if c.says == nil {
				require.NoError(t, err)
				return
			}
			require.Error(t, err)
			for _, s := range c.says {
				require.ErrorContains(t, err, s)
			}
			require.Equal(t, backoff.Stop, c.policy.BackOff().NextBackOff())
			at, doErr := calls(t.Context(), c.policy, retry.Transient)
			require.Empty(t, at)
			require.Equal(t, err, doErr)
		})
	}
}

func TestD10_ExponentialDelayNeverOverflows(t *testing.T) {
	for _, limit := range []time.Duration{12 * time.Second, 24 * time.Hour, math.MaxInt64} {
		b := retry.Policy{Max: limit, MaxRetries: retry.Unlimited}.BackOff()
		last := time.Duration(0)
		for range 100 {
			d := b.NextBackOff()
			require.Positive(t, d)
			require.GreaterOrEqual(t, d, last)
			require.LessOrEqual(t, d, limit)
			last = d
		}
	}
}

func TestPolicy_JitterOnlyAdds(t *testing.T) {
	b := retry.Policy{Jitter: 0.5, MaxRetries: retry.Unlimited}.BackOff()
	spread := false
	for i := range 1000 {
		step := 12 * time.Second
		if i < 2 {
			step = time.Duration(3<<i) * time.Second
		}
		d := b.NextBackOff()
		require.GreaterOrEqual(t, d, step)
		require.LessOrEqual(t, d, step+step/2)
		spread = spread || d > step+step/4
	}
	require.True(t, spread, "no jitter at all")

	b = retry.Policy{Initial: math.MaxInt64, Max: math.MaxInt64, Jitter: 1}.BackOff()
	require.Equal(t, time.Duration(math.MaxInt64), b.NextBackOff())
}

func TestPolicy_BackOffResets(t *testing.T) {
	b := retry.Policy{}.BackOff()
	for range 2 {
		for _, want := range seconds(3, 6, 12) {
			require.Equal(t, want, b.NextBackOff())
		}
		require.Equal(t, backoff.Stop, b.NextBackOff())
		b.Reset()
	}
}
