package fleet_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdoff-go/holdoff/fleet"
	"github.com/holdoff-go/holdoff/retry"
)

// answer is a vendor's HTTP error.
func answer(status int, retryAfter string) error {
	rec := httptest.NewRecorder()
	if retryAfter != "" {
		rec.Header().Set("Retry-After", retryAfter)
	}
	rec.WriteHeader(status)
	return retry.Response(rec.Result())
}

// tooMany refuses every call with a 429.
func tooMany(t *testing.T, retryAfter string) func(int, fleet.Reservation) error {
	t.Helper()
	return func(int, fleet.Reservation) error { return answer(http.StatusTooManyRequests, retryAfter) }
}

func TestVendorsErrorIsClassified(t *testing.T) {
	tests := []struct {
		name  string
		err   error
		state fleet.State
		held  int
		hold  time.Duration
	}{
		{"429 with a time", answer(429, "120"), fleet.StateRefused, 0, 120 * time.Second},
		{"429 without one", answer(429, ""), fleet.StateRefused, 0, 60 * time.Second},
		{"503", answer(503, ""), fleet.StateRefused, 0, 10 * time.Second},
		{"402", answer(402, ""), fleet.StateRefused, 0, 0},
		{"422", answer(422, ""), fleet.StateRefused, 0, 0},
		{"401", answer(401, ""), fleet.StateRefused, 0, 0},
		{"an error of the start function's own", errors.New("no such image"), fleet.StateRefused, 0, 0},
		{"connection refused", &net.OpError{Op: "dial", Err: errors.New("connection refused")}, fleet.StateRefused, 0, 0},
		{"no such host", &net.DNSError{Err: "no such host", IsNotFound: true}, fleet.StateRefused, 0, 0},
		{"500", answer(500, ""), fleet.StateUnknown, 1, 0},
		{"504 with a time", answer(504, "30"), fleet.StateUnknown, 1, 0},
		{"time-out", fmt.Errorf("create: %w", context.DeadlineExceeded), fleet.StateUnknown, 1, 0},
		{"cut connection", &net.OpError{Op: "read", Err: errors.New("connection reset by peer")}, fleet.StateUnknown, 1, 0},
		{"unreadable answer", fmt.Errorf("create: %w", json.Unmarshal([]byte("<html>"), new(int))), fleet.StateUnknown, 1, 0},
		{"empty answer", fmt.Errorf("create: %w", io.ErrUnexpectedEOF), fleet.StateUnknown, 1, 0},
		{"said to be unknown", fmt.Errorf("create: %w", fleet.ErrOutcomeUnknown), fleet.StateUnknown, 1, 0},
		{"retried: a time-out, then 429", &retry.Error{Class: retry.RateLimited, Attempts: 2, Causes: []error{context.DeadlineExceeded, answer(429, "5")}}, fleet.StateUnknown, 1, 0},
		{"retried: 429 twice, with a time", &retry.Error{Class: retry.RateLimited, Attempts: 2, RetryAt: at("12:05:00"), Causes: []error{answer(429, "5"), answer(429, "300")}}, fleet.StateRefused, 0, 5 * time.Minute},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newStage(t, "12:00:00")
			s.cloud.fail = func(int, fleet.Reservation) error { return tt.err }

			d, err := s.Launch(t.Context(), s.request(1, usd("0.44")), s.cloud.create)

			var launch *fleet.LaunchError
			require.ErrorAs(t, err, &launch)
			require.ErrorIs(t, err, tt.err)
			require.Equal(t, tt.state, launch.State)
			require.Equal(t, 1, d.Granted)
			require.Equal(t, tt.state, d.Reservations[0].State)
			st := s.status()
			require.Equal(t, tt.held, st.Instances)
			require.Equal(t, fleet.Money(tt.held)*usd("0.44"), st.Spend)
			require.Equal(t, tt.held, st.Launches, "a refusal gives the window back")
			if tt.hold == 0 {
				require.Zero(t, st.VendorUntil)
				return
			}
			require.Equal(t, tt.hold, st.VendorUntil.Sub(st.At))
			require.Equal(t, st.VendorUntil, launch.RetryAt)
		})
	}
}

func TestVendorsWaitIsNotRelaxedByAnEmergency(t *testing.T) {
	s := newStage(t, "18:20:00")
	s.incident()
	s.cloud.fail = tooMany(t, "90")
	_, err := s.Launch(t.Context(), s.request(2, usd("0.45")), s.cloud.create)
	require.ErrorIs(t, err, retry.RateLimited)
	require.Len(t, s.cloud.calls, 4, "the second of the batch was not sent")
	require.Equal(t, 3, s.status().Instances, "and is given back")
	s.cloud.fail = nil

	claimed := s.request(1, usd("0.45"))
	claimed.Emergency = true
	d := s.reserve(claimed)
	require.Equal(t, fleet.VendorPacing, d.Code, d)
	require.True(t, d.Established)
	require.Equal(t, at("18:31:41"), d.RetryAt)

	s.clock.Set(at("18:31:41"))
	require.Equal(t, 2, s.launch(2, usd("0.45")).Granted)
}

func TestBatchGoesOnAfterAnErrorOfOneMachine(t *testing.T) {
	s := newStage(t, "12:00:00")
	s.cloud.fail = func(call int, _ fleet.Reservation) error {
		if call == 2 {
			return answer(422, "")
		}
		return nil
	}
	d, err := s.Launch(t.Context(), s.request(3, usd("0.44")), s.cloud.create)
	require.ErrorIs(t, err, retry.Fatal)
	require.Equal(t, 2, s.status().Instances)
	require.Equal(t, []fleet.State{fleet.StateLoading, fleet.StateRefused, fleet.StateLoading},
		[]fleet.State{d.Reservations[0].State, d.Reservations[1].State, d.Reservations[2].State})
}

