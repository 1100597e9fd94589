package evidence

import (
	"strconv"
	"strings"

	"github.com/holdoff-go/holdoff/retry/internal/loosejson"
	"github.com/holdoff-go/holdoff/retry/internal/when"
)

// object notes an object if it is an error's: because it marks itself as one, or
// because it stands where one is expected.
func (e *Evidence) object(v loosejson.Value, depth int, isError bool) {
	if depth > maxDepth {
		return
	}
	var m members
	m.read(v)
	if e.marked(&m, depth) || isError && !m.healthy() {
		e.Envelope = true
		e.own(&m, depth)
		if isError && m == (members{}) {
			e.wrapped(v, depth+1)
		}
	}
}

// wrapped notes what stands under a name that is nobody else's, such as OpenStack's
// {"overLimit": {"message": …}}, in an object that has no member of an error's.
func (e *Evidence) wrapped(v loosejson.Value, depth int) {
	v.Members(func(_ string, inner loosejson.Value) {
		var m members
		m.read(inner)
		if m[kMessage].Kind() == loosejson.String {
			e.value(inner, depth, true)
		}
	})
}

// healthy reports whether an object says that it is no error, wherever it stands.
func (m *members) healthy() bool {
	return m[kIsError].IsFalse() || m[kOK].IsTrue() || m[kSuccess].IsTrue() || m[kRateLimitInfo].Kind() == loosejson.Object
}

// marked notes what only an error carries, and reports whether there was any.
func (e *Evidence) marked(m *members, depth int) bool {
	is := false
	switch err := m[kError]; err.Kind() {
	case loosejson.Object, loosejson.Array:
		is = true
		e.value(err, depth+1, true)
	case loosejson.String:
		if text := err.Text(); text != "" {
			is = true
			e.label(text, depth+1)
		}
	case loosejson.Bool:
		is = err.IsTrue()
	}
	e.errorsIn(m[kErrors], func(item loosejson.Value) {
		is = true
		e.value(item, depth+1, true)
	})
	m[kChoices].Elements(maxItems, func(choice loosejson.Value) { // OpenRouter's, beside what the model had said by then
		var c members
		c.read(choice)
		if err := c[kError]; err.Kind() == loosejson.Object {
			is = true
			e.value(err, depth+1, true)
		}
	})
	switch m[kType].Text() {
	case "error", "turn.failed", "response.failed":
		is = true
	}
	switch {
	case m[kOK].IsFalse(), m[kSuccess].IsFalse(), m[kObject].Text() == "error":
		is = true
	case m[kErrorCode].Text() != "" && m[kErrorCode].Text() != "0" && m[kErrorMessage].Text() != "":
		is = true // Baidu's, in answers of status 200
	case m[kErrorMessage].Text() != "" && isShouted(m[kStatus].Text()):
		is = true // Google Maps', too
	case m[kMessage].Text() == "NOTOK": // Etherscan's, and its kin's
		is = true
		e.say(m[kResult].Text(), depth+1)
	case m[kKind].Text() == "Status" && m[kStatus].Text() == "Failure":
		is = true
	case m[kIsError].IsTrue():
		is = true
		e.say(m[kResult].Text(), depth+1)
	}
	if m[kResponse].Kind() == loosejson.Object {
		e.object(m[kResponse], depth+1, false)
	}
	return e.miniMax(m[kBaseResp], depth) || e.planWindow(m[kRateLimitInfo]) || is
}

// errorsIn calls visit for each error of a list, which OpenAI's batches have in an
// object around it.
func (e *Evidence) errorsIn(v loosejson.Value, visit func(loosejson.Value)) {
	switch v.Kind() {
	case loosejson.Array:
		v.Elements(maxItems, visit)
	case loosejson.Object:
		var list members
		list.read(v)
		if list[kObject].Text() == "list" {
			list[kData].Elements(maxItems, visit)
		}
	}
}

// isShouted reports whether text is a name such as OVER_QUERY_LIMIT, and not OK.
func isShouted(text string) bool {
	return strings.IndexByte(text, '_') > 0 && text == strings.ToUpper(text)
}

// miniMax notes MiniMax's status, which stands in answers of status 200 too and
// is 0 for success.
func (e *Evidence) miniMax(v loosejson.Value, depth int) bool {
	var m members
	m.read(v)
	code, ok := m[kStatusCode].Int()
	if !ok || code == 0 {
		return false
	}
	e.Envelope = true
	e.Code("base_resp/" + strconv.Itoa(code))
	e.say(m[kStatusMessage].Text(), depth+1)
	return true
}

// planWindow notes Claude Code's rate_limit_event. Only "rejected" is a refusal:
// the event comes with healthy answers too.
func (e *Evidence) planWindow(v loosejson.Value) bool {
	var m members
	m.read(v)
	if m[kStatus].Text() != "rejected" {
		return false
	}
	e.Rejected = true
	e.at(m[kResetsAt], "resetsAt")
	if strings.Contains(m[kRateLimitType].Text(), "opus") || strings.Contains(m[kRateLimitType].Text(), "sonnet") {
		e.Scopes.Model = true
	}
	return true
}

