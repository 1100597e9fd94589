package pool_test

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdoff-go/holdoff/internal/clock"
	"github.com/holdoff-go/holdoff/limiter"
	"github.com/holdoff-go/holdoff/retry"
	"github.com/holdoff-go/holdoff/spawn/pool"
)

// hostClock is a clock whose time of day can be set and goes on while the host
// sleeps, and whose monotonic time stands still then. Its waits never end.
type hostClock struct {
	mu   sync.Mutex
	wall time.Time
	mono time.Duration
}

var _ clock.Reader = (*hostClock)(nil)

func (c *hostClock) Now() time.Time                       { return c.Read().Wall }
func (c *hostClock) After(time.Duration) <-chan time.Time { return nil }
func (c *hostClock) Read() clock.Reading {
	c.mu.Lock()
	defer c.mu.Unlock()
	return clock.Reading{Wall: c.wall, Mono: c.mono}
}

func (c *hostClock) pass(wall, mono time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.wall, c.mono = c.wall.Add(wall), c.mono+mono
}

// A parking is over when the one or the other time has passed its length.
func TestI2_I3_ParkingsOnAClockThatJumps(t *testing.T) {
	for name, c := range map[string]struct {
		wall, mono time.Duration // that pass in a parking of an hour
		until      time.Duration // from the start, as the wall shows it; 0: it is over
	}{
		"both times pass":           {time.Hour, time.Hour, 0},
		"the host sleeps past it":   {time.Hour, time.Minute, 0},
		"the host sleeps for less":  {30 * time.Minute, 10 * time.Minute, time.Hour},
		"the wall is set back":      {-2 * time.Hour, time.Minute, -time.Hour - time.Minute},
		"and the time passes still": {-2 * time.Hour, time.Hour, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start := time.Date(2026, 5, 8, 14, 0, 0, 0, time.UTC)
				clk := &hostClock{wall: start}
				group, err := limiter.NewGroup(limiter.GroupConfig{Clock: clk})
				require.NoError(t, err)
				p, err := pool.New(pool.Config[string]{Group: group, Credentials: []pool.Credential[string]{{ID: "A"}}, Clock: clk})
				require.NoError(t, err)
				l, err := p.Rota().Take(t.Context())
				require.NoError(t, err)
				p.Rota().Park(l, pool.Parking{Class: retry.QuotaExhausted, Wait: time.Hour, Stated: true})
				changed := p.Rota().Changed()
				clk.pass(c.wall, c.mono)

				parked := p.Rota().Parked()
				st := p.Status()[0]
				if c.until == 0 {
					require.Nil(t, parked)
					require.False(t, st.Parked)
				} else {
					require.Equal(t, start.Add(c.until), parked.Soonest)
					require.Equal(t, parked.Soonest, st.Until)
				}
				if c.wall > c.mono { // who sleeps on the clock would sleep too long
					<-changed
				}
			})
		})
	}
}