// TestM2_CreateCallRetriedAfterItTookEffect repeats a launch that timed out
// after the machine existed.
func TestM2_CreateCallRetriedAfterItTookEffect(t *testing.T) {
	t.Run("a vendor that is idempotent gets the same key", func(t *testing.T) {
		s := newStage(t, "12:00:00", func(c *fleet.Config) { c.Resend = true })
		s.cloud.after = context.DeadlineExceeded
		r := s.request(1, usd("0.44"))
		_, err := s.Launch(t.Context(), r, s.cloud.create)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		s.cloud.after = nil

		d, err := s.Launch(t.Context(), r, s.cloud.create)

		require.NoError(t, err)
		require.Equal(t, fleet.Duplicate, d.Code)
		require.Equal(t, "i-1", d.Reservations[0].Instance)
		require.Len(t, s.cloud.calls, 2)
		require.Equal(t, s.cloud.calls[0], s.cloud.calls[1])
		require.Len(t, s.cloud.machines, 1)
		_, err = s.Launch(t.Context(), r, s.cloud.create)
		require.NoError(t, err)
		require.Len(t, s.cloud.calls, 2, "its outcome is known now")
	})
	t.Run("a vendor that is not gets nothing, and the listing tells", func(t *testing.T) {
		s := newStage(t, "12:00:00")
		s.cloud.after = context.DeadlineExceeded
		r := s.request(1, usd("0.44"))
		_, err := s.Launch(t.Context(), r, s.cloud.create)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		s.cloud.after = nil

		d, err := s.Launch(t.Context(), r, s.cloud.create)
		require.NoError(t, err)
		require.Equal(t, fleet.Duplicate, d.Code)
		require.Equal(t, fleet.StateUnknown, d.Reservations[0].State)
		require.Len(t, s.cloud.calls, 1)
		require.Len(t, s.cloud.machines, 1)

		s.observe(s.cloud.listing(fleet.StateLoading)...)
		d, err = s.Launch(t.Context(), r, s.cloud.create)
		require.NoError(t, err)
		require.Equal(t, "i-1", d.Reservations[0].Instance, "adopted by its tag")
		require.Equal(t, 1, s.status().Instances)
	})
}

func TestStartThatMisbehaves(t *testing.T) {
	tests := map[string]func(context.Context, fleet.Reservation) (fleet.Instance, error){
		"panics":          func(context.Context, fleet.Reservation) (fleet.Instance, error) { panic("boom") },
		"returns nothing": func(context.Context, fleet.Reservation) (fleet.Instance, error) { return fleet.Instance{}, nil },
		"returns nonsense": func(context.Context, fleet.Reservation) (fleet.Instance, error) {
			return fleet.Instance{ID: "i", State: "dancing"}, nil
		},
	}
	for name, start := range tests {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, "12:00:00")
			_, err := s.Launch(t.Context(), s.request(1, usd("0.44")), start)
			require.ErrorIs(t, err, fleet.ErrOutcomeUnknown)
			require.Equal(t, map[fleet.State]int{fleet.StateUnknown: 1}, s.status().States)
		})
	}
	t.Run("ends its goroutine", func(t *testing.T) {
		s := newStage(t, "12:00:00")
		r := s.request(1, usd("0.44"))
		done := make(chan struct{})
		go func() {
			defer close(done)
			_, _ = s.Launch(context.Background(), r, func(context.Context, fleet.Reservation) (fleet.Instance, error) {
				runtime.Goexit()
				return fleet.Instance{}, nil
			})
		}()
		<-done
		require.Equal(t, map[fleet.State]int{fleet.StateUnknown: 1}, s.status().States)
	})
}

func TestContextThatEnds(t *testing.T) {
	t.Run("before anything was decided", func(t *testing.T) {
		s := newStage(t, "12:00:00")
		cause := errors.New("shutting down")
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(cause)
		d, err := s.Launch(ctx, s.request(1, usd("0.44")), s.cloud.create)
		require.Equal(t, cause, err)
		require.Zero(t, d)
		require.Zero(t, s.status().Instances)
	})
	t.Run("during a call that is carried out all the same", func(t *testing.T) {
		s := newStage(t, "12:00:00")
		ctx, cancel := context.WithCancel(t.Context())
		d, err := s.Launch(ctx, s.request(3, usd("0.44")), func(_ context.Context, r fleet.Reservation) (fleet.Instance, error) {
			cancel()
			return s.cloud.create(context.Background(), r)
		})
		require.ErrorIs(t, err, context.Canceled)
		require.Equal(t, fleet.StateLoading, d.Reservations[0].State, "it is there, and written down")
		require.Equal(t, fleet.StateRefused, d.Reservations[1].State, "not sent")
		require.Equal(t, fleet.StateRefused, d.Reservations[2].State, "not sent")
		require.Equal(t, 1, s.status().Instances)
	})
	t.Run("during a call that fails with it", func(t *testing.T) {
		s := newStage(t, "12:00:00")
		ctx, cancel := context.WithCancel(t.Context())
		_, err := s.Launch(ctx, s.request(2, usd("0.44")), func(ctx context.Context, _ fleet.Reservation) (fleet.Instance, error) {
			cancel()
			return fleet.Instance{}, errors.New("request aborted")
		})
		require.Error(t, err)
		require.Equal(t, map[fleet.State]int{fleet.StateUnknown: 1}, s.status().States)
	})
}
