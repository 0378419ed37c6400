package reactor

import (
	"math"

	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/reactor/form"
	"github.com/graphd/graphd/internal/reactor/pace"
)

// When the graph fires (M8). The criteria say whether an epoch is called for; rate limit,
// debounce and cadence say when it may start; max_wait ends a wait. In a keyed graph all of
// this holds for each key by itself.

// readiness is what the criteria make of a key.
type readiness struct {
	ok        bool   // an epoch is called for
	completed uint64 // the admission sequence of the boundary that completed the criteria
	due       int64  // when it may start, in nanoseconds of engine time; never is at once
	cause     Cause
}

// readiness evaluates the criteria of a key and its timers.
func (c *Core) readiness(k *cell) readiness {
	seq, ok := c.completed(k)
	r := readiness{ok: ok, completed: seq, due: form.Never}
	if !c.timed {
		if !ok {
			return readiness{}
		}
		return r
	}
	if ok && c.cfg.Debounce > 0 {
		r.due = k.times.last + int64(c.cfg.Debounce)
		if most := k.times.first + int64(c.cfg.MaxWait); c.cfg.MaxWait > 0 && most < r.due {
			r.due, r.cause = most, CauseMaxWait
		}
	}
	if !ok && c.cfg.MaxWait > 0 && k.times.first != form.Never {
		if r.completed, r.ok = c.earliest(k); r.ok {
			r.due, r.cause = k.times.first+int64(c.cfg.MaxWait), CauseMaxWait
		}
	}
	if !r.ok {
		return readiness{}
	}
	if c.cfg.RateLimit > 0 && k.times.started != form.Never {
		r.due = max(r.due, k.times.started+int64(c.cfg.RateLimit))
	}
	if c.cfg.Every > 0 {
		served := k.times.started
		if k == c.shared {
			served = c.ticked // by an epoch, by a false guard, or before the start
		}
		r.due = c.onGrid(max(r.due, k.times.first, served+1))
	}
	return r
}

// onGrid is the first instant of the cadence that is not before t.
func (c *Core) onGrid(t int64) int64 { return pace.Grid(t, int64(c.cfg.Every)) }

// tickDue is when the next epoch of the cadence comes, whether or not anything new is there.
// The keys of a keyed graph fire on the grid only when they have something new.
func (c *Core) tickDue() (at int64, ok bool) {
	if c.cfg.Every <= 0 || c.cfg.Keys != nil || c.ticked == form.Never {
		return 0, false
	}
	at = c.ticked + 1
	if started := c.shared.times.started; c.cfg.RateLimit > 0 && started != form.Never {
		// Else every tick would be an epoch that puts off what waits for the rate limit.
		at = max(at, started+int64(c.cfg.RateLimit))
	}
	return c.onGrid(at), true
}

// arrived notes the time of something that triggers, for the timers.
func (c *Core) arrived(k *cell, i int) {
	if !c.timed || !c.cfg.Inputs[i].Triggers {
		return
	}
	k.times.last = form.Nano(c.now)
	if k.times.first == form.Never {
		k.times.first = k.times.last
	}
}

// rewait finds since when the oldest of what a cut has left behind has been waiting: since it
// arrived, for a cut begins no wait anew.
func (c *Core) rewait(k *cell) {
	if !c.timed {
		return
	}
	first := int64(form.Never)
	for i := range c.cfg.Inputs {
		s, at := c.slotOf(k, i), int64(form.Never)
		switch {
		case !c.cfg.Inputs[i].Triggers:
		case c.cfg.Inputs[i].queues() && s.queue.len() > 0:
			at = s.queue.at(0).at
		case s.pend != nil: // the cut of a tick: it took nothing of what triggers
			at = k.times.first
		}
		if at != form.Never && (first == form.Never || at < first) {
			first = at
		}
	}
	k.times.first = first
}

// earliest is the oldest boundary that triggers and waits for a cut.
func (c *Core) earliest(k *cell) (seq uint64, ok bool) {
	for i := range c.cfg.Inputs {
		if at, waits := c.news(k, i); waits && c.cfg.Inputs[i].Triggers && (!ok || at < seq) {
			seq, ok = at, true
		}
	}
	return seq, ok
}

