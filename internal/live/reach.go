package live

import (
	"context"
	"slices"
	"sync"
	"time"
)

// reach are the calls to the store that are under way beside the reactor. They end with the term, in their time, or
// when they are cut off: a shutdown has no time left. Most of the time there are none.
type reach struct {
	mu    sync.Mutex
	cut   bool
	under []*context.CancelFunc
}

// within is the context of a call that has so long.
func (r *Reactor) within(d time.Duration) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithTimeout(r.Term, d)
	c := &r.reach
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cut {
		cancel()
		return ctx, cancel
	}
	c.under = append(c.under, &cancel)
	return ctx, func() {
		cancel()
		c.mu.Lock()
		defer c.mu.Unlock()
		c.under = slices.DeleteFunc(c.under, func(other *context.CancelFunc) bool { return other == &cancel })
	}
}

// cutOff ends the calls that are under way, and all that come.
func (r *Reactor) cutOff() {
	c := &r.reach
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cut = true
	for _, cancel := range c.under {
		(*cancel)()
	}
}
