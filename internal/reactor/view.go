package reactor

import (
	"time"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/checkpoint"
)

// Books are one input's counters (M42), in events.
type Books struct {
	Received, Filtered, Conflated, Rejected, DeadLettered, Consumed, Queued int64
}

// View is a consistent look at a core between two epochs.
type View struct {
	Health       Health
	Code, Detail string
	Paused       bool
	PausedBy     string
	Degraded     []string
	WaitingFor   []string
	Epoch        int64
	Frames       int64
	LastFired    time.Time
	Inputs       []InputView
	Emitted      []int64 // per output
	Stats        Stats
	Letters      int // dead letters not yet in the store
}

// InputView is one input in a View.
type InputView struct {
	Health       accumulator.Health
	Code, Detail string
	Dirty        bool
	Depth        int   // boundaries waiting in the queue, or 1 for a dirty latest input
	DepthBytes   int64 // about how many bytes they hold
	Books        Books
	Positions    []boundary.Position
	LastEventAt  time.Time
}

// Look is the core as an operator sees it.
func (c *Core) Look() View {
	v := View{
		Health: c.life.state, Code: c.life.code, Detail: c.life.detail,
		Paused: c.paused, PausedBy: c.pausedBy, Degraded: c.Degraded(), WaitingFor: c.WaitingFor(),
		Epoch: c.epoch, Frames: c.frames, LastFired: c.lastFired,
		Inputs: make([]InputView, len(c.accs)), Emitted: append([]int64(nil), c.emitted...),
		Stats: c.stats, Letters: len(c.letters),
	}
	for i := range c.accs {
		acc, s := &c.accs[i], &c.cell.slots[i]
		in := InputView{
			Health: acc.health, Code: acc.code, Detail: acc.detail, Dirty: s.dirty(), Books: c.books(i),
			Positions: acc.mark.Positions, LastEventAt: acc.mark.LastEventAt, Depth: s.queue.len(),
		}
		for k := range s.queue.len() {
			in.DepthBytes += int64(s.queue.at(k).b.Size)
		}
		if s.pend != nil {
			in.Depth, in.DepthBytes = 1, int64(s.pend.Size)
		}
		v.Inputs[i] = in
	}
	return v
}

// books adds the reactor's share of an input's accounts to the accumulator's. Queued is
// counted, not derived: that is what makes the equation a check.
func (c *Core) books(i int) Books {
	acc, s := &c.accs[i], &c.cell.slots[i]
	m := acc.mark.Counters
	b := Books{
		Received: m.Received, Rejected: m.Rejected,
		Filtered: m.Filtered + acc.filtered, DeadLettered: m.DeadLettered + acc.dead,
		Conflated: acc.conflated, Consumed: acc.consumed, Queued: m.Open,
	}
	for k := range s.queue.len() {
		b.Queued += s.queue.at(k).b.Events
	}
	if s.pend != nil {
		b.Queued += s.pend.Events
	}
	return b
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

// GetState copies the state out; values are shared and immutable.
func (c *Core) GetState() State {
	st := State{Paused: c.paused, Epoch: c.epoch}
	for i := range c.cell.slots {
		s := &c.cell.slots[i]
		v := s.cur
		if s.pend != nil {
			v = s.pend.Value
		}
		st.Cache = append(st.Cache, v)
		st.Dirty = append(st.Dirty, s.dirty())
		st.Queues = append(st.Queues, s.queue.len())
	}
	for i := range c.cfg.Plan.Nodes() {
		st.Nodes = append(st.Nodes, c.cell.nodes.Node(i))
	}
	return st
}

// LettersPending is how many dead letters are not in the store yet.
func (c *Core) LettersPending() int { return len(c.letters) + c.sealing }

// TakeLetters takes the dead letters that would go to the store with the next seal, for a
// core that is never sealed.
func (c *Core) TakeLetters() []checkpoint.DeadLetter {
	letters := c.letters
	c.letters = nil
	return letters
}

// ResumePoint is where input i's accumulator goes on after a restart: its last admitted mark,
// with the fold's state encoded (M35).
func (c *Core) ResumePoint(i int) (m accumulator.Mark, state []byte) {
	m = c.accs[i].mark
	if m.State != nil {
		return m, m.State.AppendBinary(nil)
	}
	return m, c.accs[i].restored
}

// Resting reports whether nothing is left to fire: no cut can be taken by the criteria as
// they stand. A paused graph rests.
func (c *Core) Resting() bool { return !c.mayFire() || c.guardWaits || !c.wants() }
