//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package cli

import (
	"os"
	"syscall"
	"unsafe"
)

// size returns the size of a terminal, or zeros when it is not known.
func size(f *os.File) (columns, rows int) {
	var s struct{ rows, columns, x, y uint16 } // struct winsize
	_, _, errno := syscall.Syscall(syscall.SYS_IOCTL, f.Fd(), syscall.TIOCGWINSZ, uintptr(unsafe.Pointer(&s)))
	if errno != 0 {
		return 0, 0
	}
	return int(s.columns), int(s.rows)
}
