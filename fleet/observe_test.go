package fleet_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdoff-go/holdoff/fleet"
)

func TestObserveFollowsTheVendor(t *testing.T) {
	s := newStage(t, "12:00:00")
	d := s.launch(3, usd("0.50"))
	id := func(i int) string { return d.Reservations[i].Instance }
	s.clock.Set(at("12:05:00"))

	s.observe(
		fleet.Instance{ID: id(0), Price: usd("0.47"), State: fleet.StateRunning},
		fleet.Instance{ID: id(1), State: fleet.StateFailed},
		fleet.Instance{ID: id(2)},
		fleet.Instance{ID: "theirs", Price: usd("1.50"), State: fleet.StateRunning},
		fleet.Instance{ID: "theirs", Price: usd("1.50"), State: fleet.StateRunning},
	)

	st := s.status()
	require.Equal(t, 4, st.Instances)
	require.Equal(t, 1, st.Foreign, "a foreign one counts toward the caps, once")
	require.Equal(t, usd("2.97"), st.Spend, "0.47 as observed, 0.50 twice as quoted, and 1.50")
	require.Equal(t, map[fleet.State]int{fleet.StateRunning: 2, fleet.StateFailed: 1, fleet.StateLoading: 1}, st.States)
	require.Equal(t, 2, st.Covering, "neither the failed nor the foreign one")
	require.Equal(t, 1, st.InFlight)
	count, ok := s.launch(1, usd("0.10")).Finding("count")
	require.True(t, ok)
	require.Equal(t, "4 of 20 instances, 1 of them foreign", count.Detail)

	s.clock.Set(at("12:06:00"))
	s.observe(
		fleet.Instance{ID: id(0), State: fleet.StateTerminating},
		fleet.Instance{ID: id(1), State: fleet.StateTerminating},
		fleet.Instance{ID: id(2), State: fleet.StateRunning},
	)
	st = s.status()
	require.Equal(t, 3, st.Instances, "theirs is gone")
	require.Equal(t, 2, st.States[fleet.StateTerminating])
	s.clock.Set(at("12:07:00"))
	s.observe(fleet.Instance{ID: id(2)})
	st = s.status()
	require.Equal(t, map[fleet.State]int{fleet.StateRunning: 1}, st.States, "those that were terminating are gone without a second listing")
	require.Equal(t, 3, st.Launches, "and stay in the window by their age")
}

func TestListingMakesUpForALostCall(t *testing.T) {
	lose := func(s *stage) fleet.Reservation {
		s.cloud.after = context.DeadlineExceeded
		d, err := s.Launch(t.Context(), s.request(1, usd("0.50")), s.cloud.create)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		return d.Reservations[0]
	}
	state := func(s *stage, r fleet.Reservation) fleet.State {
		for _, held := range mustReservations(t, s) {
			if held.ID == r.ID {
				return held.State
			}
		}
		return "none"
	}
	t.Run("adopted by its tag", func(t *testing.T) {
		s := newStage(t, "12:00:00")
		r := lose(s)
		s.observe(s.cloud.listing(fleet.StateRunning)...)
		require.Equal(t, fleet.StateRunning, state(s, r))
		require.Equal(t, 1, s.status().Instances)
	})
	t.Run("a listing lags, so before the deadline its silence says nothing", func(t *testing.T) {
		s := newStage(t, "12:00:00")
		r := lose(s)
		s.clock.Set(at("12:09:59"))
		s.observe()
		require.Equal(t, fleet.StateUnknown, state(s, r))
		s.clock.Set(at("12:10:00"))
		require.Equal(t, fleet.StateUnknown, state(s, r), "where listings are read, one decides")
		require.Zero(t, s.status().Covering)
		s.observe()
		require.Equal(t, fleet.State("none"), state(s, r))
		require.Zero(t, s.status().Spend)
	})
	t.Run("without listings the deadline decides", func(t *testing.T) {
		s := newStage(t, "12:00:00")
		r := lose(s)
		s.clock.Set(at("12:09:59.999999999"))
		require.Equal(t, fleet.StateUnknown, state(s, r))
		s.clock.Set(at("12:10:00"))
		require.Equal(t, fleet.State("none"), state(s, r))
		require.Equal(t, 1, s.status().Launches, "it counts toward the window all the same")
	})
	t.Run("given up too early and seen after all", func(t *testing.T) {
		s := newStage(t, "12:00:00")
		r := lose(s)
		s.clock.Set(at("12:10:00"))
		require.Zero(t, s.status().Instances)
		s.observe(s.cloud.listing(fleet.StateLoading)...)
		require.Equal(t, fleet.StateLoading, state(s, r))
		require.Zero(t, s.status().Foreign)
	})
	t.Run("listed before the vendor's tag and its answer", func(t *testing.T) {
		s := newStage(t, "12:00:00")
		r := lose(s)
		s.observe(fleet.Instance{ID: "i-1", Price: usd("0.50")})
		require.Equal(t, 2, s.status().Instances, "for all anybody knows")
		s.clock.Set(at("12:05:00"))
		s.observe(fleet.Instance{ID: "i-1", Tag: r.ID, Price: usd("0.50")})
		require.Equal(t, map[fleet.State]int{fleet.StateLoading: 1}, s.status().States)
		require.Zero(t, s.status().Foreign)
		require.Empty(t, s.status().InventoryDoubt)
	})
	t.Run("listed before its answer, by a vendor without tags", func(t *testing.T) {
		s := newStage(t, "12:00:00")
		d := s.reserve(s.request(1, usd("0.50")))
		s.observe(fleet.Instance{ID: "i-1", Price: usd("0.50")})
		require.NoError(t, s.Settle(t.Context(), d.Reservations[0].ID, fleet.Accepted(fleet.Instance{ID: "i-1"})))
		require.Equal(t, map[fleet.State]int{fleet.StateLoading: 1}, s.status().States)
		require.Equal(t, usd("0.50"), s.status().Spend)
	})
	t.Run("a second machine of one tag is foreign", func(t *testing.T) {
		s := newStage(t, "12:00:00")
		r := lose(s)
		s.observe(fleet.Instance{ID: "i-1", Tag: r.ID}, fleet.Instance{ID: "i-2", Tag: r.ID, Price: usd("0.50")})
		st := s.status()
		require.Equal(t, 2, st.Instances)
		require.Equal(t, 1, st.Foreign)
		require.Equal(t, usd("1.00"), st.Spend)
	})
}

