package clienttest

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"
)

// An answer is what becomes of one request.
type answer int

const (
	accept     answer = iota
	refuse            // states nothing
	refuseFor         // states statedWait
	exhaust           // the quota is used up
	breakOff          // in the middle of the answer
	refuseLate        // in the middle of the answer, as an event of a stream
)

const statedWait = 150 * time.Millisecond

// A dialect is what the answers look like: a body each, and the status of the
// refusals. The parts of a stream are sent off one by one.
type dialect struct {
	whole              string
	stream             []string
	refused, exhausted string
	late               string // the event of a refusal
	stated             http.Header
	refusedFor         string // where the time is stated in the body; else refused
}

// An upstream is a provider on loopback that answers by a script and counts.
type upstream struct {
	*httptest.Server
	dialect dialect
	script  func(n int) answer // by the number of the request, from 0
	isSSE   func(*http.Request) bool

	mu  sync.Mutex
	got []arrival
}

type arrival struct {
	at     time.Time
	answer answer
}

func startUpstream(t *testing.T, d dialect, isSSE func(*http.Request) bool, script func(n int) answer) *upstream {
	u := &upstream{dialect: d, script: script, isSSE: isSSE}
	u.Server = httptest.NewServer(u)
	t.Cleanup(u.Close)
	return u
}

// first answers the first n requests by a, and accepts all others.
func first(n int, a answer) func(int) answer {
	return func(i int) answer {
		if i < n {
			return a
		}
		return accept
	}
}

// after accepts n requests, and answers as script does from there on.
func after(n int, script func(int) answer) func(int) answer {
	return func(i int) answer {
		if i < n {
			return accept
		}
		return script(i - n)
	}
}

func (u *upstream) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	sse := u.isSSE(r)
	_, _ = io.Copy(io.Discard, r.Body)
	u.mu.Lock()
	a := u.script(len(u.got))
	u.got = append(u.got, arrival{time.Now(), a})
	u.mu.Unlock()

	d := u.dialect
	switch {
	case a == refuse, a == refuseFor, a == exhaust:
		w.Header().Set("Content-Type", "application/json")
		body := d.refused
		switch {
		case a == exhaust:
			body = d.exhausted
		case a == refuseFor:
			for name, values := range d.stated {
				w.Header()[name] = values
			}
			if d.refusedFor != "" {
				body = d.refusedFor
			}
		}
		w.WriteHeader(http.StatusTooManyRequests)
		_, _ = io.WriteString(w, body)
	case sse:
		w.Header().Set("Content-Type", "text/event-stream")
		for i, part := range d.stream {
			if i == (len(d.stream)+1)/2 {
				switch a {
				case breakOff:
					panic(http.ErrAbortHandler)
				case refuseLate:
					_, _ = io.WriteString(w, d.late)
					return
				}
			}
			_, _ = io.WriteString(w, part)
			_ = http.NewResponseController(w).Flush()
		}
	default:
		w.Header().Set("Content-Type", "application/json")
		if a == breakOff {
			w.Header().Set("Content-Length", fmt.Sprint(len(d.whole)))
			_, _ = io.WriteString(w, d.whole[:len(d.whole)/2])
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}
		_, _ = io.WriteString(w, d.whole)
	}
}

// arrivals is what has come so far.
func (u *upstream) arrivals() []arrival {
	u.mu.Lock()
	defer u.mu.Unlock()
	return append([]arrival(nil), u.got...)
}

func (u *upstream) count(a answer) int {
	n := 0
	for _, got := range u.arrivals() {
		if got.answer == a {
			n++
		}
	}
	return n
}
