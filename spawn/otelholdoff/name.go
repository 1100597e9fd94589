package otelholdoff

import (
	"strings"
	"sync"
)

// other is the name of all that are too many.
const other = "other"

// names bounds the values of a label: those that come first keep their name.
type names struct {
	max int

	mu    sync.Mutex
	known map[string]struct{}
}

func newNames(limit int) *names { return &names{max: limit, known: make(map[string]struct{})} }

// label returns the label's value for name.
func (n *names) label(name string) string {
	name = strings.ToValidUTF8(name, "\uFFFD") // OTLP, which is protobuf, refuses what is not
	n.mu.Lock()
	defer n.mu.Unlock()
	if _, ok := n.known[name]; ok {
		return name
	}
	if len(n.known) >= n.max {
		return other
	}
	n.known[name] = struct{}{}
	return name
}
