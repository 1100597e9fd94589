package cli

import (
	"os"
	"syscall"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
)

func TestRedraws_OnlyWhereThereIsRoom(t *testing.T) {
	terminal, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skip(err)
	}
	defer terminal.Close()
	resize := func(columns, rows uint16) {
		s := struct{ rows, columns, x, y uint16 }{rows: rows, columns: columns}
		_, _, errno := syscall.Syscall(syscall.SYS_IOCTL, terminal.Fd(), syscall.TIOCSWINSZ, uintptr(unsafe.Pointer(&s)))
		require.Zero(t, errno)
	}
	t.Setenv("TERM", "xterm")
	for _, tt := range []struct {
		columns, rows uint16
		lines         int
		redraws       bool
	}{
		{80, 24, 20, true},
		{79, 24, 20, true},
		{78, 24, 20, false}, // a line that fills the last column may wrap
		{60, 24, 3, false},
		{80, 20, 20, false},
		{80, 21, 20, true},
		{0, 0, 23, true}, // not known
	} {
		resize(tt.columns, tt.rows)
		require.Equal(t, tt.redraws, Redraws(terminal, tt.lines), "%+v", tt)
	}
	t.Setenv("TERM", "dumb")
	require.False(t, Redraws(terminal, 1))
}
