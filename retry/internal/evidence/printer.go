package evidence

import (
	"encoding/json"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

// maxMembers is how many members a map may have and still be looked at: taking
// some of a larger one would take others on the next run.
const maxMembers = 256

// A printer writes a Go value as JSON, as far as its room goes. It stands in for
// json.Marshal, which writes all of a value however large that is, and calls
// foreign code while it does.
type printer struct{ out []byte }

// printed returns v as JSON, cut off where it becomes too long or too deep.
func printed(v reflect.Value) string {
	p := &printer{}
	p.value(v, 0)
	return string(p.out[:min(len(p.out), maxText)])
}

func (p *printer) full() bool { return len(p.out) >= maxText }

func (p *printer) value(v reflect.Value, depth int) {
	for range maxDepth {
		if v.Kind() != reflect.Pointer && v.Kind() != reflect.Interface {
			break
		}
		v = v.Elem()
	}
	if !v.IsValid() || depth > maxDepth || p.full() {
		p.out = append(p.out, "null"...)
		return
	}
	if v.CanInterface() {
		switch x := v.Interface().(type) {
		case time.Duration:
			p.text(x.String())
			return
		case time.Time:
			p.text(x.Format(time.RFC3339Nano))
			return
		case json.RawMessage:
			p.out = append(p.out, x[:min(len(x), maxText)]...)
			return
		}
	}
	switch v.Kind() {
	case reflect.String:
		p.text(v.String())
	case reflect.Bool:
		p.out = strconv.AppendBool(p.out, v.Bool())
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		p.out = strconv.AppendInt(p.out, v.Int(), 10)
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		p.out = strconv.AppendUint(p.out, v.Uint(), 10)
	case reflect.Float32, reflect.Float64:
		p.out = strconv.AppendFloat(p.out, v.Float(), 'g', -1, 64)
	case reflect.Slice, reflect.Array:
		p.elements(v, depth)
	case reflect.Map:
		p.members(v, depth)
	case reflect.Struct:
		p.out = append(p.out, '{')
		p.fields(v, depth)
		p.close('}')
	default:
		p.out = append(p.out, "null"...)
	}
}

func (p *printer) elements(v reflect.Value, depth int) {
	p.out = append(p.out, '[')
	if v.Type().Elem().Kind() != reflect.Uint8 { // bytes are no text here
		for i := range min(v.Len(), maxItems) {
			p.value(v.Index(i), depth+1)
			p.out = append(p.out, ',')
		}
	}
	p.close(']')
}

func (p *printer) members(v reflect.Value, depth int) {
	p.out = append(p.out, '{')
	if v.Type().Key().Kind() == reflect.String && v.Len() <= maxMembers {
		keys := v.MapKeys()
		slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
		for _, key := range keys {
			p.member(key.String(), v.MapIndex(key), depth)
		}
	}
	p.close('}')
}

// fields writes the exported fields of a struct by the names of their json tags.
// Those of embedded structs are its own.
func (p *printer) fields(v reflect.Value, depth int) {
	for i := range v.NumField() {
		field := v.Type().Field(i)
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		switch {
		case !field.IsExported(), name == "-", strings.Contains(options, "omitempty") && v.Field(i).IsZero():
			continue
		case field.Anonymous && name == "" && field.Type.Kind() == reflect.Struct:
			p.fields(v.Field(i), depth)
			continue
		case name == "":
			name = field.Name
		}
		p.member(name, v.Field(i), depth)
	}
}

func (p *printer) member(name string, v reflect.Value, depth int) {
	if p.full() {
		return
	}
	p.text(name)
	p.out = append(p.out, ':')
	p.value(v, depth+1)
	p.out = append(p.out, ',')
}

// close ends an object or array, without the comma behind its last element.
func (p *printer) close(bracket byte) {
	if last := len(p.out) - 1; p.out[last] == ',' {
		p.out = p.out[:last]
	}
	p.out = append(p.out, bracket)
}

func (p *printer) text(s string) {
	quoted, _ := json.Marshal(s[:min(len(s), max(0, maxText-len(p.out)))]) // a string never fails
	p.out = append(p.out, quoted...)
}
