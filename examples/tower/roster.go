package main

import (
	"fmt"
	"strings"
	"time"
)

// A state is what a worker is doing, or how it ended.
type state string

const (
	coming   state = "to come" // not spawned yet
	queued   state = "waiting"
	running  state = "running"
	backsOff state = "backing off"
	finished state = "finished"
	dead     state = "dead"
	parked   state = "parked"
	canceled state = "canceled"
)

// A roster is what a tower shows of itself at one moment.
type roster struct {
	limiter string // its state, where there is one
	load    string // what passes it: changes with every call
	rows    []row
}

// A row is one worker.
type row struct {
	id          string
	state       state
	until       time.Duration // end of a wait, since the start; zero when not known
	made, turns int
	note        string // what happened last
}

// what is the row's state in words.
func (r row) what() string {
	s := string(r.state)
	if r.until > 0 {
		s += " until " + minutes(r.until)
	}
	return s
}

// bar shows the turns made.
func (r row) bar() string {
	if r.turns > 12 {
		return fmt.Sprintf("turn %d/%d", r.made, r.turns)
	}
	return strings.Repeat("●", r.made) + strings.Repeat("○", r.turns-r.made)
}

// count says how many rows are in which state, in the order they first come.
func count(rows []row) string {
	var order []state
	n := make(map[state]int)
	for _, r := range rows {
		if n[r.state] == 0 {
			order = append(order, r.state)
		}
		n[r.state]++
	}
	parts := make([]string, len(order))
	for i, s := range order {
		parts[i] = fmt.Sprintf("%d %s", n[s], s)
	}
	return strings.Join(parts, ", ")
}
