package fleet_test

import (
	"context"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdoff-go/holdoff/fleet"
	"github.com/holdoff-go/holdoff/retry"
)

func noWindow(c *fleet.Config) { c.Window = fleet.Window{} }

func resends(c *fleet.Config) { noWindow(c); c.Resend = true }

func TestBatchUnderWay(t *testing.T) {
	price := usd("0.10")
	batch := fleet.Request{Key: "batch", Count: 20, MaxPrice: price}
	t.Run("keeps its slots however long it takes", func(t *testing.T) {
		s := newStage(t, "12:00:00", noWindow)
		calls := 0
		d, err := s.Launch(t.Context(), batch, func(ctx context.Context, r fleet.Reservation) (fleet.Instance, error) {
			if calls++; calls > 10 { // the deadline of the decision has passed
				require.Equal(t, fleet.Count, s.reserve(s.request(1, price)).Code)
			}
			s.clock.Add(time.Minute)
			return s.cloud.create(ctx, r)
		})
		require.NoError(t, err)
		require.Equal(t, 20, d.Granted)
		require.Len(t, s.cloud.machines, 20)
		require.Equal(t, map[fleet.State]int{fleet.StateLoading: 20}, s.status().States)
	})
	t.Run("does not send what was given up while a call hung", func(t *testing.T) {
		s := newStage(t, "12:00:00", noWindow)
		d, err := s.Launch(t.Context(), batch, func(ctx context.Context, r fleet.Reservation) (fleet.Instance, error) {
			s.clock.Add(time.Hour)
			require.Equal(t, 20, s.launch(20, price).Granted, "all of it was given up")
			return s.cloud.create(ctx, r)
		})
		require.ErrorContains(t, err, "not sent: it is expired already")
		require.Len(t, s.cloud.machines, 21, "the one that was under way too")
		require.Equal(t, fleet.StateRefused, d.Reservations[1].State)
	})
	t.Run("ends at the kill switch", func(t *testing.T) {
		s := newStage(t, "12:00:00", noWindow)
		d, err := s.Launch(t.Context(), batch, func(ctx context.Context, r fleet.Reservation) (fleet.Instance, error) {
			if len(s.cloud.calls) == 1 {
				require.NoError(t, s.Kill(ctx, "the bill"))
			}
			return s.cloud.create(ctx, r)
		})
		require.ErrorContains(t, err, "not sent: the kill switch is on: the bill")
		require.Len(t, s.cloud.calls, 2)
		require.Equal(t, fleet.StateRefused, d.Reservations[2].State)
		require.Equal(t, 2, s.status().Instances, "the rest is given back")
	})
	t.Run("ends when another launch was refused for rate", func(t *testing.T) {
		s := newStage(t, "12:00:00", noWindow)
		held := s.reserve(s.request(1, price)).Reservations[0].ID
		small := fleet.Request{Key: "small", Count: 3, MaxPrice: price}
		_, err := s.Launch(t.Context(), small, func(ctx context.Context, r fleet.Reservation) (fleet.Instance, error) {
			require.NoError(t, s.Settle(ctx, held, fleet.Refused(retry.RateLimited)))
			return s.cloud.create(ctx, r)
		})
		require.ErrorContains(t, err, "not sent: the vendor refused a launch: rate_limited; it is left alone until 12:01:00")
		require.Len(t, s.cloud.calls, 1)
		require.Equal(t, 1, s.status().Instances)
	})
	t.Run("gives back what is unsent when its goroutine ends", func(t *testing.T) {
		s := newStage(t, "12:00:00", noWindow)
		done := make(chan struct{})
		go func() {
			defer close(done)
			_, _ = s.Launch(context.Background(), batch, func(context.Context, fleet.Reservation) (fleet.Instance, error) {
				runtime.Goexit()
				return fleet.Instance{}, nil
			})
		}()
		<-done
		require.Equal(t, map[fleet.State]int{fleet.StateUnknown: 1}, s.status().States)
	})
}

func TestResend(t *testing.T) {
	// Both machines exist and neither call was answered.
	lost := func(t *testing.T) (*stage, fleet.Request) {
		t.Helper()
		s := newStage(t, "12:00:00", resends)
		s.cloud.after = context.DeadlineExceeded
		r := s.request(2, usd("0.10"))
		_, err := s.Launch(t.Context(), r, s.cloud.create)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		s.cloud.after = nil
		require.Len(t, s.cloud.calls, 2)
		return s, r
	}
	unknown := map[fleet.State]int{fleet.StateUnknown: 2}
	for name, refused := range map[string]error{"429": retry.RateLimited, "409": answer(409, ""), "401": retry.Auth} {
		t.Run("a refusal says nothing of the call before: "+name, func(t *testing.T) {
			s, r := lost(t)
			s.cloud.fail = func(int, fleet.Reservation) error { return refused }
			d, err := s.Launch(t.Context(), r, s.cloud.create)
			require.ErrorIs(t, err, refused)
			require.Equal(t, fleet.Duplicate, d.Code)
			require.Equal(t, unknown, s.status().States)
		})
	}
	t.Run("a 429 ends it and holds off the next", func(t *testing.T) {
		s, r := lost(t)
		s.cloud.fail = tooMany(t, "120")
		for range 2 {
			_, _ = s.Launch(t.Context(), r, s.cloud.create)
			require.Len(t, s.cloud.calls, 3)
		}
		require.Equal(t, at("12:02:00"), s.status().VendorUntil)
		s.cloud.fail = nil
		s.clock.Set(at("12:02:00"))
		_, err := s.Launch(t.Context(), r, s.cloud.create)
		require.NoError(t, err)
		require.Equal(t, map[fleet.State]int{fleet.StateLoading: 2}, s.status().States)
		require.Len(t, s.cloud.machines, 2)
	})
	t.Run("a context that ends leaves the rest unknown", func(t *testing.T) {
		s, r := lost(t)
		ctx, cancel := context.WithCancel(t.Context())
		_, err := s.Launch(ctx, r, func(context.Context, fleet.Reservation) (fleet.Instance, error) {
			cancel()
			return fleet.Instance{}, context.Canceled
		})
		require.ErrorIs(t, err, context.Canceled)
		require.Equal(t, unknown, s.status().States)
	})
	t.Run("not past the kill switch", func(t *testing.T) {
		s, r := lost(t)
		require.NoError(t, s.Kill(t.Context(), "the bill"))
		d, err := s.Launch(t.Context(), r, s.cloud.create)
		require.NoError(t, err)
		require.Equal(t, fleet.Duplicate, d.Code)
		require.Len(t, s.cloud.calls, 2)
		require.Equal(t, unknown, s.status().States)
	})
}
