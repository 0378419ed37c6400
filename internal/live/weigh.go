package live

import (
	"time"

	"github.com/graphd/graphd/internal/quota"
)

const (
	// weighEvery is how often what the graph holds is estimated while something changes.
	weighEvery = 100 * time.Millisecond
	// weighShare is how many times as long as an estimate took there is none after it: half a percent of the time.
	weighShare = 200
)

// weighing is when what the graph holds is estimated.
type weighing struct {
	next    time.Time
	keys    int32 // as the meter knows it
	changed bool  // something may have, since it was last
}

// weigh estimates what the graph holds when that is due. It runs once a turn.
func (r *Reactor) weigh(now time.Time, busy bool) {
	if r.Meter == nil {
		return
	}
	w := &r.weighing
	if keys, _ := r.Core.KeyCount(); int32(keys) != w.keys {
		w.keys = int32(keys)
		r.Meter.Keys(r.Core.Config().ID.Shard, keys)
	}
	w.changed = w.changed || busy || r.Meter.Tight()
	if wait := w.next.Sub(now); !w.changed || wait > 0 && wait < time.Hour { // else the clock was set back
		return
	}
	w.changed = false
	began := time.Now()
	m := quota.Memory(r.Core.Weigh())
	for _, o := range r.Writers {
		m.Outputs += o.Holds()
	}
	if r.Waiting != nil {
		m.Queues += r.Waiting()
	}
	r.Meter.Holds(r.Core.Config().ID.Shard, m)
	w.next = now.Add(max(weighEvery, weighShare*time.Since(began)))
}

// weighAt is when an estimate is due although nothing happens.
func (w *weighing) weighAt() (at time.Time, ok bool) { return w.next, w.changed }
