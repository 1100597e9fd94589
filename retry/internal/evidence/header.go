package evidence

import (
	"bytes"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/holdoff-go/holdoff/retry/internal/when"
)

// A Header is what the headers of an answer say of limits. Names are read in
// any case; of a name with several values the first counts.
type Header struct {
	retryAfter string
	date       string
	millis     [3]string // retry-after-ms, x-ms-retry-after-ms, x-amz-retry-after
	after      string    // x-ratelimit-reset-after, x-ratelimit-retry-after, and others of one sender
	draft      string    // RateLimit, of the IETF's drafts
	errorType  string    // x-amzn-errortype

	unified plan
	codex   [2]window // primary and secondary
	buckets []bucket
}

// A bucket is one limit with its own allowance, such as requests or tokens.
type bucket struct {
	name             string // the header's, without "reset" or "remaining"
	reset, remaining string
}

// A plan is Anthropic's report on a subscription.
type plan struct {
	status, reset, claim string
	overage              window
	windows              []window // 5h, 7d, …
}

type window struct {
	name, status, reset string
	after               string // seconds, of Codex
	used                string // percent, of Codex
}

// HasRetryAfter reports whether the provider said in a header when to come back.
func (h *Header) HasRetryAfter() bool { return h.retryAfter != "" }

// ErrorType returns AWS's name of the error.
func (h *Header) ErrorType() string {
	name, _, _ := strings.Cut(h.errorType, ":")
	return name
}

// PlanRejected reports whether a subscription's window is used up.
func (h *Header) PlanRejected() bool { return h.unified.status == "rejected" }

// IsPlan reports whether the answer speaks of a subscription at all.
func (h *Header) IsPlan() bool { return h.unified.status != "" || h.codex[0].used != "" }

// PlanAllowed reports whether a subscription's windows have room left.
func (h *Header) PlanAllowed() bool { return strings.HasPrefix(h.unified.status, "allowed") }

func (h *Header) read(header map[string][]string) {
	if len(header) > 2*maxBuckets { // more than can be kept: always keep the same ones
		for _, name := range slices.Sorted(maps.Keys(header)) {
			h.setAll(name, header[name])
		}
		return
	}
	for name, values := range header {
		h.setAll(name, values)
	}
}

func (h *Header) setAll(name string, values []string) {
	switch {
	case len(values) == 0:
	case len(values) > 1 && strings.EqualFold(name, "ratelimit"):
		h.set(name, strings.Join(values[:min(len(values), maxBuckets)], ", "))
	default:
		h.set(name, values[0])
	}
}

// put keeps value. Of a name that comes in two spellings, in the random order of
// a map, always the same one counts.
func put(to *string, value string) {
	if value > *to {
		*to = value
	}
}

func (h *Header) set(name, value string) {
	var plain [64]byte
	if len(name) > len(plain) {
		return
	}
	for i := range len(name) {
		c := name[i]
		if c >= 'A' && c <= 'Z' {
			c += 'a' - 'A'
		}
		plain[i] = c
	}
	lower := plain[:len(name)]
	switch string(lower) {
	case "retry-after":
		put(&h.retryAfter, value)
	case "date":
		put(&h.date, value)
	case "retry-after-ms":
		put(&h.millis[0], value)
	case "x-ms-retry-after-ms":
		put(&h.millis[1], value)
	case "x-amz-retry-after":
		put(&h.millis[2], value)
	case "x-ratelimit-reset-after", "x-ratelimit-retry-after", "x-retry-after", "x-retry-in":
		put(&h.after, value)
	case "ratelimit":
		put(&h.draft, value)
	case "x-amzn-errortype", "x-amzn-error-type":
		put(&h.errorType, value)
	default:
		switch {
		case bytes.Contains(lower, []byte("ratelimit")), bytes.Contains(lower, []byte("rate-limit")):
			// Of limit, remaining and reset the first tells nothing.
			if bytes.Contains(lower, []byte("-rem")) || bytes.Contains(lower, []byte("-res")) || bytes.Contains(lower, []byte("unified")) {
				h.setLimit(string(lower), value)
			}
		case bytes.HasPrefix(lower, []byte("x-codex-")):
			h.setCodex(string(lower[len("x-codex-"):]), value)
		}
	}
}

func (h *Header) setLimit(name, value string) {
	if rest, ok := strings.CutPrefix(name, "anthropic-ratelimit-unified-"); ok {
		h.unified.set(rest, value)
		return
	}
	if base, ok := cutWord(name, "remaining"); ok {
		put(&h.bucket(base).remaining, strings.TrimSpace(value))
	} else if base, ok := cutWord(name, "reset"); ok {
		put(&h.bucket(base).reset, value)
	}
}

// cutWord cuts a word between dashes out of name.
func cutWord(name, word string) (string, bool) {
	at := strings.Index(name, "-"+word)
	if at < 0 {
		return "", false
	}
	after := name[at+1+len(word):]
	if after != "" && after[0] != '-' {
		return "", false
	}
	return name[:at] + after, true
}

// maxBuckets bounds what is kept of a header with endless limits.
const maxBuckets = 16

func (h *Header) bucket(name string) *bucket {
	for i := range h.buckets {
		if h.buckets[i].name == name {
			return &h.buckets[i]
		}
	}
	if len(h.buckets) == maxBuckets {
		return &bucket{}
	}
	h.buckets = append(h.buckets, bucket{name: name})
	return &h.buckets[len(h.buckets)-1]
}

