package fleet

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"
)

// A Tool is what a model gets of a [Guard]: one function that asks for launches.
// It reaches nothing else; signals, overrides and the kill switch stay with the
// host. No argument matters to safety: one that a model forgets or makes up
// changes no cap and establishes no emergency.
//
// It is safe for concurrent use. Make one with [NewTool].
type Tool struct {
	guard *Guard
	start Start
}

// NewTool returns a tool that launches with start.
func NewTool(g *Guard, start Start) *Tool { return &Tool{guard: g, start: start} }

// Name is the function's name.
func (t *Tool) Name() string { return "launch_instances" }

// Description tells a model what the function does.
func (t *Tool) Description() string {
	return "Launch instances. Ask once for as many as you need: the largest number that budget, instance cap, " +
		"need and launch rate allow is started, and the result says what stopped the rest and when to ask again. " +
		"Do not repeat a denied call before retry_at."
}

// toolSchema is strict: every property is listed and nothing else is allowed.
const toolSchema = `{
  "type": "object",
  "properties": {
    "count": {"type": "integer", "minimum": 1, "description": "How many instances, in one call."},
    "max_price": {"type": "string", "description": "The most that one instance may cost an hour, in dollars, such as \"0.45\"."},
    "offer": {"type": "string", "description": "Which offer to launch; empty for the default one."},
    "reason": {"type": "string", "description": "Why, in one sentence, for the record."},
    "emergency": {"type": "boolean", "description": "Your own view, for the record alone. Emergencies are established from measured signals."}
  },
  "required": ["count", "max_price", "reason"],
  "additionalProperties": false
}`

// Schema returns the JSON schema of the arguments.
func (t *Tool) Schema() json.RawMessage { return json.RawMessage(toolSchema) }

// ToolResult is the answer to a model.
type ToolResult struct {
	Code Code `json:"code"`
	// Explanation is the decision in one sentence, with what became of it.
	Explanation string         `json:"explanation"`
	Asked       int            `json:"asked"`
	Granted     int            `json:"granted"`
	Instances   []ToolInstance `json:"instances,omitempty"`
	// RetryAt is when to ask again; absent when that would not help.
	RetryAt time.Time `json:"retry_at,omitzero"`
	// Headroom is what is left; absent when nothing was decided.
	Headroom *Headroom `json:"headroom,omitempty"`
	// Decision is all of it, for the host.
	Decision Decision `json:"-"`
}

// ToolInstance is one granted launch.
type ToolInstance struct {
	Reservation ReservationID `json:"reservation"`
	Instance    string        `json:"instance,omitempty"`
	State       State         `json:"state"`
	Price       Money         `json:"price"`
}

// JSON returns the result as the text that goes back to the model.
func (r ToolResult) JSON() json.RawMessage {
	data, err := json.Marshal(r)
	if err != nil { // of plain values; kept from the model rather than lost
		return json.RawMessage(`{"code":"invalid","explanation":"the result cannot be written"}`)
	}
	return data
}

// Call asks for what the arguments say. callID is the call's own, as the model's
// API gave it: a repeated one is answered with the first decision, be it a denial,
// and launches nothing. A call that got no decision, since its arguments or the
// ledger were at fault, may be repeated; and a denial is forgotten with its decision
// (see [Guard.Decisions]). Whatever goes wrong is in the result.
func (t *Tool) Call(ctx context.Context, callID string, arguments json.RawMessage) ToolResult {
	if t.guard == nil || t.start == nil {
		return invalidCall(errors.New("the tool was made without a guard or a start function"))
	}
	if callID == "" {
		return invalidCall(errors.New("the call has no id: a repeat could not be told from a new call"))
	}
	a, err := parseArguments(arguments)
	if err != nil {
		return invalidCall(err)
	}
	r := Request{
		Key: "tool/" + callID, Count: a.Count, MaxPrice: a.MaxPrice,
		Offer: a.Offer, Reason: a.Reason, Claimed: a.Emergency,
	}
	d, err := t.guard.launch(ctx, r, t.start, true)
	return toolResult(d, err)
}

type toolArguments struct {
	Count     int    `json:"count"`
	MaxPrice  Money  `json:"max_price"`
	Offer     string `json:"offer"`
	Reason    string `json:"reason"`
	Emergency bool   `json:"emergency"`
}

const (
	maxArguments = 16 << 10
	maxReason    = 1000 // of what a model says, for the record
)

// parseArguments reads what a model wrote, and is strict: a misspelt name would
// otherwise be a wish that is lost.
func parseArguments(data json.RawMessage) (toolArguments, error) {
	var a toolArguments
	if len(data) > maxArguments {
		return a, fmt.Errorf("the arguments have %d bytes, more than %d", len(data), maxArguments)
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&a); err != nil {
		return a, fmt.Errorf("the arguments cannot be read: %w", err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return a, errors.New("the arguments are more than one JSON object")
	}
	switch {
	case a.Count < 1:
		return a, fmt.Errorf("count is %d, not at least 1", a.Count)
	case a.MaxPrice <= 0:
		return a, fmt.Errorf("max_price is %s: say what one instance may cost an hour, such as \"0.45\"", a.MaxPrice)
	case len(a.Reason) > maxReason:
		return a, fmt.Errorf("reason has %d bytes, more than %d", len(a.Reason), maxReason)
	}
	return a, nil
}

func invalidCall(err error) ToolResult {
	d := Decision{Code: Invalid, Stopped: Invalid, StoppedBy: constraintRequest}
	return ToolResult{Code: Invalid, Explanation: err.Error(), Decision: d}
}

func toolResult(d Decision, err error) ToolResult {
	r := ToolResult{
		Code: d.Code, Explanation: d.String(), Asked: d.Asked, Granted: d.Granted, RetryAt: d.RetryAt, Decision: d,
	}
	if d.Code != "" && len(d.Findings) > 1 {
		r.Headroom = &d.Headroom
	}
	for _, res := range d.Reservations {
		r.Instances = append(r.Instances, ToolInstance{res.ID, res.Instance, res.State, res.Price})
	}
	if err != nil {
		r.Explanation += "; " + err.Error()
	}
	return r
}
