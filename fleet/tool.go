package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
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
	Count     int
	MaxPrice  Money
	Offer     string
	Reason    string
	Emergency bool
}

const (
	maxArguments = 16 << 10
	maxReason    = 1000 // of what a model says, for the record
)

// parseArguments reads what a model wrote, and is strict: a misspelt name would
// otherwise be a wish that is lost. Its errors are read by the model, so they speak
// of the arguments and not of Go's types.
func parseArguments(data json.RawMessage) (toolArguments, error) {
	var a toolArguments
	if len(data) > maxArguments {
		return a, fmt.Errorf("the arguments have %d bytes, more than %d", len(data), maxArguments)
	}
	if err := a.read(data); err != nil {
		return a, err
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

// read fills a from one JSON object.
func (a *toolArguments) read(data []byte) error {
	var given map[string]json.RawMessage
	err := json.Unmarshal(data, &given)
	switch wrongType := (*json.UnmarshalTypeError)(nil); {
	case errors.As(err, &wrongType), err == nil && given == nil: // a list; null
		return errors.New("the arguments must be one JSON object")
	case err != nil:
		return fmt.Errorf("the arguments must be one JSON object: %w", err)
	}
	var names []string
	for _, argument := range []struct {
		name string
		into any
		must string
	}{
		{"count", &a.Count, "a whole number such as 2"},
		{"max_price", &a.MaxPrice, fmt.Sprintf("an amount of dollars with at most %d decimals, such as \"0.45\"", decimals)},
		{"offer", &a.Offer, "a string"},
		{"reason", &a.Reason, "a string"},
		{"emergency", &a.Emergency, "true or false"},
	} {
		names = append(names, argument.name)
		value, ok := given[argument.name]
		if !ok {
			continue
		}
		delete(given, argument.name)
		if json.Unmarshal(value, argument.into) != nil {
			return fmt.Errorf("%s must be %s, not %s", argument.name, argument.must, clip(oneLine(value)))
		}
	}
	if unknown := slices.Sorted(maps.Keys(given)); len(unknown) > 0 {
		return fmt.Errorf("unknown argument %q: the arguments are %s", clip(unknown[0]), strings.Join(names, ", "))
	}
	return nil
}

// oneLine is a JSON value without the line breaks of its writer.
func oneLine(value []byte) string { return strings.Join(strings.Fields(string(value)), " ") }

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
