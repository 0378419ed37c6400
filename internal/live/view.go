package live

import (
	"slices"
	"sync/atomic"
	"time"

	"github.com/graphd/graphd/internal/kind"
	"github.com/graphd/graphd/internal/live/calls"
	"github.com/graphd/graphd/internal/live/delivery"
	"github.com/graphd/graphd/internal/live/hands"
	"github.com/graphd/graphd/internal/reactor"
)

const (
	// viewEvery is how old a view becomes at most while something changes.
	viewEvery = 100 * time.Millisecond
	// viewsAtRest is how many views a reactor publishes in that time because it has come to
	// rest. One that comes to rest more often is not at rest, and the views would cost it
	// more than they tell.
	viewsAtRest = 16
)

// View is what a reactor says of itself. It is immutable, but for what Writer answers: who
// reads it never waits for the reactor, even while an epoch is stuck in somebody's code.
type View struct {
	reactor.View
	// At is when it was taken.
	At         time.Time
	Checkpoint *CheckpointStatus
	// Resting says that nothing was left to fire then.
	Resting bool
	// EngineTime is zero before it has begun; HeldBackBy is who the other inputs wait for, "" for nobody.
	EngineTime time.Time
	HeldBackBy string
	// HeldSince is since when, by the wall clock, it is that one.
	HeldSince time.Time
	writers   []*delivery.Writer
	desk      *calls.Desk
	hands     *hands.Hands
}

// Lanes are the pools as they stand now, by name.
func (v *View) Lanes() map[string]hands.Told { return v.hands.Told() }

// Calls are those of nodes that call out as they stand now, by node.
func (v *View) Calls() map[string]kind.Told { return v.desk.Told() }

// Writer is how output i's writer stands now; ok is false when nothing is delivered.
func (v *View) Writer(i int) (s delivery.Status, ok bool) {
	if i >= len(v.writers) || v.writers[i] == nil {
		return delivery.Status{}, false
	}
	return v.writers[i].Status(), true
}

// View is the newest there is: at most 100 ms old while something changes, taken anew at once
// when health or pause change, and when the reactor comes to rest.
func (r *Reactor) View() *View { return r.shown.view.Load() }

// Busy is since when the reactor has not looked up from its epochs: the start of the turn it
// is in, zero while it waits for something to happen. What lasts for seconds is an epoch that
// is stuck.
func (r *Reactor) Busy() (since time.Time) {
	if at := r.shown.turn.Load(); at != 0 {
		return time.Unix(0, at)
	}
	return time.Time{}
}

// publisher decides when a view is worth its cost.
type publisher struct {
	view    atomic.Pointer[View]
	turn    atomic.Int64 // of the turn at hand, in Unix nanoseconds; 0 between turns
	window  time.Time    // the start of the hundred milliseconds at hand
	atRest  int32        // views in it that were published at rest
	stirred bool         // something may have changed since the last view
	told    condition
	// heldSince is since when the input that the others wait for is the one that it is.
	heldSince time.Time
}

// condition is what a view shows at once.
type condition struct {
	health       reactor.Health
	code, detail string
	paused       bool
	heldBy       string
}

func (r *Reactor) condition() (c condition) {
	c.health, c.paused = r.Core.Health(), r.Core.Paused()
	c.code, c.detail = r.Core.HealthReason()
	c.heldBy = r.heldBy()
	return c
}

// publish takes a view.
func (r *Reactor) publish(now time.Time) {
	p := &r.shown
	r.settle()
	if before := p.told.heldBy; before != r.heldBy() {
		p.heldSince = now
	}
	p.stirred, p.told = false, r.condition()
	p.view.Store(&View{
		View: r.Core.Look(), At: now, Checkpoint: r.sealed, Resting: r.Core.Resting(),
		writers: slices.Clone(r.Writers), EngineTime: r.engine(now), HeldBackBy: r.heldBy(),
		HeldSince: p.heldSince, desk: r.desk, hands: r.Hands,
	})
	if r.Published != nil {
		r.Published()
	}
}

// showCondition publishes at once where the condition has changed, and reports whether it has.
func (r *Reactor) showCondition(now time.Time) (changed bool) {
	if changed = r.shown.told != r.condition(); changed {
		r.publish(now)
	}
	return changed
}

// show publishes when that is due. It runs once a turn.
func (r *Reactor) show(now time.Time, busy bool) {
	p := &r.shown
	if r.showCondition(now) || !p.stirred {
		return
	}
	if d := now.Sub(p.window); d >= viewEvery || d < 0 {
		p.window, p.atRest = now, 0
		r.publish(now)
		return
	}
	if !busy && p.atRest < viewsAtRest {
		p.atRest++
		r.publish(now)
	}
}

// showAt is when a view is due although nothing happens.
func (p *publisher) showAt() (at time.Time, ok bool) { return p.window.Add(viewEvery), p.stirred }
