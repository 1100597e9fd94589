package fleet

import "fmt"

// A Request asks for launches. Build it in the host's own code; what a model or
// an HTTP caller sends belongs in Key, Count, MaxPrice, Offer, Reason and
// Claimed, never in Emergency.
type Request struct {
	// Key names what is asked for, once: however often a request with the same
	// key is repeated, after a time-out or a crash too, it launches one set of
	// instances. It is required, at most 512 bytes, and remembered for a week
	// after its instances are gone. A denied request leaves its key free.
	Key string `json:"key"`
	// Count is how many instances are wanted; zero is one. The largest number
	// that every constraint allows is granted.
	Count int `json:"count,omitempty"`
	// MaxPrice is what one instance may cost an hour, and what is counted until
	// the real price is known. It is required.
	MaxPrice Money `json:"max_price"`
	// Offer says what is launched, in the host's own words (a vendor's offer, a
	// type, a region), for the host's constraints and its start function.
	Offer string `json:"offer,omitempty"`
	// Reason is kept in the record.
	Reason string `json:"reason,omitempty"`
	// Emergency is the word of the host's own code that this is an emergency.
	// With the rule [HostClaim] it skips pacing, bounded by the caps and by need.
	Emergency bool `json:"-"`
	// Claimed says that somebody who is not the host's own code called it an
	// emergency. It is kept in the record and changes nothing.
	Claimed bool `json:"claimed,omitempty"`
}

const (
	maxKey   = 512
	maxCount = 1 << 20 // more than any fleet has; keeps sums within an int
)

func (r Request) count() int {
	if r.Count == 0 {
		return 1
	}
	return r.Count
}

// check says what makes no sense, or "".
func (r Request) check() string {
	switch {
	case r.Key == "":
		return "Key is empty: without one a repeat cannot be told from a new request"
	case len(r.Key) > maxKey:
		return fmt.Sprintf("Key has %d bytes, more than %d", len(r.Key), maxKey)
	case r.Count < 0:
		return fmt.Sprintf("Count is %d", r.Count)
	case r.Count > maxCount:
		return fmt.Sprintf("Count is %d, more than %d", r.Count, maxCount)
	case r.MaxPrice <= 0:
		return fmt.Sprintf("MaxPrice is %s: a price is needed to keep the budget", r.MaxPrice)
	case r.MaxPrice > maxPrice:
		return fmt.Sprintf("MaxPrice is %s/hr, more than %s", r.MaxPrice, maxPrice)
	}
	return ""
}
