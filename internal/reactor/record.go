package reactor

import (
	"time"

	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/boundary/traced"
	"github.com/graphd/graphd/internal/graph"
	"github.com/graphd/graphd/internal/reactor/pace"
)

// Record is what one epoch saw and did. The values are shared and immutable; the
// record itself is reused once the ring has gone round, so keep a Clone.
type Record struct {
	Epoch, Incarnation int64
	// Seq is the number of the record's first watch frame: one for each output, then one for the firing.
	Seq      int64
	At       time.Time
	Cause    Cause
	Key      boundary.Key
	Err      string // "" when the epoch was kept
	ErrCode  string
	Duration time.Duration
	Degraded []string
	Inputs   []boundary.Value // absent where the input is a table
	Tables   []TableRead
	Looked   []LookedUp
	Cut      []CutInput
	Nodes    []graph.NodeResult
	Emitted  []graph.Emission
	Tick     pace.Tick // the lanes that ticked in it

	held int64 // of its values, what the record before it has not; see [Core.Weigh]
}

// CutInput is what the cut took from one input.
type CutInput struct {
	Taken  bool
	Events int64
	At     boundary.Position
	Links  *traced.Links
}

// Clone is a copy that outlives the ring.
func (r *Record) Clone() *Record {
	n := *r
	n.Inputs = append([]boundary.Value(nil), r.Inputs...)
	n.Cut = append([]CutInput(nil), r.Cut...)
	n.Tables, n.Looked = append([]TableRead(nil), r.Tables...), append([]LookedUp(nil), r.Looked...)
	n.Nodes = append([]graph.NodeResult(nil), r.Nodes...)
	n.Emitted = append([]graph.Emission(nil), r.Emitted...)
	return &n
}

// ring keeps the newest records. Each slot's slices are reused, so that a record costs
// copies and no allocation once the ring has gone round.
type ring struct {
	keep    int
	slots   []Record
	total   int64   // records ever made
	scratch *Record // where records go when none are kept; nil before the first
	sealed  int64   // of total, how many a seal has covered
	shown   int64   // of total, how many watchers may see; all, without a journal
}

// next is the slot for a new record.
func (r *ring) next() *Record {
	if r.keep <= 0 {
		if r.scratch == nil {
			r.scratch = new(Record)
		}
		return r.scratch
	}
	i := int(r.total % int64(r.keep))
	if i == len(r.slots) {
		r.slots = append(r.slots, Record{})
	}
	return &r.slots[i]
}

// at is the n-th record ever made, which must still be in the ring.
func (r *ring) at(n int64) *Record { return &r.slots[n%int64(r.keep)] }

// oldest is the number of the oldest record still in the ring.
func (r *ring) oldest() int64 { return max(0, r.total-int64(len(r.slots))) }

// record notes an epoch: what its cut holds and, when the plan ran, what its nodes did and
// what it emitted.
func (c *Core) record(cause Cause, ran bool) *Record {
	r := c.ring.next()
	if c.ring.keep <= 0 && c.cfg.Observe == nil { // nobody reads more than the reply to a command has
		c.jot(r, cause, ran)
		return r
	}
	c.weigher.records -= r.held
	r.held = 0
	r.Epoch, r.Incarnation, r.At, r.Cause, r.Key = c.epoch, c.cfg.Incarnation, c.now, cause, c.cell.key
	r.Err, r.ErrCode, r.Degraded = "", "", c.degradedNow()
	if r.Emitted, r.Tick = r.Emitted[:0], (pace.Tick{}); cause == CauseTick {
		r.Tick = c.tick
	}
	if ran {
		c.res.Count(&c.stats.Counts)
		r.Emitted = append(r.Emitted, c.res.Emitted...)
	}
	c.recordDetail(r, ran)
	return r
}

// jot is record of what is read until the next epoch alone: what was emitted is the result's.
func (c *Core) jot(r *Record, cause Cause, ran bool) {
	r.Epoch, r.Incarnation, r.At, r.Cause, r.Key = c.epoch, c.cfg.Incarnation, c.now, cause, c.cell.key
	r.Err, r.ErrCode, r.Degraded, r.Emitted = "", "", c.degradedNow(), nil
	if ran {
		c.res.Count(&c.stats.Counts)
		r.Emitted = c.res.Emitted
	}
}