func (p *plan) set(name, value string) {
	switch name {
	case "status":
		put(&p.status, value)
	case "reset":
		put(&p.reset, value)
	case "representative-claim":
		put(&p.claim, value)
	case "overage-status":
		put(&p.overage.status, value)
	case "overage-reset":
		put(&p.overage.reset, value)
	default:
		if w, ok := strings.CutSuffix(name, "-status"); ok {
			put(&p.window(w).status, value)
		} else if w, ok := strings.CutSuffix(name, "-reset"); ok {
			put(&p.window(w).reset, value)
		}
	}
}

func (p *plan) window(name string) *window {
	for i := range p.windows {
		if p.windows[i].name == name {
			return &p.windows[i]
		}
	}
	if len(p.windows) == maxBuckets {
		return &window{}
	}
	p.windows = append(p.windows, window{name: name})
	return &p.windows[len(p.windows)-1]
}

func (h *Header) setCodex(name, value string) {
	w := &h.codex[0]
	rest, ok := strings.CutPrefix(name, "primary-")
	if !ok {
		if rest, ok = strings.CutPrefix(name, "secondary-"); !ok {
			return
		}
		w = &h.codex[1]
	}
	switch rest {
	case "used-percent":
		put(&w.used, value)
	case "reset-after-seconds":
		put(&w.after, value)
	case "reset-at":
		put(&w.reset, value)
	}
}

// ReadHeader turns the headers into waits. It is called once, when all headers
// have been seen. wantBuckets says that the answer was a refusal, so that even a
// reset beside no allowance tells when to come back.
func (e *Evidence) ReadHeader(refused bool) {
	h := &e.Header
	for i, name := range [...]string{"retry-after-ms", "x-ms-retry-after-ms", "x-amz-retry-after"} {
		if d, ok := when.Milliseconds(h.millis[i]); ok && !e.Waits[Millis].Found {
			e.State(Millis, d, name)
		}
	}
	if d, ok := when.RetryAfter(h.retryAfter, e.Now, when.Date(h.date)); ok {
		e.State(RetryAfter, d, "Retry-After")
	} else if d, ok := when.RetryAfter(h.after, e.Now, time.Time{}); ok {
		e.State(RetryAfter, d, "x-ratelimit-reset-after")
	}
	slices.SortFunc(h.buckets, func(a, b bucket) int { return strings.Compare(a.name, b.name) })
	for _, b := range h.buckets {
		if isZero(b.remaining) || refused && b.remaining == "" {
			if d, ok := when.Reset(b.reset, e.Now); ok {
				e.State(Buckets, d, b.name+" is empty")
			}
		}
	}
	e.readDraft(h.draft)
}

// Empty reports whether one of the answer's buckets is empty.
func (h *Header) Empty() bool {
	for _, b := range h.buckets {
		if isZero(b.remaining) {
			return true
		}
	}
	return false
}

func isZero(value string) bool {
	n, err := strconv.ParseFloat(value, 64)
	return err == nil && n == 0
}

// readDraft reads the RateLimit header: limit=100, remaining=0, reset=50 of
// draft 7, and "name";r=0;t=30 of draft 10, several of them in one header.
func (e *Evidence) readDraft(value string) {
	if value == "" {
		return
	}
	if strings.Contains(value, "remaining=") {
		value = strings.ReplaceAll(value, ",", ";") // one item, with commas between its parts
	}
	for item := range strings.SplitSeq(value, ",") {
		remaining, reset := "", ""
		for part := range strings.SplitSeq(item, ";") {
			name, v, _ := strings.Cut(strings.TrimSpace(part), "=")
			switch name {
			case "r", "remaining":
				remaining = v
			case "t", "reset":
				reset = v
			}
		}
		if isZero(remaining) {
			if d, ok := when.Reset(reset, e.Now); ok {
				e.State(Buckets, d, "RateLimit: "+strings.TrimSpace(item))
			}
		}
	}
}

// PlanWait returns when the used-up window of a plan is renewed: of Anthropic's
// windows those that rejected the call, of Codex's those at 100 %.
func (e *Evidence) PlanWait() Wait {
	var w Wait
	longest := func(d time.Duration, from string, ok bool) {
		if ok && (!w.Found || d > w.For) {
			w = Wait{d, from, true}
		}
	}
	p := &e.Header.unified
	slices.SortFunc(p.windows, func(a, b window) int { return strings.Compare(a.name, b.name) })
	for _, win := range p.windows {
		if win.status == "rejected" {
			d, ok := when.Instant(win.reset, e.Now)
			longest(d, "unified-"+win.name+"-reset", ok)
		}
	}
	if !w.Found && p.status == "rejected" {
		d, ok := when.Instant(p.reset, e.Now)
		longest(d, "unified-reset", ok)
	}
	if !w.Found && p.overage.status == "rejected" {
		d, ok := when.Instant(p.overage.reset, e.Now)
		longest(d, "unified-overage-reset", ok)
	}
	for _, win := range e.Header.codex {
		if used, err := strconv.ParseFloat(win.used, 64); err != nil || used < 100 {
			continue
		}
		d, ok := when.Reset(win.after, e.Now)
		if !ok {
			d, ok = when.Instant(win.reset, e.Now)
		}
		longest(d, "the plan's window", ok)
	}
	return w
}
