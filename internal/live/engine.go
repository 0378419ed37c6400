package live

import (
	"context"
	"time"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/accumulator/pump"
	"github.com/graphd/graphd/internal/live/flow"
	"github.com/graphd/graphd/internal/reactor"
)

// Under the event clock the reactor folds and admits by itself (package flow). Of the inbox it needs
// the healths, and the accounts of how much waits in front of the core.

// newFlow makes the flow of a graph under the event clock; nil for one under the arrival clock.
func newFlow(r *Reactor) *flow.Flow {
	if !r.Core.Config().EventClock {
		r.beginTime()
		return nil
	}
	r.Core.SetWall(r.Clock.Now())
	return flow.New(flow.Config{
		Core: r.Core, Host: host{r}, Lanes: r.Inbox, Wake: r.Inbox.ring, Now: r.Clock.Now, Mono: r.Clock.mono,
		Idle: r.Idle, MarkEvery: max(r.Interval/2, 10*time.Millisecond),
	})
}

// engine is the engine time of a call on the core: that of the reactor's clock, or under the
// event clock that of the events.
func (r *Reactor) engine(now time.Time) time.Time {
	if r.flow != nil {
		return r.flow.Time()
	}
	return now
}

// take takes in what has come for the flow.
func (r *Reactor) take(now time.Time) bool {
	r.Core.SetWall(now)
	said := r.Inbox.DrainHealth(r.flow.Time(), r.Core)
	if said {
		r.flow.Stir()
	}
	return r.flow.Admit() || said
}

// turnFlow takes the flow further.
func (r *Reactor) turnFlow(now time.Time) (done, free bool) {
	if r.held {
		return false, false
	}
	r.granted = false
	done, fired, free := r.flow.Turn(now)
	r.Core.SetHeldBack(r.flow.HeldBy())
	if r.granted {
		r.Epochs.leave(r)
	}
	if fired > 0 {
		r.Fail.Hit("cut")
		r.ran(fired)
	}
	return done, free
}

// ran takes note of cuts that were made, of epochs or of what a guard has turned down.
func (r *Reactor) ran(cuts int) {
	r.tried(cuts)
	if r.EveryEpochs > 0 && r.Core.Epoch()-r.sealed.Epoch >= int64(r.EveryEpochs) {
		r.sealNow = true
	}
}

// host is the reactor as its flow sees it.
type host struct{ *Reactor }

// Grant implements [flow.Host].
func (r host) Grant(now time.Time) int {
	n := r.mayEmit()
	if r.desk.Waits() {
		n = 0
	}
	if n > 0 && r.care.on {
		n = min(n, r.carefully(now))
	}
	if n <= 0 {
		if r.queues {
			r.queues = false
			r.Epochs.forget(r.Reactor)
		}
		return 0
	}
	if r.queues = !r.Epochs.enter(r.Reactor); r.queues {
		return 0
	}
	r.granted = true
	r.desk.Tried()
	return n
}

// Open implements [flow.Host]: what is taken in before the graph may fire would be one epoch where it
// should be many.
func (r host) Open() bool {
	switch r.Core.Health() {
	case reactor.HealthLive, reactor.HealthDegraded:
		return r.Core.DeadLettersPending() < reactor.MaxDeadLetters && r.logRoom() && !r.desk.Holds()
	}
	return false
}

// Called implements [flow.Host].
func (r host) Called() bool { return len(r.commands) > 0 || r.granted && r.overstays(r.Clock.Now()) }

// Deserted implements [flow.Host].
func (r host) Deserted() bool { return r.deserted() }

// settle has the core hold all that was folded: whoever looks at it next finds it whole.
func (r *Reactor) settle() {
	if r.flow != nil {
		r.flow.Settle()
	}
}

// heldBy is who the other inputs wait for, "" for nobody.
func (r *Reactor) heldBy() string {
	if r.flow == nil {
		return ""
	}
	return r.flow.HeldBy()
}

// leave makes void what input i's line has not folded.
func (r *Reactor) leave(i int) {
	if r.flow != nil {
		r.flow.Leave(i)
	}
}

// Enter gives input i's events to the reactor, which folds them in the order of their times. It
// is for a graph under the event clock; the line of before is void.
func (r *Reactor) Enter(ctx context.Context, i int, l *pump.Line) error {
	return tell(ctx, r, func(time.Time) error { r.flow.Enter(i, l); return nil })
}

// Roomy implements [flow.Lanes]. It is for the reactor, which alone takes room and frees it.
func (b *Inbox) Roomy(i int) bool {
	l := &b.lanes[i]
	return l.roomy() && (l.late == 0 || b.lanes[l.late-1].roomy())
}

func (l *lane) roomy() bool {
	return !l.sequential || l.depth == 0 || l.depth < l.capacity && l.bytes < l.maxBytes
}

// Took implements [flow.Lanes]: it counts a handoff that the core has admitted.
func (b *Inbox) Took(i int, h *accumulator.Handoff) {
	b.mu.Lock()
	defer b.mu.Unlock()
	l := &b.lanes[i]
	if l.sequential {
		l.occupy(h.Boundaries)
	}
	if late := b.lateLane(l, h); late != nil {
		late.occupy(h.Late)
	}
	b.puts++
	b.drained = b.puts
}
