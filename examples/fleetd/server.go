package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"time"

	"github.com/holdoff-go/holdoff/fleet"
	"github.com/holdoff-go/holdoff/fleet/sqlledger"
)

// look is how often the signals and the listing are read.
const look = 10 * time.Second

// serve serves the guard until ctx ends.
func serve(ctx context.Context, out io.Writer, o options, listener net.Listener) (err error) {
	ledger, err := sqlledger.Open(ctx, o.db)
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	defer func() { err = errors.Join(err, ledger.Close()) }()
	log := slog.New(slog.NewTextHandler(out, nil))
	guard, err := newGuard(ledger, nil, func(c *fleet.Config) { c.Logger = log })
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	cloud := newVendor(time.Now, o.boot)
	known, err := guard.Reservations(ctx)
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	cloud.resume(known)

	ctx, cancel := context.WithCancel(ctx)
	looking := make(chan error, 1)
	go func() {
		looking <- fleet.NewLoop(guard, func(ctx context.Context) error { return tell(ctx, guard, cloud, o.demand) }, look).Run(ctx)
	}()
	defer func() {
		cancel()
		<-looking // it says no more than that ctx has ended
	}()

	server := &http.Server{Handler: handler(guard, cloud.create), ReadHeaderTimeout: 10 * time.Second, ReadTimeout: 30 * time.Second}
	stopped := make(chan error, 1)
	stop := context.AfterFunc(ctx, func() {
		grace, done := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
		defer done()
		stopped <- server.Shutdown(grace)
	})
	fmt.Fprintf(out, "listening on http://%s, ledger %s\n", listener.Addr(), o.db)
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		stop()
		return err
	}
	return <-stopped // launches under way are settled before the ledger is closed
}

// tell brings the guard the signals and the listing.
func tell(ctx context.Context, guard *fleet.Guard, cloud *vendor, d fleet.Demand) error {
	listed, running := cloud.list()
	d.Running = running
	return errors.Join(guard.Observe(ctx, fleet.Inventory{Instances: listed}), guard.Signal(ctx, d))
}

// handler serves what a caller may do: ask. Signals, overrides and the kill
// switch are the host's.
func handler(guard *fleet.Guard, start fleet.Start) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /launch", func(w http.ResponseWriter, r *http.Request) {
		decide(w, r, func(ctx context.Context, request fleet.Request) (fleet.Decision, error) {
			return guard.Launch(ctx, request, start)
		})
	})
	mux.HandleFunc("POST /explain", func(w http.ResponseWriter, r *http.Request) { decide(w, r, guard.Explain) })
	mux.HandleFunc("GET /status", func(w http.ResponseWriter, r *http.Request) {
		st, err := guard.Status(r.Context())
		answer(w, st, err)
	})
	mux.HandleFunc("GET /decisions", func(w http.ResponseWriter, r *http.Request) {
		ds, err := guard.Decisions(r.Context(), 20)
		answer(w, ds, err)
	})
	return mux
}

// maxBody is more than any request needs.
const maxBody = 16 << 10

// wish is what a caller sends. Its emergency is a claim, for the record alone.
type wish struct {
	fleet.Request
	Emergency bool `json:"emergency"`
}

// reply is a decision with its sentence, and what went wrong with what was
// granted.
type reply struct {
	Explanation string `json:"explanation"`
	fleet.Decision
	Error string `json:"error,omitempty"`
}

func decide(w http.ResponseWriter, r *http.Request, by func(context.Context, fleet.Request) (fleet.Decision, error)) {
	var want wish
	decoder := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBody))
	decoder.DisallowUnknownFields()
	err := decoder.Decode(&want)
	if err == nil && decoder.Decode(new(any)) != io.EOF {
		err = errors.New("there is more after the request")
	}
	if err != nil {
		write(w, http.StatusBadRequest, reply{Explanation: "the body cannot be read", Error: err.Error()})
		return
	}
	if key := r.Header.Get("Idempotency-Key"); key != "" {
		want.Key = key
	}
	want.Claimed = want.Claimed || want.Emergency
	d, err := by(r.Context(), want.Request)
	body := reply{Explanation: d.String(), Decision: d}
	status := statusOf(d)
	if err != nil {
		body.Error = err.Error()
		status = http.StatusBadGateway
		if errors.Is(err, fleet.ErrLedger) || d.Code == "" {
			status = http.StatusServiceUnavailable
		}
	}
	if status == http.StatusTooManyRequests {
		w.Header().Set("Retry-After", strconv.Itoa(wholeSeconds(d.RetryAt.Sub(d.At))))
	}
	write(w, status, body)
}

// statusOf is 429 only where waiting helps, so that a client that retries by
// itself does not hammer at a cap.
func statusOf(d fleet.Decision) int {
	switch d.Code {
	case fleet.Granted, fleet.Partial, fleet.Duplicate:
		return http.StatusOK
	case fleet.Invalid:
		return http.StatusBadRequest
	case fleet.LedgerUnavailable, fleet.StaleInventory, fleet.Killed:
		return http.StatusServiceUnavailable
	}
	if !d.RetryAt.IsZero() {
		return http.StatusTooManyRequests
	}
	return http.StatusConflict
}

// wholeSeconds rounds up: a second early is refused again.
func wholeSeconds(d time.Duration) int {
	return int((d + time.Second - 1) / time.Second)
}

func answer(w http.ResponseWriter, v any, err error) {
	if err != nil {
		write(w, http.StatusServiceUnavailable, reply{Explanation: "the ledger cannot be read", Error: err.Error()})
		return
	}
	write(w, http.StatusOK, v)
}

func write(w http.ResponseWriter, status int, v any) {
	data, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(append(data, '\n')) // a caller that has gone needs no answer
}