// recordDetail notes what the cut holds and, when the plan ran, what the nodes did.
func (c *Core) recordDetail(r *Record, ran bool) {
	r.Inputs, r.Cut, r.Nodes = append(r.Inputs[:0], c.cut.values...), r.Cut[:0], r.Nodes[:0]
	r.Tables, r.Looked = r.Tables[:0], r.Looked[:0]
	c.recordTables(r)
	for i, b := range c.cut.take {
		in := CutInput{At: c.slot(i).at.position()}
		if b != nil {
			in = CutInput{Taken: true, Events: b.Events, At: b.Last, Links: b.Links}
		}
		r.Cut = append(r.Cut, in)
	}
	if !ran {
		return
	}
	for i := range c.cfg.Plan.Nodes() {
		r.Nodes = append(r.Nodes, c.res.Node(i))
	}
}

// finish closes a record: duration, watch numbers, statistics.
func (c *Core) finish(r *Record) {
	r.Duration = 0
	if c.cfg.Mono != nil {
		r.Duration = time.Duration(c.cfg.Mono() - c.began)
	}
	c.took = r.Duration
	r.Seq = c.frames + 1
	c.frames += int64(len(r.Emitted)) + 1
	c.timedOut = r.ErrCode == graph.CodeEpochTimeout
	if c.ep.Ticks != 0 {
		c.pace.Ran(c.tick)
		c.reassess() // a lane may keep to its rate again, or not
	}
	c.ring.total++
	c.works() // one that has failed before the plan ran is counted too
	c.stats.count(r)
	if c.cfg.Observe != nil && c.journal.replay == nil {
		c.cfg.Observe(r)
	}
}

// Took is how long the epoch of the last Fire took, or the false guard in its place; 0 where there was none, and in
// virtual time.
func (c *Core) Took() time.Duration { return c.took }

// Records calls visit for the records from number from on, oldest first, while it answers
// true. In a journaled graph they end with what Show allows. Numbers count every record of this
// incarnation, from 0; total is the next one.
func (c *Core) Records(from int64, visit func(n int64, r *Record) bool) (total int64) {
	to := c.ring.total
	if c.cfg.Journal {
		to = c.ring.shown
	}
	c.ring.visit(from, to, visit)
	return to
}

// RecordsMade is how many records there are, those that are not to be seen yet included.
func (c *Core) RecordsMade() int64 { return c.ring.total }

// Show lets watchers see records up to a number: in a journaled graph, those whose epochs
// are in the journal.
func (c *Core) Show(records int64) { c.ring.shown = max(c.ring.shown, records) }

// Hidden is how many records watchers may not see yet.
func (c *Core) Hidden() int { return int(c.ring.total - c.ring.shown) }

// FramesShown is the number of the last frame that watchers may see, as far as the ring goes back.
func (c *Core) FramesShown() int64 {
	if !c.cfg.Journal || c.ring.shown >= c.ring.total || c.ring.keep <= 0 {
		return c.frames
	}
	return c.ring.at(max(c.ring.shown, c.ring.oldest())).Seq - 1
}

func (r *ring) visit(from, to int64, each func(n int64, rec *Record) bool) {
	if r.keep > 0 {
		for n := max(from, r.oldest()); n < to && each(n, r.at(n)); n++ {
		}
	}
}

// RecordsBefore calls visit for up to n records with an epoch below the given one, newest
// first; of one key, or with "" of all.
func (c *Core) RecordsBefore(epoch int64, key boundary.Key, n int, visit func(r *Record)) {
	if c.ring.keep <= 0 {
		return
	}
	for k := c.ring.total - 1; k >= c.ring.oldest() && n > 0; k-- {
		if r := c.ring.at(k); r.Epoch < epoch && (key == "" || r.Key == key) {
			visit(r)
			n--
		}
	}
}
