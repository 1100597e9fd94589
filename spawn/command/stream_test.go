package command

import (
	"bytes"
	"errors"
	"io"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// piped copies to s, as os/exec does, what was written to a pipe whose other end
// stays open unless it is to end.
func piped(t *testing.T, s *stream, said string, ends bool, before func(r *os.File)) error {
	t.Helper()
	r, w, err := os.Pipe()
	require.NoError(t, err)
	defer func() { _, _ = r.Close(), w.Close() }()
	_, err = w.WriteString(said)
	require.NoError(t, err)
	if ends {
		require.NoError(t, w.Close())
	}
	before(r)
	_, err = io.Copy(s, r)
	return err
}

func TestStream_KnowsWhetherAnythingWasCut(t *testing.T) {
	const said = "the artefact"
	t.Run("read to its end", func(t *testing.T) {
		var kept, live bytes.Buffer
		s := &stream{keep: &kept, to: &live}
		require.NoError(t, piped(t, s, said, true, func(*os.File) {}))
		require.False(t, s.cut)
		require.Equal(t, said, kept.String())
		require.Equal(t, said, live.String())
	})
	t.Run("closed while it is written on", func(t *testing.T) {
		var kept bytes.Buffer
		s := &stream{keep: &kept}
		err := piped(t, s, said, false, func(r *os.File) {
			s.to = writerFunc(func(p []byte) (int, error) { return len(p), r.Close() })
		})
		require.ErrorIs(t, err, os.ErrClosed)
		require.True(t, s.cut)
		require.Equal(t, said, kept.String())
	})
	t.Run("closed while nothing comes", func(t *testing.T) {
		// The pipe was empty.
		s := &stream{keep: new(bytes.Buffer)}
		_, err := s.ReadFrom(&closedInRead{})
		require.ErrorIs(t, err, os.ErrClosed)
		require.False(t, s.cut)
	})
}

// closedInRead is a pipe that is closed while a Read waits.
type closedInRead struct{ closed bool }

func (c *closedInRead) Read([]byte) (int, error) { c.closed = true; return 0, os.ErrClosed }

func (c *closedInRead) SetReadDeadline(time.Time) error {
	if c.closed {
		return os.ErrClosed
	}
	return nil
}

func TestStream_GoesOnWithoutAWriterThatFails(t *testing.T) {
	full := errors.New("disk full")
	for name, tt := range map[string]struct {
		to   writerFunc
		want error
	}{
		"an error":      {func([]byte) (int, error) { return 0, full }, full},
		"a short write": {func(p []byte) (int, error) { return len(p) - 1, nil }, io.ErrShortWrite},
	} {
		t.Run(name, func(t *testing.T) {
			var kept bytes.Buffer
			calls := 0
			s := &stream{keep: &kept, to: writerFunc(func(p []byte) (int, error) { calls++; return tt.to(p) })}
			said := string(bytes.Repeat([]byte("x"), 60_000)) // two reads
			require.ErrorIs(t, piped(t, s, said, true, func(*os.File) {}), tt.want)
			require.Equal(t, len(said), kept.Len())
			require.Equal(t, 1, calls)
			require.False(t, s.cut)
		})
	}
}
