package command

import (
	"bytes"
	"encoding/json"
)

// JSON is a Runner.Record for agents that write JSON objects to their standard
// output, one a line or one in all. An error record is
//   - an object of type "error", "turn.failed" or "response.failed";
//   - a "result" whose is_error is true, whatever its subtype says;
//   - a "rate_limit_event" whose status is "rejected";
//   - an object without a type and with an error.
//
// Only the top level counts: what tools and models said is further down. Records
// before a result without an error, or a "turn.completed" or
// "response.completed", are void: the agent has got over them. It returns the
// rest, a line each.
func JSON(stdout []byte) []byte {
	var records []byte
	for o := (objects{rest: stdout}); ; {
		object := o.next()
		if object == nil {
			return records
		}
		switch kindOf(object) {
		case errorRecord:
			if len(records) > 0 {
				records = append(records, '\n')
			}
			records = append(records, object...)
		case resultRecord:
			records = nil
		}
	}
}

// maxMisreads bounds the objects of several lines that turn out to be none: text
// that looks like their beginning would else be read over and over.
const maxMisreads = 100

// objects reads the JSON objects that begin a line.
type objects struct {
	rest     []byte
	misreads int
}

// next returns the next object; nil is the end.
func (o *objects) next() []byte {
	for len(o.rest) > 0 {
		line, after, _ := bytes.Cut(o.rest, []byte("\n"))
		line = bytes.TrimSpace(line)
		switch {
		case len(line) == 0 || line[0] != '{':
		case json.Valid(line):
			o.rest = after
			return line
		case o.misreads < maxMisreads:
			d := json.NewDecoder(bytes.NewReader(o.rest))
			var object json.RawMessage
			if d.Decode(&object) == nil {
				o.rest = o.rest[d.InputOffset():]
				return object
			}
			o.misreads++
		}
		o.rest = after
	}
	return nil
}

type kind int

const (
	noRecord kind = iota
	errorRecord
	resultRecord
)

// kindOf says what a top-level object is. Fields are left undecoded, so that one
// of an unexpected type is no obstacle.
func kindOf(object []byte) kind {
	var o struct {
		Type    json.RawMessage `json:"type"`
		IsError json.RawMessage `json:"is_error"`
		Error   json.RawMessage `json:"error"`
		Limit   json.RawMessage `json:"rate_limit_info"`
	}
	if len(object) == 0 || json.Unmarshal(object, &o) != nil {
		return noRecord
	}
	switch text(o.Type) {
	case "error", "turn.failed", "response.failed":
		return errorRecord
	case "turn.completed", "response.completed":
		return resultRecord
	case "result":
		if string(o.IsError) == "true" {
			return errorRecord
		}
		return resultRecord
	case "rate_limit_event":
		var limit struct {
			Status json.RawMessage `json:"status"`
		}
		if json.Unmarshal(o.Limit, &limit) == nil && text(limit.Status) == "rejected" {
			return errorRecord
		}
		return noRecord
	}
	if o.Type == nil && tells(o.Error) {
		return errorRecord
	}
	return noRecord
}

func text(raw json.RawMessage) string {
	var s string
	_ = json.Unmarshal(raw, &s) // anything else is no text
	return s
}

// tells reports whether an error field is one that says something.
func tells(raw json.RawMessage) bool {
	switch string(raw) {
	case "", "null", "false", `""`, "{}", "[]":
		return false
	default:
		return true
	}
}
