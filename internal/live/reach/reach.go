// Package reach bounds the calls to the store that go on beside a reactor.
package reach

import (
	"context"
	"slices"
	"sync"
	"time"
)

// Calls are those that are under way: most of the time none, and then it holds nothing. The zero value is ready for
// use, and safe for concurrent use.
type Calls struct {
	mu    sync.Mutex
	cut   bool
	under []*context.CancelFunc
}

// Within is the context of a call that has so long. It ends with parent too, or when the calls are cut off.
func (c *Calls) Within(parent context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithTimeout(parent, d)
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

// CutOff ends the calls that are under way, and all that come.
func (c *Calls) CutOff() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cut = true
	for _, cancel := range c.under {
		(*cancel)()
	}
}
