package limiter_test

import (
	"bytes"
	"context"
	"log/slog"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdoff-go/holdoff/limiter"
)

// told is a journal of events, and the Config that fills it.
func told(cfg limiter.Config) (limiter.Config, *journal[limiter.Event]) {
	j := &journal[limiter.Event]{}
	cfg.OnEvent = func(e limiter.Event) { j.add(e) }
	return cfg, j
}

func kinds(events []limiter.Event) []limiter.EventKind {
	var ks []limiter.EventKind
	for _, e := range events {
		ks = append(ks, e.Kind)
	}
	return ks
}

func TestEvents_InOrder(t *testing.T) {
	cfg, j := told(base())
	play(t, cfg, func(s *scene) {
		slots := s.takeAll(4)
		slots[0].ReportRateLimited(0)
		slots[1].ReportRateLimited(0) // of the same burst: no news
		for _, slot := range slots {
			slot.Release()
		}
		s.l.ReportRateLimited(90 * time.Second)
		waiter := s.ask(limiter.Normal)
		s.at(90)
		waiter.slot.ReportSuccess()
		s.l.Hold("deploy")
		s.l.Resume("deployed")
		s.l.Resume("again: nothing to resume")
		require.NoError(s, s.l.SetBudget(5))

		events := j.all()
		require.Equal(s, []limiter.EventKind{
			limiter.EventPauseOpened, limiter.EventBudget, limiter.EventPauseChanged,
			limiter.EventPauseEnded, limiter.EventProbe,
			limiter.EventHold, limiter.EventResume, limiter.EventBudget,
		}, kinds(events))
		opened, ended, hold, resume := events[0], events[3], events[5], events[6]
		require.Equal(s, "rate_limited", opened.Reason)
		require.Equal(s, 60.0, opened.Status.BlockedUntil.Sub(s.start).Seconds())
		require.Zero(s, opened.Time.Sub(s.start))
		require.Equal(s, 2, events[1].Status.Budget)
		require.Equal(s, 90.0, ended.Time.Sub(s.start).Seconds())
		require.Zero(s, ended.Status.BlockedUntil)
		require.Equal(s, "deploy", hold.Reason)
		require.Equal(s, limiter.ReasonHold, hold.Status.Reason)
		require.Equal(s, "deployed", resume.Reason)
		require.Equal(s, limiter.ReasonNone, resume.Status.Reason)
	})
}

// N4: no lock is held while calling out.
func TestN4_CallbackUsesTheLimiter(t *testing.T) {
	cfg := base()
	var l *limiter.Limiter
	var seen journal[limiter.EventKind]
	cfg.OnEvent = func(e limiter.Event) {
		seen.add(e.Kind)
		l.Status()
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		_, err := l.Acquire(ctx)
		require.ErrorIs(t, err, context.Canceled)
		switch e.Kind {
		case limiter.EventPauseOpened:
			l.Hold("from the callback") // its event comes after this one
			require.Equal(t, []limiter.EventKind{limiter.EventPauseOpened}, seen.all())
		case limiter.EventHold:
			l.Resume("from the callback")
		}
	}
	play(t, cfg, func(s *scene) {
		l = s.l
		s.l.ReportRateLimited(0)
		require.Equal(s, []limiter.EventKind{
			limiter.EventPauseOpened, limiter.EventHold, limiter.EventPauseEnded, limiter.EventResume,
		}, seen.all())
		s.take()
	})
}

func TestN4_CallbackPanics(t *testing.T) {
	var log bytes.Buffer
	cfg := base()
	cfg.Logger = slog.New(slog.NewTextHandler(&log, nil))
	cfg.OnEvent = func(limiter.Event) { panic("boom") }
	play(t, cfg, func(s *scene) {
		s.l.ReportRateLimited(0)
		require.Equal(s, 60.0, s.blockedUntil())
		s.at(60)
		s.take()
		require.Contains(s, log.String(), "holdoff: Config.OnEvent panicked")
		require.Contains(s, log.String(), "boom")
	})
	t.Run("so does the logger", func(t *testing.T) {
		cfg, j := told(base())
		cfg.Logger = slog.New(brokenHandler{})
		play(t, cfg, func(s *scene) {
			s.l.ReportRateLimited(0)
			require.Len(s, j.all(), 1)
			s.at(60)
			s.take()
		})
	})
}

type brokenHandler struct{ slog.Handler }

func (brokenHandler) Enabled(context.Context, slog.Level) bool { panic("handler") }

