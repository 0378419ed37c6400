package reactor

import (
	"maps"
	"slices"
	"time"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/reactor/form"
	"github.com/graphd/graphd/internal/reactor/pace"
)

// Books are one input's counters (M42), in events.
type Books struct {
	Received, Filtered, Conflated, Rejected, DeadLettered, Consumed, Queued int64
}

// View is a consistent look at a core between two epochs.
type View struct {
	Health       Health
	Code, Detail string
	Persist      Obstacle // why nothing is made durable, whatever else the health names
	Paused       bool
	PausedBy     string
	Degraded     []string
	WaitingFor   []string
	Epoch        int64
	Frames       int64
	LastFired    time.Time
	DueAt        time.Time // when what waits for a timer may fire; zero when nothing does
	Inputs       []InputView
	Emitted      []int64 // per output
	Filtered     []int64 // per output, values that were kept back
	// Held and Refused are, per output, values that wait for a commit and those that became dead
	// letters; HeldSince is when the first of the waiting was emitted, by the wall clock.
	Held, Refused  []int64
	HeldSince      []time.Time
	StoppedOutputs []*Stopped // per output; nil for those that go on
	DeadLetters    int        // dead letters not yet in the store
	// Keys is how many keys there are, Evicted how many have been evicted in all; both are 0
	// in an unkeyed graph.
	Keys    int
	Evicted int64
	// WaitingBytes is about what waits in the queues of keys, Overflowed how many boundaries
	// keys could not hold, in all.
	WaitingBytes, Overflowed int64
	// Paces are what the lanes with a cadence have done, by their place in [graph.Plan.Rates].
	Paces []pace.Told

	stats *Stats // nil before the first epoch
}

// Stats are what the epochs have counted.
func (v *View) Stats() (s Stats) {
	if v.stats != nil {
		s = *v.stats
	}
	return s
}

// InputView is one input in a View.
type InputView struct {
	Health           accumulator.Health
	Code, Detail     string
	Dirty            bool
	Depth            int   // boundaries waiting, over all keys: in queues, or 1 for a dirty latest input
	DepthBytes, Late int64 // about how many bytes they hold; events that came too late for the fold
	// Own is what of that keys hold which wait: it takes no room of the input.
	Own         Credit
	Books       Books
	Positions   []boundary.Position
	LastEventAt time.Time
	Reasons     map[string]int64       // dead-lettered events, by code
	Stopped     *Stopped               // nil when it goes on
	Keys        *FoldKeys              // nil unless it folds by key, and until it has said so since the start
	History     *accumulator.History   // nil unless it keeps what it was
	Timed       *accumulator.Watermark // nil unless it goes by the time of events, and before the first
}

// mostPartitions are in a view: one that holds the others back is the first.
const mostPartitions = 64

// FoldKeys is how many keys an accumulator has a state for and may have, and how many it has evicted in all.
type FoldKeys struct {
	Count, Max int
	Evicted    int64
}

// Look is the core as an operator sees it.
func (c *Core) Look() View {
	v := View{
		Health: c.life.state, Code: c.life.code, Detail: c.life.detail, Persist: c.life.persist,
		Paused: c.paused, PausedBy: c.pausedBy, Degraded: c.Degraded(), WaitingFor: c.WaitingFor(),
		Epoch: c.epoch, Frames: c.frames, LastFired: c.lastFired,
		Inputs: make([]InputView, len(c.accs)), Emitted: append([]int64(nil), c.emitted...),
		Filtered:    append([]int64(nil), c.filtered...),
		DeadLetters: c.DeadLettersPending(),
	}
	if c.work != nil {
		stats := c.stats
		v.stats = &stats
	}
	if at, ok := c.FireDue(); ok && at.After(c.now) {
		v.DueAt = at
	}
	v.Keys, v.Evicted = c.KeyCount()
	v.Paces = c.pace.Told()
	v.WaitingBytes, v.Overflowed = c.waitingBytes(), c.keys.overflowed
	v.Held, v.Refused = append(v.Held, c.holds.pending...), append(v.Refused, c.refused...)
	v.HeldSince = make([]time.Time, len(c.emitted))
	v.StoppedOutputs = slices.Clone(c.stops.outputs)
	for i := len(c.holds.list) - 1; i >= 0; i-- {
		v.HeldSince[c.holds.list[i].To] = c.holds.list[i].Emitted
	}
	for i := range c.accs {
		acc := &c.accs[i]
		v.Inputs[i] = InputView{
			Health: acc.health, Code: acc.code, Detail: acc.detail, Books: c.Books(i),
			Positions: acc.mark.Positions, LastEventAt: acc.mark.LastEventAt, Reasons: maps.Clone(acc.reasons),
			Dirty: acc.waiting.boundaries > 0, Depth: acc.waiting.boundaries, DepthBytes: acc.waiting.bytes,
			Own: Credit{acc.own.boundaries, acc.own.bytes}, Stopped: c.stops.inputs[i], Late: acc.mark.Late,
		}
		if s := c.stages.Of(i); s != nil {
			v.Inputs[i].Late = s.Late() // its mark is made when it is sealed
		}
		state := acc.mark.State
		if acc.table != nil {
			state = acc.table
		}
		if s, ok := state.(accumulator.KeyedState); ok {
			if count, most, evicted := s.Keys(); most > 0 {
				v.Inputs[i].Keys = &FoldKeys{Count: count, Max: most, Evicted: evicted}
			}
		}
		if s, ok := state.(accumulator.HistoriedState); ok {
			if past, keeps := s.History(); keeps {
				v.Inputs[i].History = &past
			}
		}
		if s, ok := state.(accumulator.TimingState); ok {
			v.Inputs[i].Timed = s.Partitioned(mostPartitions)
		}
		if s := c.stops.inputs[i]; s != nil {
			v.Inputs[i].Health, v.Inputs[i].Code, v.Inputs[i].Detail = accumulator.Stopped, "stopped", s.String()
		}
	}
	return v
}

