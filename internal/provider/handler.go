package provider

import (
	"net/http"
	"time"
)

// ServeHTTP answers POST /v1/chat/completions by the script, and everything else
// with the error OpenAI gives it.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if problem, ok := s.misdirected(r); ok {
		s.tally.invalid()
		writeError(w, problem)
		return
	}
	req, err := readRequest(r)
	if err != nil {
		s.tally.invalid()
		writeError(w, Answer{Status: http.StatusBadRequest, Type: "invalid_request_error", Message: err.Error()})
		return
	}

	now := s.clock.Now()
	c := Call{Up: now.Sub(s.began), Worker: req.User, Key: bearer(r), Model: req.Model, Stream: req.Stream}
	s.tally.arrive(&c, now)
	end := canceled // unless an answer was written
	defer func() { s.tally.end(c, end) }()

	var a Answer
	if script := s.playing(); script != nil {
		a = script(c)
	}
	if !s.sleep(r, s.delay(a)) {
		panic(http.ErrAbortHandler) // returning would send an empty 200
	}
	switch {
	case a.refuses():
		end = refused
		s.refuse(w, req, c, a)
	case a.Broken:
		end = broken
		s.reply(w, req, c, a)
	default:
		end = accepted
		s.reply(w, req, c, a)
	}
}

func (s *Server) misdirected(r *http.Request) (Answer, bool) {
	a := Answer{Type: "invalid_request_error"}
	switch {
	case r.URL.Path != "/v1/chat/completions":
		a.Status, a.Code = http.StatusNotFound, "unknown_url"
		a.Message = "Unknown request URL: " + r.Method + " " + r.URL.Path + "."
	case r.Method != http.MethodPost:
		a.Status, a.Code = http.StatusMethodNotAllowed, "method_not_supported"
		a.Message = "Not allowed to " + r.Method + " on /v1/chat/completions."
	default:
		return Answer{}, false
	}
	return a, true
}

func (s *Server) delay(a Answer) time.Duration {
	if a.Delay != 0 || a.refuses() {
		return a.Delay
	}
	return s.latency
}

// sleep waits on the provider's clock; false when the call was given up.
func (s *Server) sleep(r *http.Request, d time.Duration) bool {
	if d <= 0 {
		return r.Context().Err() == nil
	}
	select {
	case <-s.clock.After(d):
		return true
	case <-r.Context().Done():
	case <-s.ctx.Done():
	}
	return false
}