func mustReservations(t *testing.T, s *stage) []fleet.Reservation {
	t.Helper()
	rs, err := s.Reservations(t.Context())
	require.NoError(t, err)
	return rs
}

func TestListingsThatAreNotBelieved(t *testing.T) {
	ten := func(t *testing.T) (*stage, []fleet.Instance) {
		s := newStage(t, "12:00:00", func(c *fleet.Config) { c.Window = fleet.Window{} })
		s.launch(10, usd("0.44"))
		all := s.cloud.listing(fleet.StateRunning)
		s.clock.Set(at("12:05:00"))
		s.observe(all...)
		return s, all
	}
	t.Run("half may go", func(t *testing.T) {
		s, all := ten(t)
		s.clock.Set(at("12:07:00"))
		s.observe(all[:5]...)
		require.Equal(t, 5, s.status().Instances)
		require.Empty(t, s.status().InventoryDoubt)
	})
	t.Run("more than half must be said twice", func(t *testing.T) {
		s, all := ten(t)
		s.clock.Set(at("12:07:00"))
		s.observe(all[:4]...)
		require.Equal(t, 10, s.status().Instances)
		require.Equal(t, fleet.StaleInventory, s.launch(1, usd("0.44")).Code)
		require.NoError(t, s.Observe(t.Context(), fleet.Inventory{Instances: all[:4], At: at("12:07:00")}))
		require.Equal(t, 10, s.status().Instances, "the same listing twice is one")
		s.clock.Set(at("12:08:00"))
		s.observe(all[:4]...)
		require.Equal(t, 4, s.status().Instances)
		require.Equal(t, fleet.Granted, s.launch(1, usd("0.44")).Code)
	})
	t.Run("a second one that lacks others does not agree", func(t *testing.T) {
		s := newStage(t, "12:00:00", noWindow)
		s.launch(10, usd("0.10"))
		all := s.cloud.listing(fleet.StateRunning)
		s.clock.Set(at("12:05:00"))
		s.observe(all...)
		for _, listed := range [][]fleet.Instance{all[:4], all[6:], all[:4]} { // the pages of a listing, one at a time
			s.clock.Add(time.Minute)
			s.observe(listed...)
			require.NotEmpty(t, s.status().InventoryDoubt)
			require.Equal(t, 10, s.status().Instances)
		}
		s.clock.Add(time.Minute)
		s.observe(all[:3]...)
		require.Empty(t, s.status().InventoryDoubt, "it agrees, and one more may go")
		require.Equal(t, 3, s.status().Instances)
	})
	t.Run("a second one that has them clears it", func(t *testing.T) {
		s, all := ten(t)
		s.clock.Set(at("12:07:00"))
		s.observe()
		s.clock.Set(at("12:08:00"))
		s.observe(all...)
		require.Empty(t, s.status().InventoryDoubt)
		require.Equal(t, 10, s.status().Instances)
	})
	t.Run("those just launched are not missed", func(t *testing.T) {
		s := newStage(t, "12:00:00")
		s.observe()
		s.launch(3, usd("0.44"))
		s.clock.Set(at("12:00:30"))
		s.observe()
		require.Equal(t, 3, s.status().Instances)
		require.Empty(t, s.status().InventoryDoubt)
	})
	t.Run("an older one is passed over", func(t *testing.T) {
		s, _ := ten(t)
		require.NoError(t, s.Observe(t.Context(), fleet.Inventory{At: at("12:04:00")}))
		require.Empty(t, s.status().InventoryDoubt)
		require.Equal(t, at("12:05:00"), s.status().InventoryAt)
	})
	t.Run("once listings are read, a stale one stops launches", func(t *testing.T) {
		s, _ := ten(t)
		s.clock.Set(at("12:11:00"))
		require.Equal(t, 1, s.launch(1, usd("0.44")).Granted, "six minutes are fresh")
		s.clock.Set(at("12:11:00.000000001"))
		r := s.request(1, usd("0.44"))
		r.Emergency = true
		d := s.reserve(r)
		require.Equal(t, fleet.StaleInventory, d.Code, "no emergency relaxes it")
		require.Zero(t, d.RetryAt, "a listing cures it, not time")
	})
}

func TestSettle(t *testing.T) {
	reserve := func(s *stage) fleet.ReservationID {
		return s.reserve(s.request(1, usd("0.50"))).Reservations[0].ID
	}
	t.Run("what was reserved counts until it is settled", func(t *testing.T) {
		s := newStage(t, "12:00:00")
		id := reserve(s)
		require.Equal(t, map[fleet.State]int{fleet.StateReserved: 1}, s.status().States)
		require.Equal(t, usd("0.50"), s.status().Spend)
		i := fleet.Instance{ID: "i", Price: usd("0.45")}
		require.NoError(t, s.Settle(t.Context(), id, fleet.Accepted(i)))
		require.NoError(t, s.Settle(t.Context(), id, fleet.Accepted(i)), "twice is once")
		require.Equal(t, usd("0.45"), s.status().Spend, "the observed price")
		require.NoError(t, s.Settle(t.Context(), id, fleet.Lost()), "whoever knows more has been here before")
		require.Equal(t, map[fleet.State]int{fleet.StateLoading: 1}, s.status().States)
		require.ErrorIs(t, s.Settle(t.Context(), id, fleet.Refused(nil)), fleet.ErrSettled)
		require.ErrorIs(t, s.Settle(t.Context(), id, fleet.Accepted(fleet.Instance{ID: "other"})), fleet.ErrSettled)
		require.NoError(t, s.Settle(t.Context(), id, fleet.Ended()))
		require.NoError(t, s.Settle(t.Context(), id, fleet.Accepted(i)), "late news of one that is gone")
		require.Zero(t, s.status().Instances)
		require.Equal(t, 1, s.status().Launches)
	})
	t.Run("a refusal gives back money, slot and window", func(t *testing.T) {
		s := newStage(t, "12:00:00")
		id := reserve(s)
		require.NoError(t, s.Settle(t.Context(), id, fleet.Refused(answer(429, "60"))))
		require.NoError(t, s.Settle(t.Context(), id, fleet.Refused(nil)))
		st := s.status()
		require.Zero(t, st.Spend)
		require.Zero(t, st.Instances)
		require.Zero(t, st.Launches)
		require.Equal(t, at("12:01:00"), st.VendorUntil)
	})
	t.Run("a time-out is no refusal", func(t *testing.T) {
		s := newStage(t, "12:00:00")
		require.NoError(t, s.Settle(t.Context(), reserve(s), fleet.Refused(context.DeadlineExceeded)))
		require.Equal(t, map[fleet.State]int{fleet.StateUnknown: 1}, s.status().States)
	})
	t.Run("accepted after its deadline", func(t *testing.T) {
		s := newStage(t, "12:00:00")
		id := reserve(s)
		s.clock.Set(at("12:10:00"))
		require.Zero(t, s.status().Instances)
		require.NoError(t, s.Settle(t.Context(), id, fleet.Accepted(fleet.Instance{ID: "i"})))
		require.Equal(t, 1, s.status().Instances, "the truth counts")
	})
	t.Run("the vendor's word to wait holds, whatever the reservation", func(t *testing.T) {
		s := newStage(t, "12:00:00")
		id := s.reserve(s.request(1, usd("0.44"))).Reservations[0].ID
		require.NoError(t, s.Settle(t.Context(), id, fleet.Accepted(fleet.Instance{ID: "i-1"})))
		require.ErrorIs(t, s.Settle(t.Context(), id, fleet.Refused(answer(429, "30"))), fleet.ErrSettled)
		require.Equal(t, at("12:00:30"), s.status().VendorUntil)
		require.Equal(t, map[fleet.State]int{fleet.StateLoading: 1}, s.status().States)
		require.ErrorIs(t, s.Settle(t.Context(), "hf-nobody-0", fleet.Refused(answer(429, "60"))), fleet.ErrNoReservation)
		require.Equal(t, at("12:01:00"), s.status().VendorUntil)
	})
	t.Run("what was refused has no end to count", func(t *testing.T) {
		s := newStage(t, "12:00:00")
		id := s.reserve(s.request(1, usd("0.44"))).Reservations[0].ID
		require.NoError(t, s.Settle(t.Context(), id, fleet.Refused(nil)))
		require.NoError(t, s.Settle(t.Context(), id, fleet.Ended()))
		require.Zero(t, s.status().Launches)
	})
	t.Run("accepted after it was said to have ended unseen", func(t *testing.T) {
		s := newStage(t, "12:00:00")
		id := s.reserve(s.request(1, usd("0.44"))).Reservations[0].ID
		require.NoError(t, s.Settle(t.Context(), id, fleet.Ended()))
		require.NoError(t, s.Settle(t.Context(), id, fleet.Accepted(fleet.Instance{ID: "i-1"})))
		require.Equal(t, 1, s.status().Instances, "it costs money")
	})
	t.Run("accepted after a refusal, when others have taken its place", func(t *testing.T) {
		s := newStage(t, "12:00:00", noWindow, func(c *fleet.Config) {
			c.Caps = fleet.Caps{HourlyBudget: fleet.Dollar, Instances: 2}
		})
		id := reserve(s)
		require.NoError(t, s.Settle(t.Context(), id, fleet.Refused(nil)))
		others := s.launch(2, usd("0.50"))
		require.Equal(t, fleet.Granted, others.Code)

		require.NoError(t, s.Settle(t.Context(), id, fleet.Accepted(fleet.Instance{ID: "i-late"})), "an instance that exists is believed")
		require.Equal(t, map[fleet.State]int{fleet.StateLoading: 3}, s.status().States)
		require.Equal(t, usd("1.50"), s.status().Spend, "above the cap")
		require.ErrorIs(t, s.Settle(t.Context(), id, fleet.Accepted(fleet.Instance{ID: "i-other"})), fleet.ErrSettled)
		require.ErrorIs(t, s.Settle(t.Context(), id, fleet.Refused(nil)), fleet.ErrSettled)

		emergency := s.request(1, usd("0.01"))
		emergency.Emergency = true
		d := s.reserve(emergency)
		require.Equal(t, fleet.Budget, d.Code)
		require.Equal(t, fleet.Headroom{Launches: -1}, d.Headroom, "none, rather than less than none")
		count, _ := d.Finding("count")
		require.Zero(t, count.Allowed)

		require.NoError(t, s.Settle(t.Context(), others.Reservations[0].ID, fleet.Ended()))
		require.Equal(t, fleet.Budget, s.launch(1, usd("0.50")).Code, "at the cap")
		require.NoError(t, s.Settle(t.Context(), others.Reservations[1].ID, fleet.Ended()))
		require.Equal(t, fleet.Granted, s.launch(1, usd("0.50")).Code)
	})
	t.Run("mistakes", func(t *testing.T) {
		s := newStage(t, "12:00:00")
		require.ErrorIs(t, s.Settle(t.Context(), "nobody", fleet.Lost()), fleet.ErrNoReservation)
		require.ErrorContains(t, s.Settle(t.Context(), reserve(s), fleet.Outcome{}), "the zero value")
	})
}

