package rules

import (
	"sync"

	"github.com/graphd/graphd/internal/checkpoint"
)

// Takings knows of each graph since which fence all were taken by this process, for
// [checkpoint.Head.Own]: a taking whose answer was lost is known by that alone. The zero value is
// ready. Safe for concurrent use.
type Takings struct {
	mu     sync.Mutex
	others map[checkpoint.ID]int64 // the last fence that is not known to be this process's; per graph ever taken
}

// Found notes, before a graph is taken, the fence that it has, and whether that may be one of
// this process. What was there when it looked first is not.
func (t *Takings) Found(id checkpoint.ID, fence int64, mine bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if other, seen := t.others[id]; seen && mine && fence >= other {
		return
	}
	if t.others == nil {
		t.others = make(map[checkpoint.ID]int64)
	}
	t.others[id] = fence
}

// Before is how many of the fences directly before this one are this process's.
func (t *Takings) Before(id checkpoint.ID, fence int64) int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return max(fence-1-t.others[id], 0)
}
