package evidence

import (
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"sync"
	"time"

	"github.com/holdoff-go/holdoff/retry/internal/loosejson"
	"github.com/holdoff-go/holdoff/retry/internal/when"
)

// A role says how a field of a foreign error is read.
type role uint8

const (
	roleStatus   role = iota // a number from 400 to 599 is the HTTP status
	roleCode                 // as roleStatus, and anything else is a code
	roleResponse             // *http.Response, or a struct around one: status and headers, never the body
	roleHeader
	roleBody
	roleWait
	roleRate    // go-github's Rate
	roleDetails // something that is JSON
	roleMessage
)

// isPlain reports whether what a pointer of that role points at is as good as the
// value: SDKs that are made from a specification have pointers throughout.
func (r role) isPlain() bool {
	switch r {
	case roleStatus, roleCode, roleBody, roleWait, roleMessage:
		return true
	}
	return false
}

// fieldRoles are the names under which SDKs keep what an answer said.
var fieldRoles = []struct {
	name string
	role role
}{
	{"StatusCode", roleStatus}, {"HTTPStatusCode", roleStatus}, {"HttpStatusCode", roleStatus}, {"HTTPCode", roleStatus}, {"HTTPStatus", roleStatus}, {"HttpStatus", roleStatus},
	{"Response", roleResponse}, {"RawResponse", roleResponse}, {"HTTPResponse", roleResponse}, {"Resp", roleResponse},
	{"Header", roleHeader}, {"Headers", roleHeader}, {"ResponseHeaders", roleHeader},
	{"Code", roleCode}, {"Status", roleCode}, {"ErrorCode", roleCode}, {"Type", roleCode}, {"Reason", roleCode}, {"Cause", roleCode}, {"Scope", roleCode}, {"Err", roleCode},
	{"Body", roleBody}, {"ResponseBody", roleBody}, {"RawBody", roleBody},
	{"RetryAfter", roleWait}, {"RetryAfterSeconds", roleWait},
	{"Rate", roleRate},
	{"Details", roleDetails}, {"ErrStatus", roleDetails},
	{"Message", roleMessage}, {"Msg", roleMessage}, {"ErrorMessage", roleMessage}, {"Title", roleMessage},
}

// A layout is where a type keeps what is read of it.
type layout struct {
	fields   []field
	status   bool // has GRPCStatus or Status
	code     bool // has Code, as connect's error and AWS's of old
	response bool // has Response or HTTPResponse
	methods  bool // has any of the methods that Methods asks for
}

// Silent reports whether nothing of err but its text can be read: it has none of
// the fields and methods that tell a status, a code or a wait.
func Silent(err error) bool {
	l := layoutOf(err)
	return !l.methods && !l.status && !l.code && !l.response && len(l.fields) == 0
}

type field struct {
	index []int
	role  role
	name  string
}

// layouts remembers a layout for each error type seen: looking for the fields is
// dearer than reading them.
var layouts sync.Map // reflect.Type → *layout

// Fields notes what err keeps in exported fields, and offers by methods whose
// types only its own SDK can name.
func (e *Evidence) Fields(err error) {
	try(func() {
		v := reflect.ValueOf(err)
		l := layoutOf(err)
		if l.status || l.code || l.response {
			e.reflectMethods(v, l)
		}
		for range 3 {
			if v.Kind() != reflect.Pointer && v.Kind() != reflect.Interface {
				break
			}
			v = v.Elem()
		}
		for i := range l.fields {
			try(func() { e.field(v, &l.fields[i]) })
		}
	})
	if x, ok := err.(interface{ DumpResponse(bool) []byte }); ok && e.Status == 0 {
		// It rewrites the response's body, which is not safe from two goroutines,
		// and so is asked only where the response itself is out of reach.
		try(func() { e.dump(x.DumpResponse(true)) })
	}
}

func layoutOf(err error) *layout {
	t := reflect.TypeOf(err)
	if l, ok := layouts.Load(t); ok {
		return l.(*layout)
	}
	l := newLayout(t)
	l.methods = hasMethods(err)
	layouts.Store(t, l)
	return l
}

