package live

import (
	"time"

	"github.com/graphd/graphd/internal/reactor"
	"github.com/graphd/graphd/internal/sink"
)

// admit takes what accumulators have handed over, unless too many dead letters wait for the
// store or the journal is behind; how they are it takes in all the same.
func (r *Reactor) admit(now time.Time) bool {
	if r.flow != nil {
		return r.take(now)
	}
	if r.Core.DeadLettersPending() >= reactor.MaxDeadLetters || !r.logRoom() || r.desk.Holds() {
		return r.Inbox.DrainHealth(now, r.Core)
	}
	admitted := r.Inbox.Drain(now, r.Core)
	if admitted {
		r.Core.DrainFreed(r.Inbox.Free) // what waits for its counterpart is the keys' own
	}
	return admitted
}

// fire runs epochs while the criteria hold, there is room for what they may emit, and nobody
// else is waiting. free is false when something other than the criteria is in the way.
func (r *Reactor) fire(now time.Time) (fired, free bool) {
	if r.flow != nil {
		return r.turnFlow(now)
	}
	n, free := r.mayFire(now)
	if n <= 0 {
		if r.queues {
			r.queues = false
			r.Epochs.forget(r)
		}
		return false, free
	}
	if r.queues = !r.Epochs.enter(r); r.queues {
		return false, false
	}
	r.desk.Tried()
	defer r.Epochs.leave(r)
	count, took := 0, time.Duration(0)
	for count < n && took < fireWithin && !r.deserted() && r.Core.Fire(now) {
		count++
		took += r.Core.Took()
		if now = r.Clock.Now(); len(r.commands) > 0 || r.overstays(now) {
			break
		}
	}
	if count == 0 {
		return false, !r.Core.Asking()
	}
	r.Fail.Hit("cut")
	r.Core.DrainFreed(r.Inbox.Free)
	r.ran(count)
	return true, true
}

// overstays says that others who may wait for its place have been kept from it for long enough.
func (r *Reactor) overstays(now time.Time) bool {
	return r.Epochs != nil && now.UnixNano()-r.shown.turn.Load() >= int64(LendAfter/4)
}

// mayFire is how many epochs may run now; free says that nothing but the criteria keeps it from more.
func (r *Reactor) mayFire(now time.Time) (n int, free bool) {
	if r.held {
		return 0, false
	}
	if n = r.mayEmit(); n <= 0 {
		return 0, false
	}
	if !r.Core.Wants(now) {
		return 0, true
	}
	if r.desk.Waits() {
		return 0, false
	}
	if r.care.on {
		n = min(n, r.carefully(now))
	}
	return n, false
}

// mayEmit is how many epochs may run before something has to be looked at again: what they
// emit must fit into the writers' queues, the outboxes, and what waits for a commit, and the graph
// must not have worked for longer than its limit allows.
func (r *Reactor) mayEmit() int {
	if r.rests > 0 {
		return 0
	}
	if r.Core.DeadLettersPending() >= reactor.MaxDeadLetters || !r.logRoom() {
		return 0
	}
	n := fireBatch
	held, bytes := r.Core.Held()
	if held >= maxHeld || bytes >= maxHeldBytes {
		return 0
	}
	for _, w := range r.Writers {
		switch {
		case w == nil:
		case w.FromOutbox():
			n = min(n, w.Free()-held)
		default:
			n = min(n, w.Free()-r.pipe.waiting)
		}
	}
	return n
}

// hand gives what was released to the writers, in a journaled graph once it is in the
// journal, and lets the watchers look.
func (r *Reactor) hand(now time.Time) {
	if r.held {
		return
	}
	if out := r.Core.Released(); r.Core.Config().Journal {
		r.holdBack(out)
	} else {
		r.give(out)
	}
	r.Core.ResetReleased()
	r.look(now)
}

// look lets the watchers look. What they are told of health and pause a view has by then: whoever is told it and asks
// finds it so.
func (r *Reactor) look(now time.Time) {
	if r.Watch == nil {
		return
	}
	r.showCondition(now)
	r.watchAt = r.Watch(r.Core, now)
}

// give hands messages to their writers.
func (r *Reactor) give(out []sink.Message) {
	for i := range out {
		if to := out[i].To; r.Writers[to] != nil {
			r.staged[to] = append(r.staged[to], out[i])
		}
	}
	for to, batch := range r.staged {
		if len(batch) > 0 {
			r.Writers[to].Put(batch)
			clear(batch)
			r.staged[to] = batch[:0]
		}
	}
}

// sleep is how long nothing will be due.
func (r *Reactor) sleep(now time.Time) time.Duration {
	until := now.Add(never)
	sooner := func(at time.Time, ok bool) {
		if ok && at.Before(until) {
			until = at
		}
	}
	sooner(r.watchAt, !r.watchAt.IsZero())
	sooner(r.shown.showAt())
	sooner(r.weighing.weighAt())
	sooner(r.Clock.due(now))
	sooner(r.fullAt(now))
	switch {
	case r.flow != nil:
		sooner(r.Core.WarmDue())
		sooner(now.Add(r.flow.Waits()), !r.held)
	case r.desk.Stands(): // what is due by time waits for the answer, too
	case r.free && !r.held:
		sooner(r.Core.Due())
	default:
		sooner(r.Core.TickDue()) // what keeps it from firing says when it does no more
	}
	sooner(now.Add(r.rests), r.rests > 0)
	sooner(now.Add(LendAfter), r.queues) // nobody wakes it for the place of one that does not come back
	sooner(now.Add(r.Core.Patience()), r.desk.Waits())
	if r.held { // nothing fires, and nothing goes to the store
		return max(0, until.Sub(now))
	}
	sooner(r.nextSeal, r.inflight == nil && (r.Core.Changed() || !r.proven || r.unmarked()))
	sooner(r.lingerTo, r.inflight == nil && !r.lingerTo.IsZero())
	sooner(r.pipe.retryAt, !r.pipe.inflight && len(r.pipe.unsent) > 0)
	sooner(r.care.retryAt, r.care.on && now.Before(r.care.retryAt))
	sooner(r.care.turnAt, r.care.on && now.Before(r.care.turnAt))
	sooner(r.care.backAt, r.care.on && r.care.inVain() && now.Before(r.care.backAt))
	return max(0, until.Sub(now))
}
