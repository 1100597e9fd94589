package evidence

import (
	"strconv"
	"strings"

	"github.com/holdoff-go/holdoff/retry/internal/loosejson"
)

// logged returns text with the words of those records of structured logs, one JSON
// object a line, that report an error, in place of the records. Their messages are
// free text: loggers wrap everything, not only what a provider answered.
func (e *Evidence) logged(text string) string {
	if !strings.Contains(text, `evel"`) && !strings.Contains(text, `everity"`) && !strings.Contains(text, `"lvl"`) && !strings.Contains(text, `"@l"`) {
		return text
	}
	var kept strings.Builder
	for line := range strings.Lines(text) {
		start := max(0, strings.IndexByte(line, '{')) // behind what the collector of logs puts first
		if v, ok := loosejson.Parse(line[start:]); ok {
			if words, is := e.record(v); is {
				line = line[:start] + words + "\n"
			}
		}
		kept.WriteString(line)
	}
	return kept.String()
}

// record returns the words of a record of a log that reports an error, and notes
// the error in it, if that is an object. What is marked as an error by more than
// its level is left to object.
func (e *Evidence) record(v loosejson.Value) (words string, is bool) {
	var message, cause, status string
	var failure loosejson.Value
	v.Members(func(name string, value loosejson.Value) {
		switch strings.TrimLeft(lowerASCII(name), "@") {
		case "level", "severity", "lvl", "l", "loglevel", "log_level", "levelname":
			is = is || isFailure(value)
		case "log": // Elastic's
			value.Members(func(name string, level loosejson.Value) { is = is || name == "level" && isFailure(level) })
		case "msg", "message", "m", "mt", "event", "textpayload":
			message = value.Text()
		case "err", "error", "exception", "cause", "x":
			if value.Kind() == loosejson.Object {
				failure = value
			} else {
				cause = value.Text()
			}
		case "status", "status_code", "statuscode", "http_status":
			if n, ok := value.Int(); ok && n >= 400 && n < 600 {
				status = " (status " + strconv.Itoa(n) + ")"
			}
		}
	})
	var m members
	m.read(v)
	if !is || m[kError].Kind() == loosejson.Object || m[kType].Text() == "error" {
		return "", false
	}
	if failure.Kind() == loosejson.Object {
		e.value(failure, 1, true)
		var inner members
		inner.read(failure)
		cause = inner[kMessage].Text()
	}
	e.waits(&m)
	if cause != "" {
		message += ": " + cause
	}
	return message + status, true
}

// isFailure reports whether a level is an error's or a worse one's: a name, or the
// number that bunyan and pino give it.
func isFailure(level loosejson.Value) bool {
	if n, ok := level.Int(); ok {
		return n >= 50
	}
	switch lowerASCII(level.Text()) {
	case "error", "err", "fatal", "critical", "crit", "panic", "dpanic", "alert", "emergency", "severe":
		return true
	}
	return false
}
