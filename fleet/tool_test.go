package fleet_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdoff-go/holdoff/fleet"
)

func TestScenario17_ToolReplay(t *testing.T) {
	t.Run("the same call id twice", func(t *testing.T) {
		s := newStage(t, "12:00:00")
		tool := fleet.NewTool(s.Guard, s.cloud.create)
		args := json.RawMessage(`{"count":2,"max_price":"0.45","reason":"queue is long"}`)

		first := tool.Call(t.Context(), "call-1", args)
		second := tool.Call(t.Context(), "call-1", args)

		require.Equal(t, fleet.Granted, first.Code)
		require.Equal(t, fleet.Duplicate, second.Code)
		require.Equal(t, first.Instances, second.Instances)
		require.Len(t, s.cloud.machines, 2)
		require.Equal(t, `duplicate: key "tool/call-1" was granted 2 instances at 12:00:00: i-1 loading, i-2 loading`, second.Explanation)
	})
	t.Run("while the first is under way, whose client gave up", func(t *testing.T) {
		s := newStage(t, "12:00:00")
		started, release := make(chan struct{}), make(chan struct{})
		tool := fleet.NewTool(s.Guard, func(ctx context.Context, r fleet.Reservation) (fleet.Instance, error) {
			close(started)
			<-release
			return s.cloud.create(ctx, r)
		})
		args := json.RawMessage(`{"count":1,"max_price":"0.45","reason":"r"}`)
		done := make(chan fleet.ToolResult, 1)
		go func() { done <- tool.Call(context.Background(), "c", args) }()
		<-started
		second := tool.Call(t.Context(), "c", args)
		close(release)
		first := <-done
		require.Equal(t, fleet.Duplicate, second.Code)
		require.Equal(t, fleet.StateAttempting, second.Instances[0].State)
		require.Equal(t, first.Instances[0].Reservation, second.Instances[0].Reservation)
		require.Len(t, s.cloud.calls, 1)
	})
	t.Run("a denial is repeated too", func(t *testing.T) {
		s := newStage(t, "12:00:00")
		s.launch(3, usd("0.44"))
		tool := fleet.NewTool(s.Guard, s.cloud.create)
		args := json.RawMessage(`{"count":1,"max_price":"0.45","reason":"r"}`)
		first := tool.Call(t.Context(), "c", args)
		require.Equal(t, fleet.RateWindow, first.Code)
		s.clock.Set(at("12:15:00"))
		second := tool.Call(t.Context(), "c", args)
		require.Equal(t, first.JSON(), second.JSON())
		require.Equal(t, fleet.Granted, tool.Call(t.Context(), "d", args).Code)
	})
	t.Run("four parallel calls get no more than one batch", func(t *testing.T) {
		s := newStage(t, "12:00:00")
		tool := fleet.NewTool(s.Guard, s.cloud.create)
		var done sync.WaitGroup
		granted := make([]int, 4)
		for i := range granted {
			done.Go(func() {
				granted[i] = tool.Call(context.Background(), fmt.Sprint(i), json.RawMessage(`{"count":1,"max_price":"0.45","reason":"r"}`)).Granted
			})
		}
		done.Wait()
		require.Equal(t, 3, granted[0]+granted[1]+granted[2]+granted[3])
	})
}

func TestToolArguments(t *testing.T) {
	tests := []struct {
		name, id, args, want string
	}{
		{"no call id", "", `{"count":1,"max_price":"0.45","reason":"r"}`, "no id"},
		{"nothing", "c", ``, "the arguments must be one JSON object: unexpected end of JSON input"},
		{"not JSON", "c", `launch!`, "the arguments must be one JSON object: invalid character 'l'"},
		{"a list", "c", `[]`, "the arguments must be one JSON object"},
		{"null", "c", `null`, "the arguments must be one JSON object"},
		{"two objects", "c", `{"count":1,"max_price":"0.45"}{}`, "the arguments must be one JSON object: invalid character '{' after"},
		{"an unknown argument", "c", `{"count":1,"max_price":"0.45","reason":"r","overide":true}`,
			`unknown argument "overide": the arguments are count, max_price, offer, reason, emergency`},
		{"the first of several", "c", `{"zone":"a","Count":1}`, `unknown argument "Count"`},
		{"no count", "c", `{"max_price":"0.45","reason":"r"}`, "count is 0, not at least 1"},
		{"half an instance", "c", `{"count":1.5,"max_price":"0.45"}`, "count must be a whole number such as 2, not 1.5"},
		{"a count in words", "c", `{"count":"two","max_price":"0.45"}`, `count must be a whole number such as 2, not "two"`},
		{"a count beyond number", "c", `{"count":99999999999999999999}`, "count must be a whole number such as 2, not 99999999999999999999"},
		{"a list of counts", "c", "{\"count\":[\n  1,\n  2\n]}", "count must be a whole number such as 2, not [ 1, 2 ]"},
		{"no price", "c", `{"count":1,"reason":"r"}`, "max_price is $0.00"},
		{"a price in words", "c", `{"count":1,"max_price":"cheap"}`, `max_price must be an amount of dollars with at most 6 decimals, such as "0.45", not "cheap"`},
		{"a price to the last digit", "c", `{"count":1,"max_price":0.1234567}`, `such as "0.45", not 0.1234567`},
		{"an offer by number", "c", `{"count":1,"max_price":"1","offer":7}`, "offer must be a string, not 7"},
		{"several reasons", "c", `{"count":1,"max_price":"1","reason":["a"]}`, `reason must be a string, not ["a"]`},
		{"an emergency in words", "c", `{"count":1,"max_price":"1","emergency":"yes"}`, `emergency must be true or false, not "yes"`},
		{"a novel", "c", `{"count":1,"max_price":"1","reason":"` + strings.Repeat("x", 2000) + `"}`, "reason has 2000 bytes"},
		{"a library", "c", `{"reason":"` + strings.Repeat("x", 20000) + `"}`, "bytes, more than"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newStage(t, "12:00:00")
			r := fleet.NewTool(s.Guard, s.cloud.create).Call(t.Context(), tt.id, json.RawMessage(tt.args))
			require.Equal(t, fleet.Invalid, r.Code)
			require.Contains(t, r.Explanation, tt.want)
			for _, internal := range []string{"json:", "Go ", "fleet.", "int", "unmarshal"} {
				require.NotContains(t, r.Explanation, internal, "what a model has no use for")
			}
			require.Empty(t, s.cloud.calls)
			require.Zero(t, s.status().Instances)
		})
	}
	t.Run("a tool without a start function", func(t *testing.T) {
		s := newStage(t, "12:00:00")
		r := fleet.NewTool(s.Guard, nil).Call(t.Context(), "c", json.RawMessage(`{"count":1,"max_price":"1","reason":"r"}`))
		require.Equal(t, fleet.Invalid, r.Code)
		require.Zero(t, s.status().Instances)
	})
	t.Run("a key with other arguments", func(t *testing.T) {
		s := newStage(t, "12:00:00")
		tool := fleet.NewTool(s.Guard, s.cloud.create)
		tool.Call(t.Context(), "c", json.RawMessage(`{"count":1,"max_price":"0.45","reason":"r"}`))
		r := tool.Call(t.Context(), "c", json.RawMessage(`{"count":2,"max_price":"0.45","reason":"r"}`))
		require.Equal(t, fleet.Invalid, r.Code)
		require.Contains(t, r.Explanation, "the key was used before, for 1 at up to $0.45")
		require.Len(t, s.cloud.calls, 1)
	})
}

