package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strings"
	"time"
)

// figures are what came of one tower.
type figures struct {
	Tower       string  `json:"tower"`
	Finished    int     `json:"finished"`
	Dead        int     `json:"dead"`
	Unfinished  int     `json:"unfinished"` // parked or interrupted
	Calls       int     `json:"calls"`
	Accepted    int     `json:"accepted"`
	Refused     int     `json:"refused"`
	Failed      int     `json:"failed"`       // without an answer
	LostTurns   int     `json:"lost_turns"`   // accepted, but of a worker that died
	Seconds     float64 `json:"seconds"`      // on the tower's clock
	WallSeconds float64 `json:"wall_seconds"` // on the wall

	title string
}

// tell counts the ends of the workers beside the calls.
func tell(rows []row, t tally) figures {
	f := figures{Calls: t.calls, Accepted: t.accepted, Refused: t.refused, Failed: t.failed}
	for _, r := range rows {
		switch r.state {
		case finished:
			f.Finished++
		case dead:
			f.Dead++
			f.LostTurns += r.made
		default:
			f.Unfinished++
		}
	}
	return f
}

func seconds(d time.Duration) float64 { return math.Round(d.Seconds()*100) / 100 }

// writeTable puts the figures side by side.
func writeTable(w io.Writer, o options, all []figures) {
	unfinished, failed := 0, 0
	for _, f := range all {
		unfinished += f.Unfinished
		failed += f.Failed
	}
	line := func(label string, cell func(figures) string) {
		fmt.Fprintf(w, "  %-18s", label)
		for _, f := range all {
			fmt.Fprintf(w, "  %14s", cell(f))
		}
		fmt.Fprintln(w)
	}
	number := func(n func(figures) int) func(figures) string {
		return func(f figures) string { return fmt.Sprint(n(f)) }
	}
	line("", func(f figures) string { return f.title })
	fmt.Fprintf(w, "  %s\n", strings.Repeat("─", 18+16*len(all)))
	line("workers finished", func(f figures) string { return fmt.Sprintf("%d of %d", f.Finished, o.workers) })
	line("workers dead", number(func(f figures) int { return f.Dead }))
	if unfinished > 0 {
		line("workers unfinished", number(func(f figures) int { return f.Unfinished }))
	}
	line("turns lost", number(func(f figures) int { return f.LostTurns }))
	line("calls", number(func(f figures) int { return f.Calls }))
	line("  accepted", number(func(f figures) int { return f.Accepted }))
	line("  refused", number(func(f figures) int { return f.Refused }))
	if failed > 0 {
		line("  failed", number(func(f figures) int { return f.Failed }))
	}
	line("time", func(f figures) string { return minutes(time.Duration(f.Seconds * float64(time.Second))) })
	fmt.Fprintln(w)
}

// writeJSON writes the settings and the figures.
func writeJSON(w io.Writer, o options, all []figures) error {
	type settings struct {
		Workers      int     `json:"workers"`
		Turns        int     `json:"turns"`
		StormSeconds float64 `json:"storm_seconds"`
		RetryAfter   string  `json:"retry_after"`
		Scale        float64 `json:"scale"`
		Seed         uint64  `json:"seed"`
		URL          string  `json:"url,omitempty"`
		Model        string  `json:"model"`
	}
	s := settings{o.workers, o.turns, o.storm.Seconds(), o.retryAfter.String(), o.scale, o.seed, o.url, o.model}
	if o.url != "" { // no storm of ours
		s.StormSeconds, s.RetryAfter = 0, ""
	}
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(struct {
		Settings settings  `json:"settings"`
		Towers   []figures `json:"towers"`
	}{s, all})
}
