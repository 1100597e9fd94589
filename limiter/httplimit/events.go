package httplimit

import "bytes"

// events splits a stream of server-sent events: a message is one event, all of
// its lines. Lines end in LF, CR or both. Comments, which providers send to keep
// a connection alive while a call still queues, are no message. An event larger
// than maxMessage is an empty message: no error is that long.
type events struct {
	buf     []byte
	started bool // the first line has ended, before which a byte-order mark may stand
	begun   bool // the present line has
	comment bool // it is one
	cr      bool // the last line ended in CR: an LF belongs to it
	over    bool // the event is too large
}

var byteOrderMark = []byte("\xef\xbb\xbf")

func (s *events) next(p []byte) (message, rest []byte) {
	for len(p) > 0 {
		if s.cr && p[0] == '\n' {
			s.cr, p = false, p[1:]
			continue
		}
		s.cr = false
		end := bytes.IndexAny(p, "\r\n")
		if end < 0 {
			s.keep(p)
			return nil, nil
		}
		s.keep(p[:end])
		s.cr = p[end] == '\r'
		p = p[end+1:]
		if message = s.endLine(); message != nil {
			return message, p
		}
	}
	return nil, nil
}

// keep adds p to the present line.
func (s *events) keep(p []byte) {
	if len(p) == 0 || s.comment {
		return
	}
	if !s.begun && p[0] == ':' {
		s.comment = true
		return
	}
	s.begun = true
	s.add(p)
}

func (s *events) add(p []byte) {
	if s.over = s.over || len(p) > maxMessage-len(s.buf); !s.over {
		s.buf = append(s.buf, p...)
	}
}

// endLine ends the present line, and returns the message if that ends one.
func (s *events) endLine() (message []byte) {
	if !s.started {
		s.started = true
		s.buf = bytes.TrimPrefix(s.buf, byteOrderMark)
	}
	blank := !s.begun && !s.comment
	if s.begun {
		s.add([]byte{'\n'})
	}
	s.begun, s.comment = false, false
	if !blank || len(s.buf) == 0 && !s.over {
		return nil
	}
	message = s.buf
	if s.over {
		message = []byte{}
	}
	s.buf, s.over = s.buf[:0], false
	return message
}

func (s *events) rest() []byte {
	if s.over {
		return nil
	}
	return s.buf
}

func (s *events) blind() bool { return false }
