package provider

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/holdoff-go/holdoff/internal/clock"
)

// Config describes a provider. The zero value accepts every call at once.
type Config struct {
	// Latency is how long an accepted call takes to its first byte. Refusals
	// come at once; Answer.Delay overrides both. Negative is an error.
	Latency time.Duration
	// Script says what becomes of each call; nil accepts all.
	Script Script
	// Listen is the address that Start listens at, such as 127.0.0.1:8089; empty is a
	// free loopback port. New ignores it.
	Listen string
	// Clock measures latencies and the times a Script sees; nil is the real one.
	Clock clock.Clock
}

// A Server is one simulated provider. Its methods are safe for concurrent use.
type Server struct {
	clock   clock.Clock
	latency time.Duration
	began   time.Time
	tally   tally

	ctx    context.Context // ends with Close, so that no call outlives it
	cancel context.CancelFunc
	calls  sync.WaitGroup // in-memory calls and connections
	url    string
	http   *http.Server  // nil without a network
	served chan struct{} // closed when the accept loop has ended

	mu     sync.Mutex
	script Script
	closed bool
}

// New returns a provider without a network: call it through Transport, or mount
// it as the http.Handler it is.
func New(cfg Config) (*Server, error) {
	if cfg.Latency < 0 {
		return nil, fmt.Errorf("provider: Latency is %v; it must not be negative", cfg.Latency)
	}
	s := &Server{clock: clock.Or(cfg.Clock), latency: cfg.Latency, script: cfg.Script}
	s.began = s.clock.Now()
	s.ctx, s.cancel = context.WithCancel(context.Background())
	return s, nil
}

// Start returns a provider that listens on Config.Listen. Close it.
func Start(cfg Config) (*Server, error) {
	s, err := New(cfg)
	if err != nil {
		return nil, err
	}
	l, err := listen(cfg.Listen)
	if err != nil {
		return nil, fmt.Errorf("provider: %w", err)
	}
	s.url = "http://" + l.Addr().String() + "/v1"
	s.served = make(chan struct{})
	s.http = &http.Server{
		Handler:           s,
		ReadHeaderTimeout: 10 * time.Second,
		ConnState:         s.connection,
		BaseContext:       func(net.Listener) context.Context { return s.ctx },
	}
	go func() {
		defer close(s.served)
		_ = s.http.Serve(l) // always ErrServerClosed, by Close
	}()
	return s, nil
}

// listen prefers IPv4 where it may choose, as not every host has ::1 and some have
// nothing else.
func listen(address string) (net.Listener, error) {
	if address != "" {
		return net.Listen("tcp", address)
	}
	l, err4 := net.Listen("tcp4", "127.0.0.1:0")
	if err4 == nil {
		return l, nil
	}
	l, err6 := net.Listen("tcp6", "[::1]:0")
	if err6 == nil {
		return l, nil
	}
	return nil, errors.Join(err4, err6)
}

// connection counts connections, so that Close can wait for their goroutines.
func (s *Server) connection(_ net.Conn, state http.ConnState) {
	switch state {
	case http.StateNew: // in the accept loop, so never after it has ended
		s.calls.Add(1)
	case http.StateClosed, http.StateHijacked:
		s.calls.Done()
	}
}

// URL is the base an OpenAI client takes, such as "http://127.0.0.1:8089/v1", or empty
// without a network.
func (s *Server) URL() string { return s.url }

// Play replaces the script for the calls to come: a storm switched by hand. nil
// accepts all.
func (s *Server) Play(script Script) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.script = script
}

func (s *Server) playing() Script {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.script
}

// Counts is what the provider has seen so far.
func (s *Server) Counts() Counts { return s.tally.snapshot() }

// Close ends the provider and every call in flight, and returns when none of its
// goroutines is left. Later calls of Close do nothing.
func (s *Server) Close() {
	s.mu.Lock()
	s.closed = true // no in-memory call is added from here on
	s.mu.Unlock()
	s.cancel()
	if s.http != nil {
		_ = s.http.Close() // nothing to do about a socket that will not close
		<-s.served
	}
	s.calls.Wait()
}