func TestKeysAreForgottenAWeekAfterTheirInstances(t *testing.T) {
	s := newStage(t, "12:00:00")
	r := s.request(2, usd("0.50"))
	d, err := s.Launch(t.Context(), r, s.cloud.create)
	require.NoError(t, err)
	week := 7*24*time.Hour + time.Hour
	s.clock.Add(week)
	repeat := func() fleet.Code {
		d, err := s.Launch(t.Context(), r, s.cloud.create)
		require.NoError(t, err)
		return d.Code
	}
	s.status()
	require.NoError(t, s.Signal(t.Context(), fleet.Demand{}))
	require.Empty(t, must(s.Decisions(t.Context(), 10)), "the decision is forgotten")
	require.Equal(t, fleet.Duplicate, repeat(), "not the key of what lives")
	require.NoError(t, s.Settle(t.Context(), d.Reservations[0].ID, fleet.Ended()))
	s.clock.Add(week)
	require.Equal(t, fleet.Duplicate, repeat(), "one of its instances lives")
	require.NoError(t, s.Settle(t.Context(), d.Reservations[1].ID, fleet.Ended()))
	require.Equal(t, fleet.Duplicate, repeat())
	s.clock.Add(week)
	require.NoError(t, s.Signal(t.Context(), fleet.Demand{}))
	require.Equal(t, fleet.Granted, repeat())
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
