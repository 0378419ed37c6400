package live

import (
	"time"
)

// heldPause is how long a held reactor rests between looks at its timers.
const heldPause = 10 * time.Millisecond

// Release lets a reactor that was made with Hold begin. Before, its accumulators connect
// and say how they are, but nothing is admitted, fired or committed: whoever finds that
// the graph cannot start has changed nothing by trying (M33). It must be called within Do.
func (r *Reactor) Release() {
	r.held = false
	r.Inbox.release()
}

// hold keeps every handoff waiting at the door; healths pass.
func (b *Inbox) hold() {
	b.mu.Lock()
	b.held = true
	b.mu.Unlock()
}

func (b *Inbox) release() {
	b.mu.Lock()
	b.held = false
	b.mu.Unlock()
	for i := range b.lanes {
		b.signal(i)
	}
}
