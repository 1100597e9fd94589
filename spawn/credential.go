package spawn

import (
	"sync"
	"time"
)

// parkUnstated is how long a credential is left alone whose quota is used up and
// whose reset is not known: the usage windows of subscriptions are some hours
// long, and a probe of an exhausted one costs a call.
const parkUnstated = 2 * time.Hour

// A credential is what the workers call with. The spawner has one, and does not
// know it; it only knows until when its quota is used up.
type credential struct {
	mu       sync.Mutex
	until    time.Time // zero: usable
	stated   bool      // the provider said until
	parkings uint64    // how often it has been parked: the origin of what is called with it
}

// park leaves the credential alone until then.
func (c *credential) park(until time.Time, stated bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.parkings++
	if until.After(c.until) {
		c.until, c.stated = until, stated
	}
}

// parked returns until when the credential is left alone; zero when it is not.
func (c *credential) parked(now time.Time) (until time.Time, stated bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !now.Before(c.until) {
		return time.Time{}, false
	}
	return c.until, c.stated
}

// origin is to be handed to accepted by a call that begins now.
func (c *credential) origin() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.parkings
}

// accepted ends the parking: a call with the credential has succeeded. One that
// began before the credential was parked says nothing.
func (c *credential) accepted(origin uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if origin == c.parkings {
		c.until = time.Time{}
	}
}
