package statuspage

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// policy allows the page's own style and script, by their hashes, and the script
// to fetch from where the page came from.
var policy = fmt.Sprintf("default-src 'none'; style-src '%s'; script-src '%s'; connect-src 'self'; img-src data:; "+
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'", hashOf(styleText), hashOf(scriptText))

func hashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}

// ServeHTTP answers GET and HEAD with the page, or with JSON where that is asked
// for. Everything is gathered and rendered before the first byte is written.
func (p *Page) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		h.Set("Allow", "GET, HEAD")
		http.Error(w, "only GET and HEAD", http.StatusMethodNotAllowed)
		return
	}
	s := p.snapshot()
	asJSON := wantsJSON(r)
	body, err := p.render(s, asJSON)
	if err != nil {
		http.Error(w, "the page could not be rendered", http.StatusInternalServerError)
		return
	}
	h.Set("Vary", "Accept")
	h.Set("ETag", tag(s, asJSON))
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Content-Security-Policy", policy)
	if matches(r.Header.Get("If-None-Match"), h.Get("ETag")) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	h.Set("Content-Type", "text/html; charset=utf-8")
	if asJSON {
		h.Set("Content-Type", "application/json")
	}
	h.Set("Content-Length", strconv.Itoa(len(body)))
	if r.Method == http.MethodGet {
		_, _ = w.Write(body) // a reader that has gone needs nothing
	}
}

func (p *Page) render(s snapshot, asJSON bool) ([]byte, error) {
	var b bytes.Buffer
	if !asJSON {
		err := page.Execute(&b, viewOf(p.title, s))
		return b.Bytes(), err
	}
	e := json.NewEncoder(&b)
	e.SetIndent("", "  ")
	err := e.Encode(s)
	return b.Bytes(), err
}

func wantsJSON(r *http.Request) bool {
	if f := r.URL.Query().Get("format"); f != "" {
		return f == "json"
	}
	accept := r.Header.Get("Accept")
	return strings.Contains(accept, "application/json") && !strings.Contains(accept, "text/html")
}

// tag names what is shown, whenever it is looked at: while nothing changes, a
// page that is open need not be sent again, but once a minute, so that its chart
// goes on.
func tag(s snapshot, asJSON bool) string {
	s.Time = s.Time.Truncate(time.Minute)
	limiters := s.Limiters
	s.Limiters = make([]limiterReport, len(limiters))
	for i, l := range limiters {
		n := len(l.History) - 1 // without the one that is now
		s.Limiters[i] = limiterReport{Status: l.Status, History: l.History[:n]}
	}
	h := sha256.New()
	// The types above always encode.
	_ = json.NewEncoder(h).Encode(s)
	return fmt.Sprintf(`W/"%x-%t"`, h.Sum(nil)[:12], asJSON)
}

func matches(header, tag string) bool {
	for candidate := range strings.SplitSeq(header, ",") {
		candidate = strings.TrimSpace(candidate)
		if candidate == "*" || strings.TrimPrefix(candidate, "W/") == strings.TrimPrefix(tag, "W/") {
			return true
		}
	}
	return false
}
