package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/holdoff-go/holdoff/fleet"
	"github.com/holdoff-go/holdoff/fleet/sqlledger"
)

// virtual is a clock that stands until it is set.
type virtual struct{ now time.Time }

func (v *virtual) Now() time.Time                     { return v.now }
func (*virtual) After(time.Duration) <-chan time.Time { return nil }

// at is a time of that evening.
func at(clock string) time.Time {
	t, err := time.Parse(time.DateTime, "2026-03-10 "+clock)
	if err != nil {
		panic(err)
	}
	return t
}

const (
	ask      = 4
	askPrice = 45 * fleet.Cent
	tick     = 5 * time.Minute
	boot     = 2 * time.Hour
)

// act is the evening under one rule.
type act struct {
	title, moral string
	change       func(*fleet.Config)
	signals      bool // the guard is told what there is to do
	until        string
	restart      string // when the process dies and comes back; empty is never
}

var acts = []act{
	{
		title:  "The old rule: the window holds, whatever happens",
		moral:  "Every launch is refused while nothing runs.",
		change: func(c *fleet.Config) { c.Rules = []fleet.Rule{} },
		until:  "18:35:11",
	},
	{
		title:  "The quick fix: a boolean skips the window",
		moral:  "It runs to the cap: nobody counts what is booting already.",
		change: func(c *fleet.Config) { c.Window = fleet.Window{} },
		until:  "18:50:11",
	},
	{
		title:   "holdoff: signals establish the emergency, which skips the window and nothing else",
		moral:   "Four at once, then no more than is needed, with every machine that boots counted in.",
		signals: true,
		until:   "18:50:11",
		restart: "18:31:00",
	},
}

// replay plays the evening under each rule.
func replay(ctx context.Context, out io.Writer) (err error) {
	fmt.Fprintf(out, `18:20  Ten workers die. The need is ten. 59 items will be waiting.
18:25  Three machines are launched. They boot for two hours.
18:30  A loop asks for %d more at up to %s/hr, and again every 5 minutes.

Caps: $10.00/hr and 20 instances. Window: 3 launches in 15 minutes.
`, ask, askPrice)
	dir, err := os.MkdirTemp("", "fleetd")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	for i, a := range acts {
		fmt.Fprintf(out, "\n%d. %s\n\n", i+1, a.title)
		if err := a.play(ctx, out, filepath.Join(dir, fmt.Sprint(i))); err != nil {
			return err
		}
		fmt.Fprintf(out, "\n   %s\n", a.moral)
	}
	return nil
}

// scene is an act under way.
type scene struct {
	act
	out    io.Writer
	path   string
	clock  *virtual
	cloud  *vendor
	ledger *sqlledger.Ledger
	guard  *fleet.Guard
}

func (a act) play(ctx context.Context, out io.Writer, path string) (err error) {
	s := &scene{act: a, out: out, path: path, clock: &virtual{at("18:20:00")}}
	s.cloud = newVendor(s.clock.Now, boot)
	if err := s.open(ctx); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.ledger.Close()) }()
	if err := s.early(ctx); err != nil {
		return err
	}
	for now := at("18:30:11"); !now.After(at(a.until)); now = now.Add(tick) {
		if again := at("18:31:00"); a.restart != "" && now.After(again) && now.Sub(again) < tick {
			if err := s.comeBack(ctx); err != nil {
				return err
			}
		}
		s.clock.now = now
		if err := s.signal(ctx, fleet.Demand{Pending: 59, Target: 10}); err != nil {
			return err
		}
		d, err := s.guard.Launch(ctx, fleet.Request{
			Key: now.Format(time.RFC3339), Count: ask, MaxPrice: askPrice, Reason: "59 items wait",
		}, s.cloud.create)
		if err != nil {
			return err
		}
		if err := s.say(ctx, d); err != nil {
			return err
		}
	}
	return nil
}

func (s *scene) open(ctx context.Context) (err error) {
	if s.ledger, err = sqlledger.Open(ctx, s.path); err != nil {
		return err
	}
	change := s.change
	if change == nil {
		change = func(*fleet.Config) {}
	}
	s.guard, err = newGuard(s.ledger, s.clock, change)
	return err
}

// early is what happened before 18:30.
func (s *scene) early(ctx context.Context) error {
	if err := s.signal(ctx, fleet.Demand{Running: 10, Target: 10}); err != nil {
		return err
	}
	for _, l := range []struct {
		at    string
		price fleet.Money
	}{{"18:25:10", 44 * fleet.Cent}, {"18:25:11", 44 * fleet.Cent}, {"18:25:12", 45 * fleet.Cent}} {
		s.clock.now = at(l.at)
		d, err := s.guard.Launch(ctx, fleet.Request{Key: l.at, MaxPrice: l.price, Reason: "a worker died"}, s.cloud.create)
		if err != nil {
			return err
		}
		if err := s.say(ctx, d); err != nil {
			return err
		}
	}
	for _, dead := range []string{"18:28:40", "18:29:40"} {
		s.clock.now = at(dead)
		if err := s.signal(ctx, fleet.Demand{Pending: 59, Target: 10}); err != nil {
			return err
		}
	}
	return nil
}

func (s *scene) signal(ctx context.Context, d fleet.Demand) error {
	if !s.signals {
		return nil
	}
	return s.guard.Signal(ctx, d)
}

// comeBack is the process dying and starting anew.
func (s *scene) comeBack(ctx context.Context) error {
	if err := s.ledger.Close(); err != nil {
		return err
	}
	if err := s.open(ctx); err != nil {
		return err
	}
	s.clock.now = at(s.restart)
	st, err := s.guard.Status(ctx)
	if err != nil {
		return err
	}
	fmt.Fprintf(s.out, "   %s  the process restarts; its ledger knows of %d machines and of emergency %s\n",
		s.restart, st.Instances, st.Episodes[0].ID)
	return nil
}

// say prints a decision as one line, and what there is after it.
func (s *scene) say(ctx context.Context, d fleet.Decision) error {
	st, err := s.guard.Status(ctx)
	if err != nil {
		return err
	}
	sentence, _, _ := strings.Cut(d.String(), "; left: ")
	fmt.Fprintf(s.out, "   %s  %d of %d  now %2d at %5s/hr  %s\n",
		d.At.Format(time.TimeOnly), d.Granted, d.Asked, st.Instances, st.Spend, sentence)
	return nil
}
