package main

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdoff-go/holdoff/examples/internal/cli"
	"github.com/holdoff-go/holdoff/retry"
)

func someRoster() roster {
	return roster{
		limiter: "paused until 1:15 (rate_limited)", load: "budget 2, 1 in flight, 1 waiting",
		rows: []row{
			{id: "w1", state: running, made: 3, turns: 6, note: "attempt 2"},
			{id: "w2", state: backsOff, until: 24 * time.Second, made: 2, turns: 6, note: "429"},
			{id: "w3", state: finished, made: 6, turns: 6},
			{id: "w4", state: coming, turns: 6},
		},
	}
}

func TestScreen_showsWhoRunsWhoBacksOffAndWhy(t *testing.T) {
	var out bytes.Buffer
	s := &screen{w: &out}
	s.show(16*time.Second, someRoster())
	plain := strings.NewReplacer("\x1b[K", "", "\x1b[J", "").Replace(out.String())
	var lines []string
	for line := range strings.Lines(plain) {
		lines = append(lines, strings.TrimRight(line, " \n"))
	}
	require.Equal(t, []string{
		"   0:16  1 running, 1 backing off, 1 finished, 1 to come",
		"         limiter paused until 1:15 (rate_limited)",
		"         budget 2, 1 in flight, 1 waiting",
		"     w1  ●●●○○○  running                 attempt 2",
		"     w2  ●●○○○○  backing off until 0:24  429",
		"     w3  ●●●●●●  finished",
		"     w4  ○○○○○○  to come",
	}, lines)
}

func TestScreen_redrawsInPlaceAndNeverWraps(t *testing.T) {
	var out bytes.Buffer
	s := &screen{w: &out, color: true}
	r := someRoster()
	r.rows[1].note = strings.Repeat("x", 200)
	s.show(time.Second, r)
	require.NotContains(t, out.String(), "\x1b[7A")
	for _, line := range s.render(time.Second, r) {
		line = strings.TrimSuffix(line, "\x1b[0m")
		require.LessOrEqual(t, len([]rune(line)), cli.Width+len("\x1b[33m"))
	}
	out.Reset()
	s.show(2*time.Second, r)
	require.True(t, strings.HasPrefix(out.String(), "\x1b[7A"), "up by the seven lines drawn before")
	require.Contains(t, out.String(), "\x1b[33m", "who backs off is yellow")

	s.end()
	out.Reset()
	s.show(0, r)
	require.NotContains(t, out.String(), "\x1b[7A", "the next tower is drawn below")
}

func TestScreen_largeFleetsAreSummedUp(t *testing.T) {
	var r roster
	for i := range 50 {
		st := running
		if i >= 40 {
			st = coming
		}
		r.rows = append(r.rows, row{id: fmt.Sprint("w", i), state: st, turns: 20})
	}
	lines := (&screen{}).render(0, r)
	require.Len(t, lines, 1+maxRows+1)
	require.Contains(t, lines[0], "40 running, 10 to come")
	require.Contains(t, lines[1], "turn 0/20")
	require.Equal(t, "  and 34 more: 24 running, 10 to come", lines[len(lines)-1])
}

func TestJournal_aLineForEachChange(t *testing.T) {
	var out bytes.Buffer
	j := newDisplay(&out, 4)
	r := someRoster()
	j.show(16*time.Second, r)
	j.show(17*time.Second, r) // nothing has changed
	r.limiter = "open"
	r.rows[0].made = 4 // a turn is no change of state
	r.rows[1] = row{id: "w2", state: running, made: 2, turns: 6}
	j.show(24*time.Second, r)
	require.Equal(t, strings.Join([]string{
		"   0:16  limiter  paused until 1:15 (rate_limited); budget 2, 1 in flight, 1 waiting",
		"   0:16  w1       3/6  running (attempt 2)",
		"   0:16  w2       2/6  backing off until 0:24 (429)",
		"   0:16  w3       6/6  finished",
		"   0:24  limiter  open; budget 2, 1 in flight, 1 waiting",
		"   0:24  w2       2/6  running",
		"",
	}, "\n"), out.String())
}

func TestReason(t *testing.T) {
	refused := func(status int, body, wait string) error {
		h := make(http.Header)
		if wait != "" {
			h.Set("Retry-After", wait)
		}
		return fmt.Errorf("turn 3: %w", &retry.ResponseError{StatusCode: status, Header: h, Body: []byte(body)})
	}
	tests := map[string]error{
		"429":                    refused(429, `{"error":{"code":"rate_limit_exceeded"}}`, ""),
		"429, Retry-After 15":    refused(429, ``, "15"),
		"429 insufficient_quota": refused(429, `{"error":{"code":null,"type":"insufficient_quota"}}`, ""),
		"503 overloaded":         refused(503, `{"error":{"code":"overloaded"}}`, ""),
		"dial tcp: no such luck": errors.New("dial tcp: no such luck\nat all"),
		"529":                    refused(529, `<html>`, ""),
		"connection refused": fmt.Errorf("turn 3: %w", &url.Error{Op: "Post", URL: "http://127.0.0.1:1/v1", Err: &net.OpError{
			Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", errors.New("connection refused")),
		}}),
		"lookup nowhere: no such host": &url.Error{Op: "Post", URL: "http://nowhere/v1", Err: &net.OpError{
			Op: "dial", Net: "tcp", Err: &net.DNSError{Err: "no such host", Name: "nowhere"},
		}},
		"timeout":                 &url.Error{Op: "Post", URL: "http://nowhere/v1", Err: errors.New("timeout")},
		"500, Retry-After Monday": refused(500, `{"error":"oops"}`, "Monday"),
	}
	for want, err := range tests {
		require.Equal(t, want, reason(err))
	}
}

func TestMinutes(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0:00", 59 * time.Second: "0:59", 65 * time.Second: "1:05", 59500 * time.Millisecond: "1:00",
		time.Hour: "60:00", -time.Second: "0:00",
	} {
		require.Equal(t, want, minutes(d))
	}
}
