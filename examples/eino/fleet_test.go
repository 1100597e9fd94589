package main

import (
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/holdoff-go/holdoff/examples/internal/stage"
	"github.com/holdoff-go/holdoff/spawn"
)

// Given a storm over a fleet in the middle of its turns, every agent answers,
// no tool is used twice, and the provider is not hammered.
func TestNobodyDies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var said strings.Builder
		s, err := stage.InMemory(&said, script())
		require.NoError(t, err)
		defer s.Close()
		journals := make([]journal, 8)
		results, err := fleet(t.Context(), s, journals)
		require.NoError(t, err)
		for i, r := range results {
			require.Equal(t, spawn.Succeeded, r.State, "%s\n%s", r.ID, &said)
			require.Equal(t, "Patience.", journals[i].answer)
			require.Equal(t, turns, journals[i].lookUps, "%s has used its tool more often than it was asked", r.ID)
		}
		c := s.Counts()
		require.Equal(t, 8*(turns+1), c.Accepted, "no accepted call is made again")
		require.Positive(t, c.Refused, "there was a storm")
		require.LessOrEqual(t, c.Refused, 8+6, "the first burst, and a probe now and then")
	})
}
