package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/holdoff-go/holdoff/fleet"
	"github.com/holdoff-go/holdoff/fleet/sqlledger"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestReplayTellsTheStory(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, run(t.Context(), nil, &out))
	old, naive, holdoff := acting(out.String(), "1."), acting(out.String(), "2."), acting(out.String(), "3.")
	require.Equal(t, 2, strings.Count(old, "0 of 4"), "every launch is refused")
	require.Contains(t, old, "18:30:11  0 of 4  now  3 at $1.33/hr  denied by rate_window: 3 of 3 launches in the last 15m; next at 18:40:10, in 9m59s")
	require.Contains(t, naive, "18:50:11  1 of 4  now 20 at $8.98/hr", "the cap")
	require.Contains(t, holdoff, "18:30:11  4 of 4  now  7 at $3.13/hr  granted 4 of 4 at up to $0.45/hr, past rate_window for emergency e1")
	require.Contains(t, holdoff, "18:31:00  the process restarts; its ledger knows of 7 machines and of emergency e1")
	require.Contains(t, holdoff, "18:35:11  0 of 4  now  7 at")
	require.Contains(t, holdoff, "18:45:11  3 of 4  now 10 at $4.48/hr")
	require.Contains(t, holdoff, "18:50:11  0 of 4  now 10 at $4.48/hr  denied by need: 10 needed, 0 running, 10 on their way")
}

// acting returns the lines of one act.
func acting(out, number string) string {
	_, rest, _ := strings.Cut(out, "\n"+number)
	if next := strings.Index(rest, "\n\n   "); next >= 0 {
		if end := strings.Index(rest[next+2:], "\n\n"); end >= 0 {
			return rest[:next+2+end]
		}
	}
	return rest
}

// client leaves no connection behind.
var client = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}

// served is a guard on SQLite behind real HTTP.
type served struct {
	t     *testing.T
	guard *fleet.Guard
	clock *virtual
	cloud *vendor
	url   string
}

func newServed(t *testing.T, change ...func(*fleet.Config)) *served {
	t.Helper()
	ledger, err := sqlledger.Open(t.Context(), filepath.Join(t.TempDir(), "fleet.db"))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, ledger.Close()) })
	s := &served{t: t, clock: &virtual{at("12:00:00")}}
	s.cloud = newVendor(s.clock.Now, time.Minute)
	s.guard, err = newGuard(ledger, s.clock, change...)
	require.NoError(t, err)
	server := httptest.NewServer(handler(s.guard, s.cloud.create))
	t.Cleanup(server.Close)
	s.url = server.URL
	return s
}

func (s *served) post(path, key, body string) (*http.Response, reply) {
	s.t.Helper()
	req, err := http.NewRequestWithContext(s.t.Context(), http.MethodPost, s.url+path, strings.NewReader(body))
	require.NoError(s.t, err)
	req.Header.Set("Idempotency-Key", key)
	resp, err := client.Do(req)
	require.NoError(s.t, err)
	defer func() { require.NoError(s.t, resp.Body.Close()) }()
	var got reply
	require.NoError(s.t, json.NewDecoder(resp.Body).Decode(&got))
	return resp, got
}

func TestHTTPStatusSaysWhetherWaitingHelps(t *testing.T) {
	const four = `{"count":4,"max_price":"0.45","reason":"queue is long","emergency":true}`
	t.Run("200, and 429 for what time cures", func(t *testing.T) {
		s := newServed(t)
		resp, got := s.post("/explain", "a", four)
		require.Equal(t, http.StatusOK, resp.StatusCode)
		require.Empty(t, s.cloud.machines)
		resp, got = s.post("/launch", "a", four)
		require.Equal(t, http.StatusOK, resp.StatusCode)
		require.Equal(t, fleet.Partial, got.Code)
		require.Len(t, s.cloud.machines, 3)
		require.True(t, got.Claimed, "on record")
		require.False(t, got.Established, "and no more")

		resp, got = s.post("/launch", "a", four)
		require.Equal(t, http.StatusOK, resp.StatusCode)
		require.Equal(t, fleet.Duplicate, got.Code)
		require.Len(t, s.cloud.machines, 3)

		s.clock.now = s.clock.now.Add(time.Second / 2)
		resp, got = s.post("/launch", "b", four)
		require.Equal(t, http.StatusTooManyRequests, resp.StatusCode)
		require.Equal(t, "900", resp.Header.Get("Retry-After"), "rounded up")
		require.Equal(t, fleet.RateWindow, got.Code)
		require.Contains(t, got.Explanation, "denied by rate_window")

		s.clock.now = s.clock.now.Add(900 * time.Second)
		resp, _ = s.post("/launch", "b", four)
		require.Equal(t, http.StatusOK, resp.StatusCode, "the same key, after the wait")
	})
	t.Run("409 for caps", func(t *testing.T) {
		s := newServed(t)
		resp, got := s.post("/launch", "a", `{"max_price":"11"}`)
		require.Equal(t, http.StatusConflict, resp.StatusCode)
		require.Equal(t, fleet.Budget, got.Code)
		require.Empty(t, resp.Header.Get("Retry-After"))
		require.NoError(t, s.guard.Signal(t.Context(), fleet.Demand{Target: 1}))
		s.post("/launch", "b", `{"max_price":"0.45"}`)
		resp, got = s.post("/launch", "c", `{"max_price":"0.45"}`)
		require.Equal(t, http.StatusConflict, resp.StatusCode)
		require.Equal(t, fleet.CoveredByInFlight, got.Code)
	})
	t.Run("503 for integrity", func(t *testing.T) {
		s := newServed(t)
		require.NoError(t, s.guard.Kill(t.Context(), "the bill"))
		resp, got := s.post("/launch", "a", four)
		require.Equal(t, http.StatusServiceUnavailable, resp.StatusCode)
		require.Equal(t, fleet.Killed, got.Code)
		require.Empty(t, resp.Header.Get("Retry-After"))
		broken := newServed(t, func(c *fleet.Config) { c.Ledger = brokenLedger{} })
		resp, got = broken.post("/launch", "a", four)
		require.Equal(t, http.StatusServiceUnavailable, resp.StatusCode)
		require.Equal(t, fleet.LedgerUnavailable, got.Code)
		require.Empty(t, broken.cloud.machines)
		require.Equal(t, http.StatusServiceUnavailable, broken.get("/status", nil))
	})
	t.Run("400 for nonsense", func(t *testing.T) {
		s := newServed(t)
		for _, body := range []string{``, `{"count":1}`, `{"max_price":"cheap"}`, `{"max_price":"1","sudo":true}`} {
			resp, got := s.post("/launch", "a", body)
			require.Equal(t, http.StatusBadRequest, resp.StatusCode, body)
			require.NotEmpty(t, got.Explanation)
		}
		resp, _ := s.post("/launch", "", `{"max_price":"0.45"}`)
		require.Equal(t, http.StatusBadRequest, resp.StatusCode, "no key")
	})
	t.Run("status and record", func(t *testing.T) {
		s := newServed(t)
		s.post("/launch", "a", four)
		var st fleet.Status
		require.Equal(t, http.StatusOK, s.get("/status", &st))
		require.Equal(t, 3, st.Instances)
		var ds []fleet.Decision
		require.Equal(t, http.StatusOK, s.get("/decisions", &ds))
		require.Equal(t, "a", ds[0].Key)
	})
}

