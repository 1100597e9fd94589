package provider

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
)

// errClosed is what a call in memory gets from a closed provider.
var errClosed = errors.New("provider: closed")

// Transport calls the provider without a network. A reply arrives as a whole,
// streams too; one that is cut ends in io.ErrUnexpectedEOF, as on a network.
func (s *Server) Transport() http.RoundTripper { return transport{s} }

type transport struct{ s *Server }

func (t transport) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Body != nil {
		defer req.Body.Close()
	}
	if !t.s.enter() {
		return nil, errClosed
	}
	defer t.s.calls.Done()
	// The handler sees the request as a server does: with a body that is not nil.
	in := req.Clone(req.Context())
	if in.Body == nil {
		in.Body = http.NoBody
	}
	w := &recorder{header: make(http.Header)}
	cut := w.serve(t.s, in)
	if err := req.Context().Err(); err != nil {
		return nil, err
	}
	if w.status == 0 { // the handler gave up, which only Close makes it do
		return nil, errClosed
	}
	var body io.Reader = &w.body
	if cut {
		body = io.MultiReader(body, failing{io.ErrUnexpectedEOF})
	}
	return &http.Response{
		Status:     fmt.Sprintf("%d %s", w.status, http.StatusText(w.status)),
		StatusCode: w.status,
		Proto:      "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header:        w.header,
		Body:          io.NopCloser(body),
		ContentLength: -1,
		Request:       req,
	}, nil
}

// enter counts an in-memory call in, for Close to wait for.
func (s *Server) enter() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	s.calls.Add(1)
	return true
}

// A recorder keeps what a handler writes.
type recorder struct {
	header http.Header
	status int
	body   bytes.Buffer
}

// serve runs the handler and reports whether it cut the connection.
func (w *recorder) serve(h http.Handler, req *http.Request) (cut bool) {
	defer func() {
		if p := recover(); p != nil {
			if p != http.ErrAbortHandler {
				panic(p)
			}
			cut = true
		}
	}()
	h.ServeHTTP(w, req)
	return false
}

func (w *recorder) Header() http.Header { return w.header }

func (w *recorder) WriteHeader(status int) {
	if w.status == 0 {
		w.status = status
	}
}

func (w *recorder) Write(p []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	return w.body.Write(p)
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }
