package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strings"
	"time"
)

// figures are how a run ended.
type figures struct {
	Tasks       int      `json:"tasks"`
	Done        int      `json:"done"`
	Stored      int      `json:"stored"` // had a result before
	Parked      int      `json:"parked"`
	Dead        int      `json:"dead"`
	Canceled    int      `json:"canceled"`
	Suspended   int64    `json:"suspended"` // times a task was put off
	Resumed     int64    `json:"resumed"`
	Calls       int      `json:"calls"` // the provider's own count
	Accepted    int      `json:"accepted"`
	Refused     int      `json:"refused"`
	MaxInFlight int      `json:"max_in_flight"`
	Seconds     float64  `json:"seconds"` // on the swarm's clock
	WallSeconds float64  `json:"wall_seconds"`
	Results     []result `json:"results"`
	Failures    []string `json:"failures"`
}

func seconds(d time.Duration) float64 { return math.Round(d.Seconds()*10) / 10 }

// maxFailures is how many failures are told one by one.
const maxFailures = 10

func (f figures) summary() string {
	var b strings.Builder
	fmt.Fprintf(&b, "\n%d of %d tasks are done, and their results are in order.\n", f.Done, f.Tasks)
	if f.Stored > 0 {
		fmt.Fprintf(&b, "%d of them had a result in the store and were not started.\n", f.Stored)
	}
	for i, failure := range f.Failures {
		if i == maxFailures {
			fmt.Fprintf(&b, "  and %d more\n", len(f.Failures)-i)
			break
		}
		fmt.Fprintf(&b, "  %s\n", failure)
	}
	fmt.Fprintf(&b, "The provider saw %d calls, at most %d at once: it accepted %d and refused %d.\n",
		f.Calls, f.MaxInFlight, f.Accepted, f.Refused)
	fmt.Fprintf(&b, "Tasks were put off %d times, and came back %d times.\nIt took %s (%.1f s of real time).\n",
		f.Suspended, f.Resumed, minutes(time.Duration(f.Seconds*float64(time.Second))), f.WallSeconds)
	return b.String()
}

func (f figures) writeJSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(f)
}
