// Package bell wakes who waits for a change that is not passed on itself. Start at [Bell].
package bell

import "sync"

// Bell wakes those who wait for another summary of a graph, over all of its runs. It is rung by
// whatever changes one: each view that a reactor publishes, and what the graph itself shows. The
// zero value is ready for use.
type Bell struct {
	mu   sync.Mutex
	rung chan struct{} // closed by the next ring; nil while nobody waits
}

// Next is closed by the next ring. Who takes it and looks then misses nothing.
func (b *Bell) Next() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.rung == nil {
		b.rung = make(chan struct{})
	}
	return b.rung
}

// Ring does not block.
func (b *Bell) Ring() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.rung != nil {
		close(b.rung)
		b.rung = nil
	}
}
