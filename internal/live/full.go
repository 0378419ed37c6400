package live

import "time"

// fullFor is how long an input must be full with no epoch before it is told: the inputs of a join
// wait for each other now and then.
const fullFor = 2 * time.Second

// refuse notes that a lane has no room, for the reactor to see. b.mu is held.
func (b *Inbox) refuse(l *lane) {
	if !l.refused {
		l.refused = true
		b.ring()
	}
}

// Full are the inputs that have had no room for what was put last.
func (b *Inbox) Full() (inputs []int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for i := range b.lanes {
		if b.lanes[i].refused {
			inputs = append(inputs, i)
		}
	}
	return inputs
}

// lookForFull tells the core which inputs are full while nothing can complete an epoch. It runs
// once a turn.
func (r *Reactor) lookForFull(now time.Time) {
	var full []int
	if epoch := r.Core.Epoch(); epoch != r.fullEpoch {
		r.fullEpoch = epoch
	} else if r.free && r.Core.Stalled() {
		full = r.full()
	}
	switch {
	case full == nil:
		r.fullSince = time.Time{}
	case r.fullSince.IsZero():
		r.fullSince = now
		return
	case now.Sub(r.fullSince) < fullFor:
		return
	}
	r.Core.SetFull(full)
}

// full are the inputs that have no room for what has come.
func (r *Reactor) full() []int {
	if r.flow != nil {
		return r.flow.Stuck()
	}
	return r.Inbox.Full()
}

// fullAt is when lookForFull has to look again although nothing happens.
func (r *Reactor) fullAt(now time.Time) (at time.Time, ok bool) {
	at = r.fullSince.Add(fullFor)
	return at, !r.fullSince.IsZero() && at.After(now)
}
