package cli

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"strings"
	"time"
)

// Flags returns the flags of a program, to be defined and then parsed with Parse.
// about says in -h what it does.
func Flags(name, about string) *flag.FlagSet {
	fs := flag.NewFlagSet(name, flag.ContinueOnError)
	fs.SetOutput(io.Discard) // Main prints the error, once
	fs.Usage = func() {
		fmt.Fprintf(fs.Output(), "Usage: %s [flags]\n\n%s\n\n", name, Wrap(about))
		fs.PrintDefaults()
	}
	return fs
}

// Parse parses args, which are flags and nothing else, and returns the names of those
// that are given. For -h it tells them to help and returns flag.ErrHelp; any other
// error is one of usage.
func Parse(fs *flag.FlagSet, args []string, help io.Writer) (given map[string]bool, err error) {
	switch err := fs.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		fs.SetOutput(help)
		fs.Usage()
		return nil, err
	case err != nil:
		return nil, Usagef("%s", wanted(fs, err))
	case fs.NArg() > 0:
		return nil, Usagef("unexpected argument %q", fs.Arg(0))
	}
	given = make(map[string]bool)
	fs.Visit(func(f *flag.Flag) { given[f.Name] = true })
	return given, nil
}

// wanted puts what a flag takes in place of the bare "parse error" of package flag.
func wanted(fs *flag.FlagSet, err error) string {
	text, bare := strings.CutSuffix(err.Error(), ": parse error")
	name := text[strings.LastIndex(text, " -")+len(" -"):] // the text ends in it
	f := fs.Lookup(name)
	if !bare || f == nil {
		return err.Error()
	}
	switch f.Value.(flag.Getter).Get().(type) { // those of package flag all are
	case bool:
		return text + ": want true or false"
	case float64:
		return text + ": want a number"
	case time.Duration:
		return text + ": want a time such as 20s"
	}
	return text + ": want a whole number"
}

// CheckAddress returns an error of usage unless address, as the flag says it, is one
// to listen at.
func CheckAddress(flag, address string) error {
	if _, _, err := net.SplitHostPort(address); err != nil {
		return Usagef("-%s is %q: it must be a host and a port, such as 127.0.0.1:8089", flag, address)
	}
	return nil
}

// CheckScale returns an error of usage unless a clock can run so many times faster
// than life.
func CheckScale(scale float64) error {
	if !(scale >= 1 && scale <= 1000) { // NaN too
		return Usagef("-scale is %v: it must be 1 to 1000", scale)
	}
	return nil
}
