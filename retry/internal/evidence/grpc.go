package evidence

import (
	"reflect"
	"slices"
	"time"
)

// reflectMethods calls the methods whose results have types of an SDK. The
// names are constants at the calls, so that the linker keeps no other methods.
func (e *Evidence) reflectMethods(v reflect.Value, l *layout) {
	if l.status {
		if m := v.MethodByName("GRPCStatus"); m.IsValid() {
			try(func() { e.status(m.Call(nil)[0]) })
		} else if m := v.MethodByName("Status"); m.IsValid() {
			try(func() { e.status(m.Call(nil)[0]) })
		}
	}
	if l.code {
		try(func() { e.codeResult(v.MethodByName("Code").Call(nil)[0]) })
	}
	if l.response {
		if m := v.MethodByName("HTTPResponse"); m.IsValid() {
			try(func() { e.response(m.Call(nil)[0]) })
		} else if m := v.MethodByName("Response"); m.IsValid() {
			try(func() { e.response(m.Call(nil)[0]) })
		}
	}
}

// codeResult notes what a method Code returns: gRPC's code, a provider's, or an
// HTTP status.
func (e *Evidence) codeResult(v reflect.Value) {
	switch {
	case v.Kind() == reflect.Uint32:
		e.grpcCode(v)
	case v.CanInt():
		e.statusResult(v)
	case v.Kind() == reflect.String:
		e.Code(v.String())
	}
}

// statusResult notes a number that a method returns, if it can be an HTTP status.
func (e *Evidence) statusResult(v reflect.Value) {
	if n := v.Int(); n >= 400 && n < 600 {
		e.HTTPStatus(int(n))
	}
}

// grpcCode notes a gRPC code, which is a number of kind uint32.
func (e *Evidence) grpcCode(v reflect.Value) {
	if v.Kind() == reflect.Uint32 && v.Uint() >= 1 && v.Uint() <= 16 && e.GRPC == 0 {
		e.GRPC = int(v.Uint())
		e.Envelope = true
	}
}

// status notes a *status.Status of gRPC, a Status of Kubernetes, or a number.
func (e *Evidence) status(v reflect.Value) {
	if v.CanInt() {
		e.statusResult(v)
		return
	}
	if v.Kind() == reflect.Pointer && v.IsNil() {
		return
	}
	code := v.MethodByName("Code")
	if !code.IsValid() {
		e.detailsField(v)
		return
	}
	e.grpcCode(code.Call(nil)[0])
	if m := v.MethodByName("Message"); m.IsValid() {
		try(func() {
			if message := m.Call(nil)[0]; message.Kind() == reflect.String {
				e.say(message.String(), 1)
				if e.GRPC == 2 || e.GRPC == 13 || e.GRPC == 14 { // the codes of a failure that came over HTTP
					e.inner(statusIn(message.String()))
				}
			}
		})
	}
	m := v.MethodByName("Details")
	if !m.IsValid() {
		return
	}
	details, ok := m.Call(nil)[0].Interface().([]any)
	if !ok {
		return
	}
	for _, d := range details[:min(len(details), maxItems)] {
		try(func() { e.statusDetail(reflect.ValueOf(d)) })
	}
}

// statusDetail notes one detail by the name of its type, which is that of the
// message in google/rpc/error_details.proto.
func (e *Evidence) statusDetail(v reflect.Value) {
	for v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	if v.Kind() != reflect.Struct {
		return
	}
	switch v.Type().Name() {
	case "RetryInfo":
		e.Reset = true
		if d, ok := protoDuration(v.FieldByName("RetryDelay")); ok && d >= 0 {
			e.State(Body, d, "RetryInfo")
		}
	case "ErrorInfo":
		e.codeMethod(stringOf(v.FieldByName("Reason")))
		e.named(v.FieldByName("Metadata"))
	case "QuotaFailure":
		violations := v.FieldByName("Violations")
		for i := range min(violations.Len(), maxItems) {
			try(func() { e.statusViolation(violations.Index(i)) })
		}
	case "ResourceExhaustedFailure":
		for _, name := range [...]string{"Cause", "Scope"} {
			e.field(v, &field{fieldIndex(v, name), roleCode, name})
		}
	}
}

func fieldIndex(v reflect.Value, name string) []int {
	f, _ := v.Type().FieldByName(name)
	return f.Index
}

func (e *Evidence) statusViolation(v reflect.Value) {
	for v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	e.violation(stringOf(v.FieldByName("Subject")), stringOf(v.FieldByName("Description")), stringOf(v.FieldByName("QuotaId")), "") // a QuotaValue of 0 may be one not set
	if dimensions, ok := v.FieldByName("QuotaDimensions").Interface().(map[string]string); ok && dimensions["model"] != "" {
		e.Scopes.Model = true
	}
}

// named notes the values of a map of strings, in the order of their names.
func (e *Evidence) named(v reflect.Value) {
	m, ok := v.Interface().(map[string]string)
	if !ok {
		return
	}
	e.metadataMap(m)
}

func (e *Evidence) metadataMap(m map[string]string) {
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		e.detail(name, m[name])
	}
}

// protoDuration reads a *durationpb.Duration.
func protoDuration(v reflect.Value) (time.Duration, bool) {
	if v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	if v.Kind() != reflect.Struct {
		return 0, false
	}
	seconds, nanos := v.FieldByName("Seconds"), v.FieldByName("Nanos")
	if !seconds.CanInt() || !nanos.CanInt() || seconds.Int() < 0 || nanos.Int() < 0 || seconds.Int() > int64(365*24*time.Hour/time.Second)*290 {
		return 0, false
	}
	return time.Duration(seconds.Int())*time.Second + time.Duration(nanos.Int()), true
}

func stringOf(v reflect.Value) string {
	if v.Kind() == reflect.String {
		return v.String()
	}
	return ""
}