// Books adds the reactor's share of an input's accounts to the accumulator's. Queued is
// counted where boundaries come and go, not derived: that is what makes the equation a check.
func (c *Core) Books(i int) Books {
	acc := &c.accs[i]
	m := acc.mark.Counters
	if s := c.stages.Of(i); s != nil {
		m = s.Counters() // its mark is made when it is sealed
	}
	return Books{
		Received: m.Received, Rejected: m.Rejected,
		Filtered: m.Filtered + acc.filtered, DeadLettered: m.DeadLettered + acc.dead,
		Conflated: acc.conflated, Consumed: acc.consumed, Queued: m.Open + acc.waiting.events,
	}
}

// Queued is how many boundaries of input i wait in queues, over all keys.
func (c *Core) Queued(i int) int {
	if !c.cfg.Inputs[i].bounded() {
		return 0
	}
	return c.accs[i].waiting.boundaries
}

// EachWaiting calls each with the admission sequence of all that waits in keys for a cut.
func (c *Core) EachWaiting(each func(seq uint64)) {
	for k := range c.keys.byKey.All() {
		for _, s := range k.slots {
			for n := range s.queue.len() {
				each(s.queue.at(n).since)
			}
			if s.pend != nil {
				each(s.since)
			}
		}
	}
}

// EachArrival calls each with the admission sequence of the last arrival of every key.
func (c *Core) EachArrival(each func(seq uint64)) {
	for k := range c.keys.byKey.All() {
		each(k.arrival)
	}
}

// State is what GetState answers: the newest value of every input, its flag and queue, and
// the value of every node.
type State struct {
	Cache  []boundary.Value
	Dirty  []bool
	Queues []int
	Nodes  []boundary.Value
	Paused bool
	Epoch  int64
}

// LastKey is the key of the last epoch, "" before the first and in an unkeyed graph.
func (c *Core) LastKey() boundary.Key { return c.cell.key }

// GetState copies the state of a key out, the key being "" in an unkeyed graph; values are
// shared and immutable. A key that the graph does not have is [ErrNoKey].
func (c *Core) GetState(key boundary.Key) (State, error) {
	k, err := c.find(key)
	if err != nil {
		return State{}, err
	}
	st := State{Paused: c.paused, Epoch: c.epoch}
	for i := range c.cfg.Inputs {
		s := c.slotOf(k, i)
		v := c.worth(k, i)
		if s.pend != nil {
			v = s.pend.Value
		}
		st.Cache = append(st.Cache, v)
		st.Dirty = append(st.Dirty, s.dirty())
		st.Queues = append(st.Queues, s.queue.len())
	}
	for i := range c.cfg.Plan.Nodes() {
		st.Nodes = append(st.Nodes, k.nodes.Node(i))
	}
	return st, nil
}

// DeadLettersPending is how many dead letters are not in the store yet.
func (c *Core) DeadLettersPending() int { return len(c.deadLetters) + c.sealing }

// DrainDeadLetters takes the dead letters that would go to the store with the next seal, for a
// core that is never sealed.
func (c *Core) DrainDeadLetters() []checkpoint.DeadLetter {
	letters := c.deadLetters
	c.deadLetters = nil
	return letters
}

// ResumePoint is where input i's accumulator goes on after a restart: its last admitted mark,
// with the fold's state encoded (M35), but for that of a table.
func (c *Core) ResumePoint(i int) (m accumulator.Mark, state []byte) {
	m = c.accs[i].mark
	if c.cfg.Inputs[i].Table != nil {
		m.State = c.accs[i].table // a handle that the next accumulator goes on from, however large it is
		return m, nil
	}
	if m.State != nil {
		return m, m.State.AppendBinary(nil)
	}
	return m, c.restoredState(i)
}

// Wants reports whether Fire may find something to do at now: an epoch is called for and waits for no
// timer, or the cadence is due.
func (c *Core) Wants(now time.Time) bool {
	if !c.Settled() {
		if at, timed := c.FireDue(); !timed || !at.After(now) {
			return true
		}
	}
	tick, ok := c.nextTick()
	return ok && c.mayFire() && tick <= form.Nano(now)
}

// Settled reports whether nothing is left to fire, now or when a timer has run out: no cut can
// be taken by the criteria as they stand. A paused graph is settled.
func (c *Core) Settled() bool {
	return !c.mayFire() || c.cfg.Keys == nil && c.cell.waits || !c.wants()
}

// Resting reports whether nothing is left to fire now: what is called for waits for a timer.
func (c *Core) Resting() bool {
	if c.Settled() {
		return true
	}
	at, ok := c.FireDue()
	return ok && at.After(c.now)
}
