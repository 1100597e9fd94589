package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/holdoff-go/holdoff/examples/internal/cli"
)

// A display shows a roster while a tower runs.
type display interface {
	show(at time.Duration, r roster) // at is since the start of the run
	end()                            // of this run
}

// newDisplay redraws in place on a terminal that has the room and writes lines
// elsewhere.
func newDisplay(w io.Writer, workers int) display {
	const heads = 3
	if cli.Redraws(w, heads+min(workers, maxRows+1)) {
		return &screen{w: w, color: os.Getenv("NO_COLOR") == ""}
	}
	return &journal{w: w}
}

// maxRows is how many workers are shown one by one: with the lines above and below
// they fit on 24.
const maxRows = 16

// A screen redraws the roster in place.
type screen struct {
	w     io.Writer
	color bool
	lines int // drawn last
}

func (s *screen) show(at time.Duration, r roster) {
	text := s.render(at, r)
	up := ""
	if s.lines > 0 {
		up = fmt.Sprintf("\x1b[%dA", s.lines)
	}
	s.lines = len(text)
	var b strings.Builder
	b.WriteString(up)
	for _, line := range text {
		b.WriteString(line + "\x1b[K\n")
	}
	b.WriteString("\x1b[J") // a frame before may have been longer
	fmt.Fprint(s.w, b.String())
}

func (s *screen) end() { s.lines = 0 }

func (s *screen) render(at time.Duration, r roster) []string {
	head := fmt.Sprintf("  %5s  %s", minutes(at), count(r.rows))
	text := []string{cli.Clip(head)}
	if r.limiter != "" {
		text = append(text, cli.Clip("         limiter "+r.limiter), cli.Clip("         "+r.load))
	}
	for i, row := range r.rows {
		if i == maxRows {
			text = append(text, cli.Clip(fmt.Sprintf("  and %d more: %s", len(r.rows)-i, count(r.rows[i:]))))
			break
		}
		line := cli.Clip(fmt.Sprintf("  %5s  %s  %-22s  %s", row.id, row.bar(), row.what(), row.note))
		text = append(text, s.paint(row.state, line))
	}
	return text
}

// colors of the states, as ANSI has them; running is plain.
var colors = map[state]string{
	coming: "2", queued: "36", backsOff: "33", finished: "32", dead: "31", parked: "35", canceled: "2",
}

func (s *screen) paint(st state, line string) string {
	if !s.color || colors[st] == "" {
		return line
	}
	return "\x1b[" + colors[st] + "m" + line + "\x1b[0m"
}

// A journal writes a line for each change, for a reader without a terminal.
type journal struct {
	w       io.Writer
	limiter string
	last    map[string]row
}

func (j *journal) show(at time.Duration, r roster) {
	if r.limiter != j.limiter {
		j.limiter = r.limiter
		j.line(at, "limiter", r.limiter+"; "+r.load)
	}
	if j.last == nil {
		j.last = make(map[string]row)
	}
	for _, row := range r.rows {
		before := j.last[row.id]
		j.last[row.id] = row
		if row.state == before.state && row.until == before.until || row.state == coming {
			continue
		}
		text := fmt.Sprintf("%d/%d  %s", row.made, row.turns, row.what())
		if row.note != "" {
			text += " (" + row.note + ")"
		}
		j.line(at, row.id, text)
	}
}

func (j *journal) line(at time.Duration, who, text string) {
	fmt.Fprintf(j.w, "  %5s  %-7s  %s\n", minutes(at), who, text)
}

func (j *journal) end() { *j = journal{w: j.w} }

// silent shows nothing.
type silent struct{}

func (silent) show(time.Duration, roster) {}
func (silent) end()                       {}