// own notes an error's own members.
func (e *Evidence) own(m *members, depth int) {
	for _, k := range [...]key{kErrorCode, kCode, kErrorType, kType, kReason, kStatus, kLimitSource, kStatusCode, kID} {
		e.codeOrStatus(k, m[k], depth)
	}
	if n, ok := m[kCode].Int(); ok && m[kType].Text() == "OAuthException" { // Meta's type of every error
		e.Code("OAuthException/" + strconv.Itoa(n))
	}
	for _, k := range [...]key{kMessage, kErrorMessage, kErrorDescription, kStatusMessage, kTitle, kDetail, kDetails, kDescription, kDocumentation} {
		if v := m[k]; v.Kind() == loosejson.String {
			e.say(v.Text(), depth+1)
		}
	}
	for _, k := range [...]key{kMessage, kDetail, kDetails, kInnerError, kExtensions, kParameters, kBody, kData, kCauses, kCause} {
		if v := m[k]; v.Kind() == loosejson.Object || v.Kind() == loosejson.Array {
			e.value(v, depth+1, true)
		}
	}
	if v := m[kBody]; v.Kind() == loosejson.String {
		e.text(v.Text(), depth+1, true, true)
	}
	if v := m[kHeaders]; v.Kind() == loosejson.Object {
		e.nestedHeaders(v)
	}
	if v := m[kMetadata]; v.Kind() == loosejson.Object {
		e.metadata(v, depth+1)
	}
	e.waits(m)
	e.details(m)
}

// codeOrStatus notes a machine-readable value: an HTTP status if it is a number
// that can be one, else a code.
func (e *Evidence) codeOrStatus(k key, v loosejson.Value, depth int) {
	if v.Kind() != loosejson.String && v.Kind() != loosejson.Number {
		return
	}
	if n, ok := v.Int(); ok {
		switch {
		case k == kID:
		case n >= 400 && n < 600:
			e.inner(n)
		case n >= 1000:
			e.Code(v.Text())
		}
		return
	}
	text := v.Text()
	switch {
	case k == kType && text == "error", k == kID && strings.IndexByte(text, '_') < 0:
		return
	case strings.IndexByte(text, ' ') >= 0: // "Too Many Requests", "Some resource has been exhausted"
		e.say(text, depth+1)
	}
	e.Code(text)
}

// label notes an error that is a string: a code, a message, or a body again.
func (e *Evidence) label(text string, depth int) {
	if len(text) <= 64 && strings.IndexByte(text, '{') < 0 {
		e.Code(text)
		if strings.IndexByte(text, ' ') < 0 {
			e.note(&e.said, text)
			return
		}
	}
	e.say(text, depth)
}

// metadata notes what gateways and Google put beside an error.
func (e *Evidence) metadata(v loosejson.Value, depth int) {
	var m members
	m.read(v)
	e.codeOrStatus(kLimitSource, m[kLimitSource], depth)
	switch raw := m[kRaw]; raw.Kind() {
	case loosejson.String:
		e.say(raw.Text(), depth)
	case loosejson.Object, loosejson.Array:
		e.value(raw, depth, true)
	}
	if h := m[kHeaders]; h.Kind() == loosejson.Object {
		e.nestedHeaders(h)
	}
	e.waits(&m)
	v.Members(func(name string, value loosejson.Value) { e.detail(name, value.Text()) })
}

// nestedHeaders notes the headers of the answer behind a gateway.
func (e *Evidence) nestedHeaders(v loosejson.Value) {
	v.Members(func(name string, value loosejson.Value) {
		if value.Kind() == loosejson.Array {
			value.Elements(1, func(first loosejson.Value) { e.Header.set(name, first.Text()) })
			return
		}
		e.Header.set(name, value.Text())
	})
}

// waits notes the fields that state a wait.
func (e *Evidence) waits(m *members) {
	if n, ok := m[kRetryAfterMillis].Float(); ok {
		e.seconds(n/1000, "retry_after_ms")
	}
	for _, f := range [...]struct {
		key  key
		name string
	}{{kRetryAfter, "retry_after"}, {kResetsIn, "resets_in_seconds"}, {kEstimatedTime, "estimated_time"}, {kRetryDelay, "retryDelay"}, {kQuotaResetDelay, "quotaResetDelay"}} {
		v := m[f.key]
		if n, ok := v.Float(); ok {
			e.seconds(n, f.name)
		} else if d, ok := when.Reset(v.Text(), e.Now); ok && v.Kind() == loosejson.String {
			e.State(Body, d, f.name)
		}
	}
	e.at(m[kResetsAt], "resets_at")
}

// at notes a field that holds an instant.
func (e *Evidence) at(v loosejson.Value, name string) {
	if d, ok := when.Instant(v.Text(), e.Now); ok {
		e.State(Body, d, name)
	}
}