// news is the admission sequence of the oldest boundary of input i that a cut would take.
func (c *Core) news(k *cell, i int) (seq uint64, ok bool) {
	s := c.slotOf(k, i)
	if !c.cfg.Inputs[i].queues() {
		return s.since, s.pend != nil
	}
	if c.visible(k, i) == 0 {
		return 0, false
	}
	return s.queue.at(0).since, true
}

// completed says whether a key's criteria hold (M8, M9), and which boundary completed them:
// the first under any, the last that was missing under all.
func (c *Core) completed(k *cell) (seq uint64, ok bool) {
	if !c.cfg.All {
		return c.earliest(k)
	}
	if seq, ok = c.zipped(k); c.alone {
		if i, at := c.firstAlone(k); i >= 0 && (!ok || at < seq) {
			return at, true
		}
	}
	return seq, ok
}

// zipped is completed under all, for the inputs that wait for each other.
func (c *Core) zipped(k *cell) (seq uint64, ok bool) {
	for i := range c.cfg.Inputs {
		in := &c.cfg.Inputs[i]
		if !in.Triggers || in.Alone {
			continue
		}
		if !c.ready(k, i) {
			return 0, false
		}
		ok = true
		if at, waits := c.news(k, i); waits && (in.bounded() || !c.zip || c.worth(k, i).IsAbsent()) {
			seq = max(seq, at)
		}
	}
	return seq, ok
}

// ready says whether input i has what `when all` asks of it. With a sequential input among
// the triggering ones it is a zip, in which the others repeat once they have arrived.
func (c *Core) ready(k *cell, i int) bool {
	_, fresh := c.news(k, i)
	if c.zip && !c.cfg.Inputs[i].Sequential {
		return fresh || !c.worth(k, i).IsAbsent()
	}
	return fresh
}

// barrier is the admission sequence that the inputs of a sync_group are seen up to: that of
// the group's first sequential boundary after the given one that no cut has taken. What came
// after it belongs to a later epoch (M9).
func (c *Core) barrier(k *cell, group int, after uint64) uint64 {
	at := uint64(math.MaxUint64)
	for i := range c.cfg.Inputs {
		in := &c.cfg.Inputs[i]
		if q := c.slotOf(k, i).queue; in.Group == group && in.Sequential {
			if n := q.before(after + 1); n < q.len() {
				at = min(at, q.at(n).seq)
			}
		}
	}
	return at
}

// visible is how many boundaries at the head of a queue a cut may take.
func (c *Core) visible(k *cell, i int) int {
	in, q := &c.cfg.Inputs[i], c.slotOf(k, i).queue
	switch n := q.len(); {
	case n == 0 || in.Group == 0 && in.Burst:
		return n
	case in.Sequential:
		return 1
	}
	n := q.before(c.barrier(k, in.Group, 0))
	if n == 0 && c.cfg.All && in.Triggers && (!c.zip || c.worth(k, i).IsAbsent()) {
		// `when all` cannot take the group's sequential boundaries without this input, and they
		// came first: what came of it up to the next of them goes with them.
		n = q.before(c.barrier(k, in.Group, q.at(0).seq))
	}
	return n
}

// pushGrouped takes a boundary of a latest input that is in a sync_group: it overwrites the
// one before, unless a sequential boundary of the group came in between.
func (c *Core) pushGrouped(k *cell, i int, it queued) {
	q := c.slotOf(k, i).queue
	if q.len() > 0 && !c.between(k, i, q.at(q.len()-1).seq) {
		replaced := c.popLast(k, i)
		c.conflate(i, replaced.b, k.key)
		it.since, it.at = replaced.since, replaced.at
	}
	c.push(k, i, it)
}

// between says whether a sequential boundary of i's group that came after seq still waits.
func (c *Core) between(k *cell, i int, seq uint64) bool {
	for other := range c.cfg.Inputs {
		in, q := &c.cfg.Inputs[other], c.slotOf(k, other).queue
		if in.Group == c.cfg.Inputs[i].Group && in.Sequential && q.len() > 0 && q.at(q.len()-1).seq > seq {
			return true
		}
	}
	return false
}

