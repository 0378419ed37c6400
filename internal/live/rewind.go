package live

import (
	"time"

	"github.com/graphd/graphd/internal/boundary"
)

// Rewind makes input i's accumulator go on from other positions when it is next started,
// nil for the beginning. What its present incarnation still says is void; what it has
// folded stays. It must be called within Do.
func (r *Reactor) Rewind(now time.Time, i int, to []boundary.Position) {
	r.Inbox.Port(i)
	r.Inbox.Drain(now, r.Core)
	r.Core.Rewind(i, to)
}
