package command

// A tail is a writer that keeps the end of what is written, max bytes of it.
type tail struct {
	max int
	buf []byte
}

func (t *tail) Write(p []byte) (int, error) {
	n := len(p)
	p = p[max(0, n-t.max):]
	// Up to twice as much is kept, so that a byte is moved once, not with each
	// write.
	if len(t.buf)+len(p) > 2*t.max {
		t.buf = append(t.buf[:0], t.buf[len(t.buf)-(t.max-len(p)):]...)
	}
	t.buf = append(t.buf, p...)
	return n, nil
}

func (t *tail) bytes() []byte { return t.buf[max(0, len(t.buf)-t.max):] }