func newLayout(t reflect.Type) *layout {
	l := &layout{}
	st := t
	for st.Kind() == reflect.Pointer {
		st = st.Elem()
	}
	if isStandard(st.PkgPath()) {
		return l
	}
	if m, ok := t.MethodByName("GRPCStatus"); ok && m.Type.NumIn() == 1 && m.Type.NumOut() == 1 {
		l.status = true
	}
	if m, ok := t.MethodByName("Status"); ok && m.Type.NumIn() == 1 && m.Type.NumOut() == 1 {
		l.status = true
	}
	if m, ok := t.MethodByName("Code"); ok && m.Type.NumIn() == 1 && m.Type.NumOut() == 1 {
		l.code = true
	}
	if m, ok := t.MethodByName("HTTPResponse"); ok && m.Type.NumIn() == 1 && m.Type.NumOut() == 1 {
		l.response = true
	}
	if m, ok := t.MethodByName("Response"); ok && m.Type.NumIn() == 1 && m.Type.NumOut() == 1 {
		l.response = true
	}
	if st.Kind() != reflect.Struct {
		return l
	}
	for _, f := range fieldRoles {
		if sf, ok := st.FieldByName(f.name); ok && sf.IsExported() {
			l.fields = append(l.fields, field{sf.Index, f.role, f.name})
		}
	}
	if strings.HasSuffix(st.Name(), "RetryAfterError") { // cenkalti/backoff v5
		if sf, ok := st.FieldByName("Duration"); ok && sf.IsExported() {
			l.fields = append(l.fields, field{sf.Index, roleWait, "Duration"})
		}
	}
	return l
}

// isStandard reports whether a package is one of the standard library that
// declares errors: their fields are not a provider's.
func isStandard(path string) bool {
	switch path {
	case "errors", "fmt", "context", "io/fs", "os", "os/exec", "syscall", "net", "net/url", "net/http", "net/textproto", "net/netip",
		"crypto/x509", "crypto/tls", "encoding/json", "encoding/xml", "encoding/base64", "encoding/hex", "strconv", "time", "reflect", "runtime":
		return true
	}
	return false
}

func (e *Evidence) field(v reflect.Value, f *field) {
	fv, err := v.FieldByIndexErr(f.index) // not FieldByIndex: an embedded pointer may be nil
	if err != nil || !fv.CanInterface() {
		return
	}
	for range 2 {
		if fv.Kind() != reflect.Interface && !(fv.Kind() == reflect.Pointer && f.role.isPlain()) {
			break
		}
		fv = fv.Elem()
	}
	if !fv.IsValid() {
		return
	}
	switch f.role {
	case roleStatus, roleCode:
		e.codeField(fv, f)
	case roleResponse:
		e.response(fv)
	case roleHeader:
		e.headerField(fv)
	case roleBody:
		e.bodyField(fv)
	case roleWait:
		e.waitField(fv, f.name)
	case roleRate:
		e.rateField(fv)
	case roleDetails:
		e.detailsField(fv)
	case roleMessage:
		if fv.Kind() == reflect.String && (e.Status != 0 || len(e.Codes) > 0) {
			e.say(fv.String(), 1)
		}
	}
}

func (e *Evidence) codeField(v reflect.Value, f *field) {
	if s, ok := v.Interface().(fmt.Stringer); ok && f.role == roleCode && v.Kind() != reflect.String {
		if v.CanInt() && v.Int() != 0 { // an enumeration
			e.codeFieldText(s.String(), f.name)
		}
		return
	}
	switch {
	case v.CanInt() || v.CanUint():
		n := 0
		if v.CanInt() {
			n = int(v.Int())
		} else {
			n = int(v.Uint())
		}
		if n >= 400 && n < 600 {
			e.HTTPStatus(n)
		} else if f.role == roleCode && n >= 1000 {
			e.Code(fmt.Sprint(n))
		}
	case v.Kind() == reflect.Float64: // JSON's numbers in an any
		if n := int(v.Float()); n >= 400 && n < 600 {
			e.HTTPStatus(n)
		}
	case v.Kind() == reflect.String && f.role == roleCode:
		e.codeFieldText(v.String(), f.name)
	}
}