func TestToolResultExplainsItself(t *testing.T) {
	s := newStage(t, "12:00:00")
	tool := fleet.NewTool(s.Guard, s.cloud.create)
	r := tool.Call(t.Context(), "c", json.RawMessage(`{"count":4,"max_price":0.45,"reason":"r","emergency":true}`))
	require.JSONEq(t, `{
		"code": "partial",
		"explanation": "granted 3 of 4 at up to $0.45/hr; the rest is stopped by rate_window: 3 of 3 launches in the last 15m; next at 12:15:00, in 15m; an emergency was claimed but is not established (no emergency); left: $8.65/hr, 17 instances",
		"asked": 4, "granted": 3, "retry_at": "2026-03-10T12:15:00Z",
		"headroom": {"money": "8.65", "instances": 17, "launches": 0},
		"instances": [
			{"reservation": "`+string(r.Instances[0].Reservation)+`", "instance": "i-1", "state": "loading", "price": "0.45"},
			{"reservation": "`+string(r.Instances[1].Reservation)+`", "instance": "i-2", "state": "loading", "price": "0.45"},
			{"reservation": "`+string(r.Instances[2].Reservation)+`", "instance": "i-3", "state": "loading", "price": "0.45"}
		]}`, string(r.JSON()))
	require.Contains(t, tool.Description(), "retry_at")

	s.cloud.fail = tooMany(t, "60")
	s.clock.Set(at("12:15:00"))
	r = tool.Call(t.Context(), "d", json.RawMessage(`{"count":1,"max_price":0.45,"reason":"r"}`))
	require.Equal(t, fleet.StateRefused, r.Instances[0].State)
	require.Contains(t, r.Explanation, "refused (rate_limited)")
}

func TestToolSchemaNamesEveryArgument(t *testing.T) {
	tool := fleet.NewTool(nil, nil)
	var schema struct {
		Type       string
		Properties map[string]struct{ Type, Description string }
		Required   []string
		Additional *bool `json:"additionalProperties"`
	}
	require.NoError(t, json.Unmarshal(tool.Schema(), &schema))
	require.Equal(t, "object", schema.Type)
	require.False(t, *schema.Additional)
	args := map[string]any{"count": 1, "max_price": "0.45", "offer": "gpu", "reason": "r", "emergency": true}
	require.Len(t, schema.Properties, len(args))
	for name, p := range schema.Properties {
		require.Contains(t, args, name)
		require.NotEmpty(t, p.Description, name)
	}
	for _, name := range schema.Required {
		require.Contains(t, schema.Properties, name)
	}
	require.Equal(t, "launch_instances", tool.Name())
}

func FuzzToolCall(f *testing.F) {
	for _, s := range []string{
		`{"count":2,"max_price":"0.45","reason":"r","emergency":true}`, `{"count":-1}`, `{"count":1e9,"max_price":1}`,
		`{"count":1048577,"max_price":"0.000001"}`, `[]`, `null`, `{"max_price":{}}`, `{"count":21,"max_price":"0.5","offer":"\u0000"}`,
	} {
		f.Add("call", []byte(s))
	}
	f.Fuzz(func(t *testing.T, id string, args []byte) {
		s := newStage(t, "12:00:00", func(c *fleet.Config) { c.Window = fleet.Window{} })
		tool := fleet.NewTool(s.Guard, s.cloud.create)
		r := tool.Call(t.Context(), id, args)
		require.NotEmpty(t, r.Explanation)
		require.True(t, json.Valid(r.JSON()))
		st := s.status()
		require.LessOrEqual(t, st.Spend, 10*fleet.Dollar)
		require.LessOrEqual(t, st.Instances, 20)
		require.Equal(t, st.Instances, r.Granted)
		require.Empty(t, r.Decision.Bypassed)
		again := tool.Call(t.Context(), id, args)
		require.Equal(t, r.Instances, again.Instances)
		require.Len(t, s.cloud.calls, r.Granted)
	})
}