// isPlain says that any input fires its key at once, with one boundary of a queue: there is no timer that delays
// it, and nothing that comes first.
func (c *Core) isPlain() bool {
	if c.cfg.FullRecompute || c.cfg.All || c.timed || c.stages != nil || c.pace != nil {
		return false
	}
	for i := range c.cfg.Inputs {
		if in := &c.cfg.Inputs[i]; in.Burst || in.Group != 0 {
			return false
		}
	}
	return true
}

// isDirect says that [Core.pickDirect] decides as the criteria do: any input fires the one
// key there is, at once.
func (c *Core) isDirect() bool { return c.isPlain() && c.cfg.Keys == nil }

// pickDirect is pick for most graphs, in one pass over their inputs: it fills the cut when
// something that triggers has arrived. The plain mode goes the long way instead.
func (c *Core) pickDirect() bool {
	if c.cell.waits {
		return false
	}
	fires, first, seq := false, -1, uint64(0)
	for i := range c.cfg.Inputs {
		in, s := &c.cfg.Inputs[i], &c.cell.slots[i]
		if !in.Sequential {
			fires = fires || in.Triggers && s.pend != nil
			continue
		}
		if s.queue.len() == 0 {
			continue
		}
		fires = fires || in.Triggers
		if at := s.queue.at(0).seq; first < 0 || at < seq {
			first, seq = i, at
		}
	}
	if !fires {
		return false
	}
	t := &c.cut // empty: who fills it empties it
	for i := range c.cfg.Inputs {
		if !c.cfg.Inputs[i].Sequential {
			t.take[i] = c.cell.slots[i].pend
		}
	}
	if first >= 0 {
		t.take[first], t.counts[first], t.heads = c.cell.slots[first].queue.at(0).b, 1, true
	}
	return true
}

// fillCut marks what an epoch of the given cause takes.
func (c *Core) fillCut(cause Cause) {
	c.cut.reset()
	if c.alone && cause != CauseForce {
		c.cutApart(cause)
		return
	}
	first, crowded := -1, false
	if !c.cfg.All && cause != CauseForce {
		first = c.firstSequential()
		crowded = first >= 0 && c.crowded()
	}
	for i := range c.cfg.Inputs {
		in := &c.cfg.Inputs[i]
		switch {
		case cause == CauseTick && in.Triggers:
			// Nothing that triggers is taken: what there is waits for the rest of it.
		case crowded && in.Triggers && !in.queues():
		case in.Sequential && first >= 0 && i != first:
			// Under any, one sequential boundary is taken; the other inputs keep their cached value.
		default:
			c.cutFrom(i)
		}
	}
}

// firstSequential is the sequential input whose head was admitted first, -1 for none.
func (c *Core) firstSequential() int {
	first, seq := -1, uint64(0)
	for i := range c.cfg.Inputs {
		if q := c.slot(i).queue; c.cfg.Inputs[i].Sequential && q.len() > 0 && (first < 0 || q.at(0).seq < seq) {
			first, seq = i, q.at(0).seq
		}
	}
	return first
}

// cutFrom marks what input i has to give: the newest, the head of its queue, or the burst.
func (c *Core) cutFrom(i int) {
	in, s, t := &c.cfg.Inputs[i], c.slot(i), &c.cut
	if !in.queues() {
		t.take[i] = s.pend
		return
	}
	n := c.visible(c.cell, i)
	if n == 0 {
		return
	}
	t.counts[i] = n
	switch {
	case in.Burst:
		t.take[i] = gather(s.queue, n)
	case in.Sequential:
		t.take[i], t.heads = s.queue.at(0).b, true
	default:
		t.take[i] = s.queue.at(n - 1).b
	}
}

// gather is a burst as one boundary: the list of what is in it.
func gather(q *queue, n int) *boundary.Boundary {
	values := make([]boundary.Value, n)
	all := *q.at(0).b
	all.Events, all.Size, all.Raw = 0, 0, nil
	for i := range n {
		b := q.at(i).b
		values[i] = b.Value
		all.Events += b.Events
		all.Size += b.Size
		if i > 0 {
			all.Links = all.Links.Join(b.Links)
		}
		if all.Last = b.Last; b.At.After(all.At) {
			all.At = b.At
		}
	}
	all.Value = boundary.List(values)
	return &all
}
