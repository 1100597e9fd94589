package retry

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
)

// maxBody is how much of an error's body is kept: the largest refusals seen in
// the wild are an HTML page of a few KiB.
const maxBody = 64 << 10

// A ResponseError is an HTTP answer as an error: what a [Classifier] needs of
// it, with nothing held open. [Response] makes one; fill the fields by hand
// where there is no *http.Response, or for an answer of status 200 whose body
// or stream holds an error.
type ResponseError struct {
	StatusCode int
	Header     http.Header
	Body       []byte // the first 64 KiB
}

// Response returns resp as an error when its status is 400 or above, else nil.
// The error is a [*ResponseError] and keeps the headers and the first 64 KiB of
// the body. The body is then closed, and replaced by what was read of it, so
// that it can still be read. Below 400 resp is not touched.
func Response(resp *http.Response) error {
	if resp == nil || resp.StatusCode < 400 {
		return nil
	}
	e := &ResponseError{StatusCode: resp.StatusCode, Header: resp.Header}
	if resp.Body != nil {
		// What came before a read failed is still evidence.
		e.Body, _ = io.ReadAll(io.LimitReader(resp.Body, maxBody))
		_ = resp.Body.Close()
		resp.Body = io.NopCloser(bytes.NewReader(e.Body))
	}
	return e
}

// Error returns the status and the start of the body.
func (e *ResponseError) Error() string {
	s := fmt.Sprintf("status %d", e.StatusCode)
	if text := http.StatusText(e.StatusCode); text != "" {
		s += " " + text
	}
	if body := oneLine(string(e.Body[:min(len(e.Body), 4*maxRule)]), maxRule); body != "" {
		s += ": " + body
	}
	return s
}
