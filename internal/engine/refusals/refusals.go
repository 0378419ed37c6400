// Package refusals knows what a daemon has refused for want of room: how often, and what of it is to be tried
// again. Start at [Counts] and [Untaken].
package refusals

import (
	"maps"
	"sync"

	"github.com/graphd/graphd/internal/api"
)

// Counts counts what limits have refused, by code. Its zero value is ready for use, by any goroutine.
type Counts struct {
	mu sync.Mutex
	n  map[string]int64
}

// Count counts a refusal, and answers with it.
func (c *Counts) Count(err *api.Error) *api.Error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.n == nil {
		c.n = make(map[string]int64)
	}
	c.n[err.Code]++
	return err
}

// All is how often a limit has refused something, by the code of the refusal.
func (c *Counts) All() map[string]int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.n)
}
