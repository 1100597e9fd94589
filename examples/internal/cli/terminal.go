package cli

import (
	"io"
	"os"
	"strings"
)

// Width is how wide the examples write. No terminal of 80 columns wraps it.
const Width = 78

// Redraws reports whether w is a terminal that is large enough to redraw so many
// lines in place: one that wraps or scrolls away is never found again.
func Redraws(w io.Writer, lines int) bool {
	f, ok := w.(*os.File)
	if !ok || os.Getenv("TERM") == "dumb" {
		return false
	}
	if info, err := f.Stat(); err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return false
	}
	columns, rows := size(f)
	if columns == 0 || rows == 0 { // not known
		columns, rows = 80, 24
	}
	return columns > Width && rows > lines // the cursor has a line too
}

// Clip keeps a line from wrapping.
func Clip(line string) string {
	r := []rune(line)
	if len(r) <= Width {
		return line
	}
	return string(r[:Width-1]) + "…"
}

// Wrap breaks the lines of text that are too wide between words.
func Wrap(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if len([]rune(line)) <= Width {
			continue
		}
		var b strings.Builder
		column := 0
		for _, word := range strings.Fields(line) {
			wide := len([]rune(word))
			switch {
			case column == 0:
			case column+1+wide > Width:
				b.WriteByte('\n')
				column = 0
			default:
				b.WriteByte(' ')
				column++
			}
			b.WriteString(word)
			column += wide
		}
		lines[i] = b.String()
	}
	return strings.Join(lines, "\n")
}
