package command

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"
)

// A stream takes what a command writes to one of its pipes: all of it to keep,
// and to the caller's writer as long as that takes it. Its fields are read when
// os/exec has done with it.
type stream struct {
	keep io.Writer // ours, which does not fail; nil is none
	to   io.Writer // the caller's; nil is none
	err  error     // of to, the first
	cut  bool      // something may have been left unread
}

// ReadFrom is what io.Copy calls. It reads to the end also when the caller's
// writer fails: a broken log neither ends the command nor hides why it ended.
func (s *stream) ReadFrom(pipe io.Reader) (int64, error) {
	var total int64
	buf := make([]byte, 32<<10)
	for {
		// os/exec closes the pipe when it has waited long enough. If that comes while
		// Read waits, the pipe was empty; if before, nobody knows what was in it.
		if closed(pipe) {
			s.cut = true
			return total, os.ErrClosed
		}
		n, err := pipe.Read(buf)
		total += int64(n)
		s.write(buf[:n])
		switch {
		case errors.Is(err, io.EOF):
			return total, s.err
		case err != nil:
			return total, err
		}
	}
}

// Write makes a stream an io.Writer, as exec.Cmd wants one.
func (s *stream) Write(p []byte) (int, error) {
	s.write(p)
	return len(p), s.err
}

func (s *stream) write(p []byte) {
	if len(p) == 0 {
		return
	}
	if s.keep != nil {
		_, _ = s.keep.Write(p)
	}
	if s.to == nil || s.err != nil {
		return
	}
	n, err := s.to.Write(p)
	if err == nil && n < len(p) {
		err = io.ErrShortWrite
	}
	if err != nil {
		s.err = fmt.Errorf("its output was not passed on: %w", err)
	}
}

// closed reports whether a pipe has been closed on this side.
func closed(pipe io.Reader) bool {
	file, ok := pipe.(interface{ SetReadDeadline(time.Time) error })
	if !ok {
		return false
	}
	err := file.SetReadDeadline(time.Time{}) // none, as before
	return err != nil && !errors.Is(err, os.ErrNoDeadline)
}

// same reports whether a and b are one writer. What cannot be compared is not.
func same(a, b io.Writer) (yes bool) {
	defer func() { _ = recover() }()
	return a != nil && a == b
}

// locked is a writer that gets both streams, each from a goroutine of its own.
type locked struct {
	mu sync.Mutex
	to io.Writer
}

func (l *locked) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.to.Write(p)
}
