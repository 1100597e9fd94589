package loosejson

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// members returns an object's members by name, for the tests.
func members(v Value) map[string]Value {
	got := map[string]Value{}
	v.Members(func(key string, value Value) { got[key] = value })
	return got
}

func TestParse(t *testing.T) {
	cases := map[string]string{
		"json":       `{"error":{"code":429,"message":"it's\n\"full\" \u00e9\ud83d\ude00","ok":false,"x":null}}`,
		"python":     `{'error': {'code': 429, 'message': 'it\'s\n"full" é😀', 'ok': False, 'x': None}}`,
		"javascript": `{ error: { code: 429, message: "it's\n\"full\" é😀", ok: false, x: undefined } }`,
		"cut off":    `{"error":{"code":429,"message":"it's\n\"full\" é😀","ok":false,"x":null,"rest":"and so`,
	}
	for name, text := range cases {
		t.Run(name, func(t *testing.T) {
			v, ok := Parse(text)
			require.True(t, ok)
			e := members(members(v)["error"])

			code, isInt := e["code"].Int()
			require.True(t, isInt)
			require.Equal(t, 429, code)
			require.Equal(t, "it's\n\"full\" é😀", e["message"].Text())
			require.True(t, e["ok"].IsFalse())
			require.Equal(t, Null, e["x"].Kind())
			require.Equal(t, Absent, e["y"].Kind())
		})
	}
}

func TestFind(t *testing.T) {
	cases := map[string]struct {
		text, rest string
		found      int
	}{
		"none":         {"no braces", "no braces", 0},
		"in prose":     {`429 {"a":1} then {"b":2}.`, "429   then  .", 2},
		"array":        {`got [{"a":1}] back`, "got   back", 1},
		"code":         {`func f() { return x }`, `func f() { return x }`, 0},
		"template":     {`use ${NAME} and {name}`, `use ${NAME} and {name}`, 0},
		"unbalanced":   {`{"a":1`, `{"a":1`, 0},
		"after a lone": {`{ oops {"a":1}`, `{ oops  `, 1},
		"printed":      {`Error: x { code: 'ECONNRESET', errno: -104 } y`, `Error: x { code: 'ECONNRESET', errno: -104 } y`, 1},
		"python bytes": {`b'{"a":1}\n'`, `b' \n'`, 1},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			n := 0
			rest := Find(c.text, 10, func(string, Value) { n++ })
			require.Equal(t, c.found, n)
			require.Equal(t, c.rest, rest)
		})
	}
}

func TestFind_BoundedOnBraces(t *testing.T) {
	text := strings.Repeat("{", 1<<20)
	require.Equal(t, text, Find(text, 10, func(string, Value) { t.Fatal("found one") }))
}

func FuzzFind(f *testing.F) {
	f.Add(`x {"a":[1,{"b":'c'}]} y`)
	f.Add(`{'a': None, b: -1.5e3, "c": "\ud83d"}`)
	f.Add(`[{"a`)
	f.Fuzz(func(t *testing.T, text string) {
		visit(t, text)
		Find(text, 8, func(_ string, v Value) {
			require.True(t, v.wellFormed())
		})
	})
}

func visit(t *testing.T, text string) {
	v, ok := Parse(text)
	if !ok {
		return
	}
	v.Members(func(_ string, m Value) { require.LessOrEqual(t, len(m.Text()), len(text)) })
	v.Elements(8, func(e Value) { e.Float() })
}
