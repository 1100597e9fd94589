// Package desk is a host as it was before holdoff: an agent that is refused is
// lost, and the next one is spawned to be refused too.
package desk
