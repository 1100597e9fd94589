package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/holdoff-go/holdoff/internal/provider"
	"github.com/holdoff-go/holdoff/spawn"
	"github.com/holdoff-go/holdoff/spawn/pool"
)

// A journal tells what happens, as it does.
type journal struct {
	mu    sync.Mutex
	out   io.Writer
	start time.Time
}

func (j *journal) say(format string, args ...any) {
	j.mu.Lock()
	defer j.mu.Unlock()
	fmt.Fprintf(j.out, "  %5.2f s  %s\n", time.Since(j.start).Seconds(), fmt.Sprintf(format, args...))
}

func (j *journal) pool(e pool.Event) {
	switch e.Kind {
	case pool.EventParked:
		j.say("%s is used up: parked for %v, as the provider said", e.Credential, e.Until.Sub(e.Time).Round(time.Second))
	case pool.EventSwitched:
		j.say("the workers move from %s to %s", e.From, e.Credential)
	}
}

func (j *journal) worker(e spawn.Event) {
	switch e.State {
	case spawn.Queued:
	case spawn.Running:
		j.say("%s runs on %s, attempt %d", e.ID, e.Credential, e.Attempt)
	default:
		j.say("%s is %v", e.ID, e.State)
	}
}

// tell runs the job, tells how that went, and whether it went as it should.
func tell(ctx context.Context, s stage, out io.Writer) error {
	fmt.Fprintf(out, "Two subscriptions, \"work\" and \"home\". One job of %d turns, which sends a message\nhalf way. \"work\" is good for %d more calls.\n\n", len(turns), workCalls)
	wires := s.wires
	if wires == nil {
		own := http.DefaultTransport.(*http.Transport).Clone()
		defer own.CloseIdleConnections()
		wires = own
	}
	d, err := newDesk(&client{&http.Client{Transport: wires}, s.url}, &journal{out: out, start: time.Now()})
	if err != nil {
		return err
	}
	r, err := d.spawner.Run(ctx, spawn.Worker{ID: "report", Run: d.job})
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}

	fmt.Fprintf(out, "\nOne job, one record: %v\n", r.State)
	for _, a := range r.Attempts {
		came := a.Verdict.Class.String()
		if a.Err == nil {
			came = "accepted"
		}
		fmt.Fprintf(out, "  %s  on %s  %-15s  %3d tokens\n", a.ID, a.Credential, came, a.Units)
	}
	fmt.Fprintln(out, "Who was charged, and what the provider says:")
	seen := s.provider.Counts().Keys
	for _, l := range r.Ledger {
		k := seen[token(l.Credential)]
		fmt.Fprintf(out, "  %s  %3d tokens in %d attempt; %d calls accepted, %d refused\n", l.Credential, l.Units, l.Attempts, k.Accepted, k.Refused)
	}
	for _, e := range r.Effects {
		fmt.Fprintf(out, "The %s: %v in %s, and sent %d time.\n", e.Key, e.State, e.Attempt, d.sent.Load())
	}
	return errors.Join(wrong(r, err, d.sent.Load(), seen)...)
}

func token(id string) string {
	return map[string]string{"work": workToken, "home": homeToken}[id]
}

// wrong says what of the story is not as it should be.
func wrong(r spawn.Result, err error, sent int64, seen map[string]provider.Tally) (all []error) {
	check := func(ok bool, format string, args ...any) {
		if !ok {
			all = append(all, fmt.Errorf("%w: %s", errWrong, fmt.Sprintf(format, args...)))
		}
	}
	check(err == nil && r.State == spawn.Succeeded, "the job is %v: %v", r.State, err)
	check(r.Total == 2, "it took %d attempts: it should be 2", r.Total)
	check(sent == 1, "the message was sent %d times: it should be once", sent)
	check(len(r.Ledger) == 2, "%d subscriptions were charged: it should be 2", len(r.Ledger))
	for _, l := range r.Ledger {
		check(l.Units > 0, "%s was charged nothing", l.Credential)
	}
	work, home := seen[workToken], seen[homeToken]
	check(work.Accepted == workCalls && work.Refused == 1, "work took %d calls and refused %d", work.Accepted, work.Refused)
	check(home.Accepted == len(turns)-workCalls && home.Refused == 0, "home took %d calls and refused %d", home.Accepted, home.Refused)
	return all
}
