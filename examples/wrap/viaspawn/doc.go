// Package desk is the host with each agent run by spawn: a refused agent backs
// off and is spawned again, and its job is booked once, at its true end.
package desk
