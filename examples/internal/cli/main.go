// Package cli is what the examples have in common as command-line programs: how
// they read flags, end, and draw on a terminal. It is no part of what to copy.
package cli

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

// Main runs a program, whose context an interrupt or a SIGTERM ends, and exits: with
// 0 when it succeeded or told its flags, 2 for a command line that makes no sense,
// and 1 when it failed. The error is printed to stderr, once.
func Main(name string, run func(ctx context.Context, args []string, stdout io.Writer) error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	os.Exit(end(name, err, os.Stderr))
}

// end tells how a program ended, and returns its exit status.
func end(name string, err error, stderr io.Writer) int {
	if err == nil || errors.Is(err, flag.ErrHelp) {
		return 0
	}
	fmt.Fprintf(stderr, "%s: %v\n", name, err)
	if errors.As(err, new(usageError)) {
		return 2
	}
	return 1
}

// A usageError is what a command line has wrong.
type usageError string

func (e usageError) Error() string { return string(e) + "; see -h" }

// Usagef returns the error for a command line that makes no sense.
func Usagef(format string, args ...any) error {
	return usageError(fmt.Sprintf(format, args...))
}
