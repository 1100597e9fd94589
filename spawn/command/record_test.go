package command_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdoff-go/holdoff/spawn/command"
)

func TestJSON(t *testing.T) {
	const (
		failed  = `{"type":"turn.failed","error":{"message":"You've hit your usage limit."}}`
		isError = `{"type":"result","subtype":"success","is_error":true,"result":"API Error: 429"}`
		fine    = `{"type":"result","subtype":"success","is_error":false,"result":"rate limit exceeded, HTTP 429"}`
	)
	for name, tt := range map[string]struct{ stdout, want string }{
		"nothing":                     {"", ""},
		"words":                       {chat + "\n" + chat, ""},
		"an error":                    {record429 + "\n", record429},
		"no last newline":             {record429, record429},
		"windows lines":               {"{\"type\":\"turn.started\"}\r\n" + failed + "\r\n", failed},
		"among words":                 {"starting\n  " + failed + "\nbye", failed},
		"a result that is an error":   {isError, isError},
		"a result that is none":       {fine, ""},
		"got over it":                 {record429 + "\n" + `{"type":"turn.completed"}`, ""},
		"an error after a result":     {fine + "\n" + failed, failed},
		"two":                         {record429 + "\n" + isError, record429 + "\n" + isError},
		"no type, an error":           {`{"error":{"code":429}}`, `{"error":{"code":429}}`},
		"no type, no error":           {`{"error":null,"response":"429"}`, ""},
		"an empty error":              {`{"error":{}}` + "\n" + `{"error":""}` + "\n" + `{"error":false}`, ""},
		"another type with an error":  {`{"type":"tool_result","error":"429 rate limit"}`, ""},
		"further down":                {`{"type":"assistant","message":{"type":"error","error":{"code":429}}}`, ""},
		"in quotes":                   {`{"type":"text","text":"{\"type\":\"error\"}"}`, ""},
		"a limit that was hit":        {`{"type":"rate_limit_event","rate_limit_info":{"status":"rejected","resetsAt":1}}`, `{"type":"rate_limit_event","rate_limit_info":{"status":"rejected","resetsAt":1}}`},
		"a limit that is near":        {`{"type":"rate_limit_event","rate_limit_info":{"status":"allowed_warning","overageStatus":"rejected"}}`, ""},
		"types that are none":         {`{"type":5,"is_error":"true"}` + "\n" + `{"type":"result","is_error":"true"}`, ""},
		"indented":                    {"{\n  \"error\": {\n    \"code\": 429\n  }\n}\n", "{\n  \"error\": {\n    \"code\": 429\n  }\n}"},
		"indented, after broken ones": {strings.Repeat("{\"a\": [\n", 3) + "{\n\"error\": 429}", "{\n\"error\": 429}"},
		"an array":                    {`[{"type":"error"}]`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, tt.want, string(command.JSON([]byte(tt.stdout))))
		})
	}
	t.Run("what looks like an object on every line", func(t *testing.T) {
		stdout := strings.Repeat("{\"a\": [\n", 50_000) + failed
		require.Equal(t, failed, string(command.JSON([]byte(stdout))))
	})
}

func FuzzJSON(f *testing.F) {
	f.Add([]byte(record429))
	f.Add([]byte("{\n\"error\": 1}\n{\"type\":\"result\"}"))
	f.Fuzz(func(t *testing.T, stdout []byte) {
		record := command.JSON(stdout)
		d := json.NewDecoder(bytes.NewReader(record))
		for d.More() {
			var object map[string]json.RawMessage
			require.NoError(t, d.Decode(&object), "a record is made of whole objects")
		}
		require.LessOrEqual(t, len(record), len(stdout)+1)
		again := command.JSON(record)
		require.Equal(t, string(record), string(again), "what was found is found again")
	})
}