// A callback that ends its goroutine, as a test's FailNow does, takes neither
// the slot with it nor the events of others.
func TestEvents_CallbackEndsItsGoroutine(t *testing.T) {
	cfg := base()
	var seen journal[limiter.EventKind]
	cfg.OnEvent = func(e limiter.Event) {
		seen.add(e.Kind)
		if e.Kind == limiter.EventPauseEnded {
			runtime.Goexit()
		}
	}
	for name, acquire := range map[string]func(s *scene) (*limiter.Slot, error){
		"TryAcquire": func(s *scene) (*limiter.Slot, error) { return s.l.TryAcquire() },
		"Acquire":    func(s *scene) (*limiter.Slot, error) { return s.l.Acquire(s.ctx) },
	} {
		t.Run(name, func(t *testing.T) {
			seen = journal[limiter.EventKind]{}
			play(t, cfg, func(s *scene) {
				s.l.ReportRateLimited(0)
				s.at(60)
				returned := make(chan bool, 1)
				go func() {
					defer close(returned)
					_, _ = acquire(s)
					returned <- true
				}()
				require.False(s, <-returned, "the goroutine has ended")
				synctest.Wait()
				require.Zero(s, s.l.Status().InFlight)
				require.Equal(s, []limiter.EventKind{
					limiter.EventPauseOpened, limiter.EventPauseEnded, limiter.EventProbe,
				}, seen.all())
				s.take()
			})
		})
	}
}

// A caller that is queued, and whose goroutine a callback then ends, is not granted
// a slot that nobody collects.
func TestEvents_CallbackEndsTheGoroutineOfWhoWaits(t *testing.T) {
	cfg := base()
	cfg.Budget = 1
	end := false
	cfg.OnEvent = func(e limiter.Event) {
		if end && e.Kind == limiter.EventPauseEnded {
			end = false
			runtime.Goexit()
		}
	}
	play(t, cfg, func(s *scene) {
		held := s.take()
		s.l.ReportRateLimited(time.Second)
		s.at(2)
		end = true
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			_, _ = s.l.Acquire(s.ctx) // notices the end of the pause, and is queued
		}()
		<-ended
		require.False(s, end)
		require.Zero(s, s.l.Status().Waiting)
		held.Release()
		s.take()
	})
}

// One warning a pause and one record for its end, however many refusals.
func TestLogger_OneWarningAPause(t *testing.T) {
	var log bytes.Buffer
	cfg := base()
	cfg.Logger = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{
		ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey {
				return slog.Attr{}
			}
			return a
		},
	}))
	play(t, cfg, func(s *scene) {
		slots := s.takeAll(8)
		for _, slot := range slots {
			slot.ReportRateLimited(0)
			slot.Release()
		}
		s.l.ReportRateLimited(0)
		s.at(61)
		s.take().ReportSuccess()
		s.l.Hold("deploy")
		s.l.Resume("deployed")
	})
	require.Equal(t, strings.Join([]string{
		`level=WARN msg="holdoff: pause_opened" limiter=upstream reason=rate_limited budget=4 in_flight=8 waiting=0 blocked_until=2000-01-01T00:01:00.000Z`,
		`level=INFO msg="holdoff: pause_ended" limiter=upstream reason=rate_limited budget=4 in_flight=0 waiting=0`,
		`level=INFO msg="holdoff: hold" limiter=upstream reason=deploy budget=4 in_flight=1 waiting=0`,
		`level=INFO msg="holdoff: resume" limiter=upstream reason=deployed budget=4 in_flight=1 waiting=0`,
		``,
	}, "\n"), log.String())
}

// Hold and Resume: one hold at a time, for every priority and for Wait.
func TestHold(t *testing.T) {
	play(t, base(), func(s *scene) {
		s.l.Hold("deploy")
		s.at(5)
		s.l.Hold("migration")
		st := s.l.Status()
		require.Equal(s, "migration", st.Hold)
		require.Equal(s, s.start, st.Since.Round(0), "one hold: the second changes the reason")
		var callers []*caller
		for _, p := range []limiter.Priority{limiter.Normal, limiter.Resumed, limiter.Emergency} {
			callers = append(callers, s.ask(p))
		}
		callers = append(callers, s.waitFor(s.l.Wait, 0))
		s.l.ReportSuccess()
		s.at(24 * 3600)
		require.Equal(s, 4, waiting(callers...))
		require.Equal(s, limiter.ReasonHold, s.refused().Reason)
		s.l.Resume("done")
		synctest.Wait()
		require.Equal(s, 0, waiting(callers...))
		require.Empty(s, s.l.Status().Hold)
	})
	t.Run("Resume without hold, pause or storm does nothing", func(t *testing.T) {
		play(t, base(), func(s *scene) {
			old := s.take()
			s.l.Resume("nothing")
			old.ReportRateLimited(0)
			require.Equal(s, 60.0, s.blockedUntil(), "the report still counts")
		})
	})
	t.Run("Resume lifts a stated pause", func(t *testing.T) {
		play(t, base(), func(s *scene) {
			s.l.ReportRateLimited(time.Hour)
			s.l.Resume("the provider says so")
			require.Zero(s, s.blockedUntil())
			s.takeAll(8)
		})
	})
}
