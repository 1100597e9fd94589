package fleet_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdoff-go/holdoff/fleet"
)

// manual is a clock that a test sets. Its waits end when it is set past them.
type manual struct {
	mu    sync.Mutex
	now   time.Time
	waits []wait
}

type wait struct {
	at time.Time
	c  chan time.Time
}

func (m *manual) Now() time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.now
}

func (m *manual) After(d time.Duration) <-chan time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	c := make(chan time.Time, 1)
	m.waits = append(m.waits, wait{m.now.Add(d), c})
	return c
}

func (m *manual) Set(now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.now = now
	var left []wait
	for _, w := range m.waits {
		if w.at.After(now) {
			left = append(left, w)
			continue
		}
		w.c <- now
	}
	m.waits = left
}

func (m *manual) Add(d time.Duration) { m.Set(m.Now().Add(d)) }

// at is a time of the one day on which all scenarios happen.
func at(clock string) time.Time {
	t, err := time.Parse("2006-01-02 15:04:05.999999999", "2026-03-10 "+clock)
	if err != nil {
		panic(err)
	}
	return t
}

// base is the base set-up of the scenarios: $10.00/hr, 20 instances, 3 launches
// per 15 min, and else the defaults.
func base(clock fleet.Clock) fleet.Config {
	return fleet.Config{
		Caps:   fleet.Caps{HourlyBudget: 10 * fleet.Dollar, Instances: 20},
		Window: fleet.Window{Launches: 3, Per: 15 * time.Minute},
		Clock:  clock,
	}
}

// cloud is a vendor: it numbers what it creates, by idempotency key.
type cloud struct {
	mu       sync.Mutex
	calls    []fleet.ReservationID
	machines map[fleet.ReservationID]fleet.Instance
	price    fleet.Money // of the next; zero is the reservation's
	fail     func(call int, r fleet.Reservation) error
	after    error // fails the call after the machine was created
}

func (c *cloud) create(_ context.Context, r fleet.Reservation) (fleet.Instance, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls = append(c.calls, r.ID)
	if c.fail != nil {
		if err := c.fail(len(c.calls), r); err != nil {
			return fleet.Instance{}, err
		}
	}
	if c.machines == nil {
		c.machines = map[fleet.ReservationID]fleet.Instance{}
	}
	i, ok := c.machines[r.ID]
	if !ok {
		i = fleet.Instance{ID: fmt.Sprintf("i-%d", len(c.machines)+1), Tag: r.ID, Price: c.price}
		c.machines[r.ID] = i
	}
	return i, c.after
}

// listing is what the vendor says is there.
func (c *cloud) listing(state fleet.State) []fleet.Instance {
	c.mu.Lock()
	defer c.mu.Unlock()
	var all []fleet.Instance
	for _, i := range c.machines {
		i.State = state
		all = append(all, i)
	}
	return all
}

// stage is a guard with its clock and vendor.
type stage struct {
	*fleet.Guard
	t     *testing.T
	clock *manual
	cloud *cloud
	keys  int
}

func newStage(t *testing.T, now string, change ...func(*fleet.Config)) *stage {
	t.Helper()
	s := &stage{t: t, clock: &manual{now: at(now)}, cloud: &cloud{}}
	cfg := base(s.clock)
	for _, c := range change {
		c(&cfg)
	}
	guard, err := fleet.New(cfg)
	require.NoError(t, err)
	s.Guard = guard
	return s
}

// request has a key of its own.
func (s *stage) request(count int, price fleet.Money) fleet.Request {
	s.keys++
	return fleet.Request{Key: fmt.Sprintf("k%d", s.keys), Count: count, MaxPrice: price}
}

func (s *stage) launch(count int, price fleet.Money) fleet.Decision {
	s.t.Helper()
	d, err := s.Launch(s.t.Context(), s.request(count, price), s.cloud.create)
	require.NoError(s.t, err)
	return d
}

func (s *stage) reserve(r fleet.Request) fleet.Decision {
	s.t.Helper()
	d, err := s.Reserve(s.t.Context(), r)
	require.NoError(s.t, err)
	return d
}

func (s *stage) signal(d fleet.Demand) {
	s.t.Helper()
	require.NoError(s.t, s.Signal(s.t.Context(), d))
}

func (s *stage) observe(instances ...fleet.Instance) {
	s.t.Helper()
	require.NoError(s.t, s.Observe(s.t.Context(), fleet.Inventory{Instances: instances}))
}

func (s *stage) status() fleet.Status {
	s.t.Helper()
	st, err := s.Status(s.t.Context())
	require.NoError(s.t, err)
	return st
}

// usd reads an amount.
func usd(s string) fleet.Money {
	m, err := fleet.ParseMoney(s)
	if err != nil {
		panic(err)
	}
	return m
}

// incident brings the stage to 18:30:11 of the incident: three accepted at
// 18:25:10 to :12 and still loading, ten that ran until 18:20 and died, 59
// pending.
func (s *stage) incident() {
	s.t.Helper()
	s.clock.Set(at("18:20:00"))
	s.signal(fleet.Demand{Pending: 5, Running: 10, Target: 10})
	for _, l := range []struct{ at, price string }{{"18:25:10", "0.44"}, {"18:25:11", "0.44"}, {"18:25:12", "0.45"}} {
		s.clock.Set(at(l.at))
		s.cloud.price = usd(l.price)
		require.Equal(s.t, fleet.Granted, s.launch(1, usd("0.45")).Code)
	}
	s.cloud.price = 0
	s.dead("18:28:40")
	s.dead("18:29:40")
	s.clock.Set(at("18:30:11"))
}

// dead is a sample of the fleet that stands still.
func (s *stage) dead(clock string) {
	s.t.Helper()
	s.clock.Set(at(clock))
	s.signal(fleet.Demand{Pending: 59, Target: 10})
}
