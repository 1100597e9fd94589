package httplimit

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"time"

	"github.com/holdoff-go/holdoff/internal/clock"
	"github.com/holdoff-go/holdoff/retry"
)

// maxPeek is how long the start of an error body is waited for. A refusal is small
// and sent in one go, so this is for a packet that was lost, which is sent again
// some 200 ms later, and for proxies. It is of the network's time, which is real,
// whatever clock the limiter has.
const maxPeek = time.Second

// responseError returns a response of 400 and above as what a classifier reads.
// The start of its body is read for that, and put back.
func responseError(resp *http.Response) *retry.ResponseError {
	e := &retry.ResponseError{StatusCode: resp.StatusCode, Header: resp.Header}
	if resp.Body != nil && resp.Body != http.NoBody {
		b := &peeked{ReadCloser: resp.Body}
		e.Body = b.peek(resp.ContentLength)
		resp.Body = b
	}
	return e
}

// peeked is a body whose start has been read: it is read from there once more. A
// read that was not waited for is under way still: its goroutine makes that one
// and ends with it, which Close brings about, as of any read.
type peeked struct {
	io.ReadCloser
	head []byte           // read, and not yet read once more
	err  error            // that came after it
	late <-chan readEvent // the read under way; nil: none
}

// A readEvent is what one read came to.
type readEvent struct {
	p        []byte
	err      error
	panicked any
}

// peek reads until the body has ended or is a whole JSON value, or for maxPeek and
// maxMessage, and returns what has come. That much is evidence, whatever kept the
// rest from coming.
func (b *peeked) peek(length int64) []byte {
	timeout := clock.Or(nil).After(maxPeek)
	p := make([]byte, 4<<10)
	for b.err == nil && len(b.head) < maxMessage && !isWhole(b.head, length) {
		b.late = b.begin(p[:min(len(p), maxMessage-len(b.head))])
		select {
		case e := <-b.late:
			b.take(e)
		case <-timeout:
			return slices.Clip(b.head)
		}
	}
	return slices.Clip(b.head)
}

// begin begins a read into p.
func (b *peeked) begin(p []byte) <-chan readEvent {
	done := make(chan readEvent, 1) // nobody need take it
	go func() {
		e := readEvent{err: io.ErrUnexpectedEOF} // if it does not even return
		defer func() {
			e.panicked = recover()
			done <- e
		}()
		n, err := b.ReadCloser.Read(p)
		e.p, e.err = p[:n], err
	}()
	return done
}

// take takes in what a read came to. A panic of it is its reader's.
func (b *peeked) take(e readEvent) {
	b.late = nil
	b.head, b.err = append(b.head, e.p...), e.err
	if e.panicked != nil {
		panic(e.panicked)
	}
}

func (b *peeked) Read(p []byte) (int, error) {
	if len(b.head) == 0 && b.late != nil {
		b.take(<-b.late)
	}
	switch {
	case len(b.head) > 0:
		n := copy(p, b.head)
		b.head = b.head[n:]
		return n, nil
	case b.err != nil:
		return 0, b.err
	default:
		return b.ReadCloser.Read(p)
	}
}

// isWhole reports whether head is all of a body of such a length, which is positive
// if it is known, or a JSON value, after which none waits for more.
func isWhole(head []byte, length int64) bool {
	if length > 0 && int64(len(head)) >= length {
		return true
	}
	head = bytes.TrimSpace(head)
	if len(head) == 0 {
		return false
	}
	switch string([]byte{head[0], head[len(head)-1]}) {
	case "{}", "[]":
		return json.Valid(head)
	default:
		return false
	}
}
