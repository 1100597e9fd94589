package fleet_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdoff-go/holdoff/fleet"
)

func TestScenario1_ArticleReplay(t *testing.T) {
	s := newStage(t, "18:20:00")
	s.incident()
	require.Equal(t, usd("1.33"), s.status().Spend)

	d := s.launch(4, usd("0.45"))

	require.Equal(t, fleet.Granted, d.Code, d)
	require.Equal(t, 4, d.Granted)
	require.Equal(t, fleet.Headroom{Money: usd("6.87"), Instances: 13}, d.Headroom)
	require.Equal(t, []string{"rate_window"}, d.Bypassed)
	require.Len(t, d.Reservations, 4)
	for _, r := range d.Reservations {
		require.Equal(t, []string{"rate_window"}, r.Bypassed)
		require.Equal(t, d.Episode, r.Episode)
	}
	st := s.status()
	require.Equal(t, usd("3.13"), st.Spend)
	require.Equal(t, 7, st.Launches)
	require.Equal(t, "granted 4 of 4 at up to $0.45/hr, past rate_window for emergency e1 "+
		"(workers_dead: 59 pending, none running since after 18:20:00); left: $6.87/hr, 13 instances", d.String())
}