func (s *served) get(path string, into any) int {
	s.t.Helper()
	req, err := http.NewRequestWithContext(s.t.Context(), http.MethodGet, s.url+path, nil)
	require.NoError(s.t, err)
	resp, err := client.Do(req)
	require.NoError(s.t, err)
	defer func() { require.NoError(s.t, resp.Body.Close()) }()
	if into != nil {
		require.NoError(s.t, json.NewDecoder(resp.Body).Decode(into))
	}
	return resp.StatusCode
}

type brokenLedger struct{}

func (brokenLedger) Update(context.Context, func(fleet.Tx) error) error {
	return errors.New("no space left on device")
}

// TestServe runs the whole program, and the kill switch from beside it.
func TestServe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "fleet.db")
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		done <- serve(ctx, t.Output(), options{db: path, boot: time.Hour, demand: fleet.Demand{Pending: 59, Target: 2}}, listener)
	}()
	s := &served{t: t, url: "http://" + listener.Addr().String()}
	require.Eventually(t, func() bool {
		var st fleet.Status
		return s.get("/status", &st) == http.StatusOK && st.Demand.Target == 2 // the loop has looked
	}, 10*time.Second, time.Millisecond)
	resp, got := s.post("/launch", "a", `{"count":3,"max_price":"0.45"}`)
	require.Equal(t, http.StatusOK, resp.StatusCode)
	require.Equal(t, 2, got.Granted)
	require.Equal(t, "need", got.StoppedBy)

	var out bytes.Buffer
	require.NoError(t, run(t.Context(), []string{"-db", path, "-kill", "the bill"}, &out))
	resp, _ = s.post("/launch", "b", `{"max_price":"0.45"}`)
	require.Equal(t, http.StatusServiceUnavailable, resp.StatusCode)
	require.NoError(t, run(t.Context(), []string{"-db", path, "-lift"}, &out))
	require.Equal(t, "nothing is launched any more: the bill\nlaunches are allowed again\n", out.String())
	resp, _ = s.post("/launch", "b", `{"max_price":"0.45"}`)
	require.Equal(t, http.StatusConflict, resp.StatusCode)
	cancel()
	require.NoError(t, <-done)
}

func TestArguments(t *testing.T) {
	var out bytes.Buffer
	for want, args := range map[string][]string{
		`unexpected argument "now"`:                                               {"now"},
		"-kill has no reason: give one, or -lift the switch":                      {"-kill", ""},
		"-listen, -kill and -lift contradict each other: give one":                {"-kill", "x", "-lift"},
		"the replay takes no flags: give -listen, -kill or -lift too":             {"-pending", "5"},
		"flag provided but not defined: -nothing":                                 {"-nothing"},
		`-listen is "8080": it must be a host and a port, such as 127.0.0.1:8089`: {"-listen", "8080"},
	} {
		require.EqualError(t, run(t.Context(), args, &out), want+"; see -h")
	}
	require.EqualError(t, run(t.Context(), []string{"-listen", ":0", "-lift"}, &out), "-listen, -kill and -lift contradict each other: give one; see -h")
	require.Empty(t, out.String())
	require.ErrorIs(t, run(t.Context(), []string{"-h"}, &out), flag.ErrHelp)
	require.Contains(t, out.String(), "Without flags it replays the evening on which a fleet died.")
	require.Error(t, run(t.Context(), []string{"-listen", "nowhere:-1"}, &out))
	require.Error(t, run(t.Context(), []string{"-kill", "x", "-db", filepath.Join(t.TempDir(), "no", "x.db")}, &out))
}
