package httplimit

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"sync/atomic"

	"github.com/holdoff-go/holdoff/retry"
)

// maxMessage bounds what is kept of an error body, or of one message of a
// stream, to look at. The largest refusals seen are HTML pages of a few KiB.
const maxMessage = 64 << 10

// The state of a watched body, as far as Close, which may come at any time, must
// know it.
const (
	reading = 1 << iota
	closed
)

// A watched body reports its call while the caller reads it: accepted at its
// first message, or as what an error in it says. It never reads ahead, and hands
// on every byte as it comes. Reads at the same time, which no body is made for, do
// no harm: what one of them got is not looked at.
type watched struct {
	io.ReadCloser
	call *call
	resp *http.Response

	state atomic.Int32

	// Of whoever is reading, and once nobody is, of whoever closes.
	split    splitter
	began    bool // a byte has come
	accepted bool
	ended    bool
}

// watch puts a watched body in place of resp's, which releases the call at its end.
// false: the call has ended, because there is nothing to read.
func (c *call) watch(resp *http.Response) bool {
	if resp.Body == nil || resp.Body == http.NoBody || resp.StatusCode == http.StatusSwitchingProtocols {
		// Nothing to read, or no longer HTTP: the status is the answer.
		c.accepted()
		return false
	}
	resp.Body = &watched{ReadCloser: resp.Body, call: c, resp: resp, split: splitterFor(resp.Header)}
	return true
}

func (b *watched) Read(p []byte) (n int, err error) {
	if !b.state.CompareAndSwap(0, reading) {
		return b.ReadCloser.Read(p) // closed, or a second Read at once
	}
	returns := false
	defer func() {
		if !returns {
			// The body panicked, or a callback ended this goroutine, which may have been
			// the one to close the body.
			b.call.release()
		}
		if !b.state.CompareAndSwap(reading, 0) {
			b.end(true) // closed meanwhile
		}
	}()
	n, err = b.ReadCloser.Read(p)
	b.began = b.began || n > 0
	b.scan(p[:n])
	if err != nil {
		// What Close did to a Read is no break of the upstream's.
		b.end(errors.Is(err, io.EOF) || b.state.Load()&closed != 0)
	}
	returns = true
	return n, err
}

func (b *watched) Close() error {
	if b.state.Or(closed) == 0 {
		defer b.end(true)
	}
	return b.ReadCloser.Close()
}

// scan looks at what has just come.
func (b *watched) scan(p []byte) {
	for len(p) > 0 && b.split != nil {
		var message []byte
		if message, p = b.split.next(p); message != nil {
			b.judge(message)
		}
		if b.split.blind() {
			b.accept()
			b.split = nil
		}
	}
	if b.split == nil && b.began {
		b.accept()
	}
}

// judge reports what one message says.
func (b *watched) judge(message []byte) {
	if suspicious(message) {
		// A copy, because a classifier may keep the error, and the message is part of
		// a buffer that will be used again.
		v := b.call.failed(&retry.ResponseError{
			StatusCode: b.resp.StatusCode, Header: b.resp.Header, Body: bytes.Clone(message),
		})
		if v.Class != retry.Unknown {
			b.accepted = true // it has been answered, if not so: nothing after an error is a success
			return
		}
	}
	b.accept()
}

func (b *watched) accept() {
	if !b.accepted {
		b.accepted = true
		b.call.accepted()
	}
}

// end reports what is left to say when nothing more will come. A body that broke
// before it began has not been accepted.
func (b *watched) end(whole bool) {
	if b.ended {
		return
	}
	b.ended = true
	defer b.call.release() // after the report, and if a callback of it ends the goroutine
	var rest []byte
	if b.split != nil {
		rest = b.split.rest()
	}
	switch {
	case len(rest) > 0:
		b.judge(rest)
	case whole:
		b.accept()
	}
}

// suspicious reports whether a message may be an error, so that most are not put
// to the classifier. The words are those of the envelopes that providers send
// after a 200.
func suspicious(message []byte) bool {
	for _, word := range words {
		if bytes.Contains(message, word) {
			return true
		}
	}
	return false
}

var words = [][]byte{
	[]byte("rror"), []byte("fail"), []byte("base_resp"), []byte(`"code"`), []byte(`"success"`),
}
