package main

import (
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/holdoff-go/holdoff/examples/internal/stage"
	"github.com/holdoff-go/holdoff/spawn"
)

// Given a storm over a fleet in the middle of its steps, every chain ends, no
// step is made twice, and the provider is not hammered.
func TestNobodyDies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var said strings.Builder
		s, err := stage.InMemory(&said, nil)
		require.NoError(t, err)
		defer s.Close()
		reports := make([]string, 8)
		results, err := fleet(t.Context(), s, reports)
		require.NoError(t, err)
		for i, r := range results {
			require.Equal(t, spawn.Succeeded, r.State, "%s\n%s", r.ID, &said)
			require.NotEmpty(t, reports[i])
		}
		c := s.Counts()
		require.Equal(t, 8*len(steps), c.Accepted, "no accepted call is made again")
		require.Positive(t, c.Refused, "there was a storm")
		require.LessOrEqual(t, c.Refused, 8+6, "the first burst, and a probe now and then")
	})
}