func (e *Evidence) codeFieldText(text, name string) {
	switch name {
	case "Scope":
		e.Scopes.Namespace = e.Scopes.Namespace || strings.EqualFold(text, "namespace")
		return
	case "Status":
		if status := statusIn("status " + strings.ToLower(text)); status != 0 { // "429 Too Many Requests"
			e.HTTPStatus(status)
			return
		}
	}
	if strings.IndexByte(text, ' ') >= 0 {
		return // prose is for the error's own text
	}
	e.Code(text)
}

func (e *Evidence) response(v reflect.Value) {
	for range 3 {
		if r, ok := v.Interface().(*http.Response); ok {
			if r != nil {
				e.HTTPStatus(r.StatusCode)
				e.Header.read(r.Header)
			}
			return
		}
		for v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface {
			v = v.Elem()
		}
		if v.Kind() != reflect.Struct {
			return
		}
		if v = v.FieldByName("Response"); !v.IsValid() || !v.CanInterface() {
			return
		}
	}
}

func (e *Evidence) headerField(v reflect.Value) {
	switch h := v.Interface().(type) {
	case http.Header:
		e.Header.read(h)
	case map[string][]string:
		e.Header.read(h)
	case map[string]string:
		for name, value := range h {
			e.Header.set(name, value)
		}
	}
}

func (e *Evidence) bodyField(v reflect.Value) {
	switch {
	case v.Kind() == reflect.String:
		e.Text(v.String(), true)
	case v.Kind() == reflect.Slice && v.Type().Elem().Kind() == reflect.Uint8:
		b := v.Bytes()
		e.Text(string(b[:min(len(b), maxText)]), true)
	case v.Kind() == reflect.Map:
		e.detailsField(v)
	}
}

func (e *Evidence) waitField(v reflect.Value, name string) {
	switch x := v.Interface().(type) {
	case time.Duration:
		if x > 0 {
			e.State(RetryAfter, x, name)
		}
		return
	case time.Time:
		if x.After(e.Now) {
			e.State(RetryAfter, x.Sub(e.Now), name)
		}
		return
	}
	switch {
	case v.CanInt() && v.Int() > 0:
		e.seconds(float64(v.Int()), name)
	case v.CanUint() && v.Uint() > 0:
		e.seconds(float64(v.Uint()), name)
	case v.CanFloat() && v.Float() > 0:
		e.seconds(v.Float(), name)
	case v.Kind() == reflect.String:
		if d, ok := when.RetryAfter(v.String(), e.Now, time.Time{}); ok && d > 0 {
			e.State(Body, d, name)
		}
	}
}

// rateField reads what go-github keeps of GitHub's headers.
func (e *Evidence) rateField(v reflect.Value) {
	if v.Kind() != reflect.Struct {
		return
	}
	remaining, reset := v.FieldByName("Remaining"), v.FieldByName("Reset")
	if !remaining.CanInt() || remaining.Int() != 0 || !reset.IsValid() {
		return
	}
	if reset.Kind() == reflect.Struct && reset.FieldByName("Time").IsValid() {
		reset = reset.FieldByName("Time")
	}
	if at, ok := reset.Interface().(time.Time); ok && at.After(e.Now) {
		e.State(Buckets, at.Sub(e.Now), "Rate.Reset")
	}
}

// detailsField reads a value that is JSON in all but form.
func (e *Evidence) detailsField(v reflect.Value) {
	for v.Kind() == reflect.Pointer && !v.IsNil() {
		v = v.Elem()
	}
	switch v.Kind() {
	case reflect.Map, reflect.Slice, reflect.Struct:
	default:
		return
	}
	if parsed, ok := loosejson.Parse(printed(v)); ok {
		e.value(parsed, 1, true)
	}
}
