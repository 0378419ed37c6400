package reactor

import (
	"maps"
	"time"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/reactor/form"
	"github.com/graphd/graphd/internal/sink"
)

// changes is what happened since the last seal, by cell.
type changes struct {
	slots, accs []bool
	plan        []bool // by index into the plan's cells
	head        bool
	// gone are queue cells to delete: taken by a cut after a seal had written them.
	gone []queueCell
	// sealedTo is, per input, the greatest admission sequence a seal has written.
	sealedTo []uint64
	keyChanges
}

type queueCell struct {
	input int
	seq   uint64
	key   boundary.Key
}

func (ch *changes) init(inputs, planCells int) {
	ch.slots, ch.accs, ch.plan = make([]bool, inputs), make([]bool, inputs), make([]bool, planCells)
	ch.sealedTo = make([]uint64, inputs)
}

// Seal is a graph's changes since the last one, frozen between two epochs. Values in it
// are immutable handles: they are encoded by Commit, on the committing goroutine.
type Seal struct {
	Epoch   int64
	commit  checkpoint.Commit
	cfg     *Config
	slots   []sealedSlot
	queue   []sealedBoundary
	keys    []sealedKey
	accs    []sealedAccount
	parts   []sealedPart
	records []*Record
	held    []held         // messages of outboxes and co-transactions
	sinks   []int          // by index of commit.Rows: the output
	rows    [][]int        // by index of commit.Rows: which of held each row is
	numbers []int64        // per output, the last number that the state covers
	carried []sink.Message // on the direct path and not through when the commit was sent
	refused int            // see Refused; one more than the output

	before changes // as of the seal, to merge back when the commit fails
	ringTo int64
}

type sealedSlot struct {
	input int
	form.Slot
}

type sealedBoundary struct {
	queueCell
	queued
}

type sealedAccount struct {
	input    int
	mark     accumulator.Mark
	restored []byte
	parts    map[string]any // what the store holds when the seal has succeeded
}

func (a *sealedAccount) kept(identity string) *form.Account {
	return &form.Account{Identity: identity, Mark: a.mark, State: a.restored}
}

func (it *queued) kept() *form.Queued {
	return &form.Queued{B: it.b, Seq: it.seq, Since: it.since, At: it.at}
}

// Seal freezes the changes since the last seal. One seal is out at a time: Sealed must
// have been told of the one before.
func (c *Core) Seal(now time.Time) *Seal {
	c.advance(now)
	s := &Seal{Epoch: c.epoch, cfg: &c.cfg, before: c.changes, ringTo: c.ring.total}
	c.passOpen()
	c.cutJournal()
	c.markStages()
	s.commit = checkpoint.Commit{
		JournalTo: c.journal.seq, ID: c.cfg.ID, Fence: c.cfg.Fence, Epoch: c.epoch, At: c.housekeeping(),
		KeepFirings: c.cfg.KeepFirings,
		DeadLetters: c.deadLetters, Meta: c.meta(),
	}
	c.sealing, c.deadLetters = len(c.deadLetters), nil
	c.sealHeld(s)
	c.ring.visit(c.ring.sealed, c.ring.total, func(_ int64, r *Record) bool {
		s.records = append(s.records, r.Clone())
		return true
	})
	c.ring.sealed = c.ring.total
	fresh := changes{}
	fresh.init(len(c.accs), len(c.changes.plan))
	copy(fresh.sealedTo, c.changes.sealedTo)
	if c.cfg.Forgetful {
		s.commit.Cells = append(s.commit.Cells, c.changes.stale...)
	} else {
		c.sealCells(s, &fresh)
	}
	c.changes = fresh
	return s
}

func (c *Core) sealCells(s *Seal, fresh *changes) {
	for i := range c.shared.slots {
		sl := &c.shared.slots[i]
		if c.changes.slots[i] {
			s.slots = append(s.slots, sealedSlot{i, c.sealSlot(i, sl)})
		}
		c.sealQueue(s, fresh, c.shared, i)
		if c.changes.accs[i] {
			s.accs = append(s.accs, sealedAccount{i, c.accs[i].mark, c.accs[i].restored, c.sealParts(s, i)})
		}
	}
	for i, cell := range c.cfg.Plan.Cells() {
		if c.changes.plan[i] {
			s.commit.Cells = append(s.commit.Cells, checkpoint.Cell{
				Kind: string(cell.Kind), Name: cell.Name,
				Data: c.cfg.Plan.EncodeCell(&c.shared.nodes, i),
			})
		}
	}
	for _, q := range c.changes.gone {
		s.commit.Cells = append(s.commit.Cells, checkpoint.Cell{
			Kind: form.CellQueue, Name: c.queueName(q), Key: string(q.key),
		})
	}
	for _, cell := range c.changes.stale {
		if !c.rewritten(&cell) {
			s.commit.Cells = append(s.commit.Cells, cell)
		}
	}
	if c.cfg.Keys != nil {
		c.sealKeys(s, fresh)
	}
}

// rewritten reports whether a stale cell of the plan is written by the same seal: of a node that
// means something else by now, and has run.
func (c *Core) rewritten(stale *checkpoint.Cell) bool {
	for i, own := range c.cfg.Plan.Cells() {
		if c.changes.plan[i] && string(own.Kind) == stale.Kind && own.Name == stale.Name {
			return true
		}
	}
	return false
}

// sealQueue takes what was queued for input i of a key since the last seal: it is at the end.
func (c *Core) sealQueue(s *Seal, fresh *changes, k *cell, i int) {
	q := c.slotOf(k, i).queue
	n := q.len()
	for n > 0 && q.at(n-1).seq > c.changes.sealedTo[i] {
		n--
	}
	for ; n < q.len(); n++ {
		it := q.at(n)
		s.queue = append(s.queue, sealedBoundary{queueCell{i, it.seq, k.key}, *it})
		fresh.sealedTo[i] = max(fresh.sealedTo[i], it.seq)
	}
}

func (c *Core) queueName(q queueCell) string { return queueName(&c.cfg, q) }

func queueName(cfg *Config, q queueCell) string {
	return form.QueueName(cfg.Inputs[q.input].Name, q.seq)
}

func (c *Core) meta() []byte {
	m := form.Meta{
		Shards: c.cfg.Shards, DealtBy: c.cfg.DealtBy, DealtOn: c.cfg.DealtOn, Plan: c.cfg.PlanHash,
		Epoch: c.epoch, Frames: c.frames,
		Unbroken: c.Unbroken(), DealtFrames: c.framesDealt,
		Paused: c.paused, PausedBy: c.pausedBy, PausedAt: c.pausedAt,
		StoppedInputs:  stoppedNames(c.stops.inputs, func(i int) string { return c.cfg.Inputs[i].Name }),
		StoppedOutputs: stoppedNames(c.stops.outputs, func(i int) string { return c.cfg.Outputs[i] }),
		Letters:        c.letterNo, Journal: c.journal.seq,
	}
	if !c.cfg.Forgetful {
		c.metaOfState(&m) // books without the state they are of would not balance
	}
	m.Outbox = maps.Clone(c.holds.known)
	for i, n := range c.holds.seq {
		if n > 0 {
			if m.Outbox == nil {
				m.Outbox = make(map[string]int64)
			}
			m.Outbox[c.cfg.Outputs[i]] = n
		}
	}
	return m.Append(nil)
}

// metaOfState adds what goes with the cells.
func (c *Core) metaOfState(m *form.Meta) {
	m.Stamp, m.Admitted, m.Now = c.stamp, c.admitted, c.now
	m.Evicted, m.Overflowed = c.keys.evicted, c.keys.overflowed
	m.Clock, m.Open, m.Waits = c.cfg.clock(), form.Stored(c.open), c.shared.waits
	m.LastStart, m.LastFired = c.lastStart, c.lastFired
	m.First, m.Last = form.Stored(c.shared.times.first), form.Stored(c.shared.times.last)
	if m.Waited = c.waited; c.work != nil {
		m.Waited = c.res.Waited()
	}
	m.Ticked, m.Pace = form.Stored(c.ticked), c.pace.State()
	m.Books = make(map[string]form.Books, len(c.accs))
	for i := range c.accs {
		if sl := &c.shared.slots[i]; sl.pend != nil {
			if m.Since == nil {
				m.Since = make(map[string]uint64)
			}
			m.Since[c.cfg.Inputs[i].Name] = sl.since
		}
		a := &c.accs[i]
		m.Books[c.cfg.Inputs[i].Name] = form.Books{Filtered: a.filtered, Conflated: a.conflated,
			DeadLettered: a.dead, Consumed: a.consumed, Reasons: a.reasons}
	}
	m.Emitted, m.Filtered = make(map[string]int64, len(c.emitted)), c.byOutput(c.filtered)
	for i, n := range c.emitted {
		m.Emitted[c.cfg.Outputs[i]] = n
	}
	m.Refused, m.Defaults, m.Joins = c.byOutput(c.refused), c.defaults, c.joins()
	m.Keys, m.Caught = c.cfg.keyIdentities(), c.caughtNames()
	if k := c.keys.halted; k != nil {
		m.Halted = string(k.key)
	}
}

// byOutput are the counts of outputs that are not 0, by name.
func (c *Core) byOutput(counts []int64) map[string]int64 {
	by := make(map[string]int64)
	for i, n := range counts {
		if n > 0 {
			by[c.cfg.Outputs[i]] = n
		}
	}
	return by
}

// Commit encodes the seal. Seq is left to the caller, who counts commits. It may be
// called from any goroutine, and again for a retry.
func (s *Seal) Commit() *checkpoint.Commit {
	out := s.commit
	out.Cells = append([]checkpoint.Cell(nil), s.commit.Cells...)
	for _, sl := range s.slots {
		out.Cells = append(out.Cells, checkpoint.Cell{
			Kind: form.CellInput, Name: s.cfg.Inputs[sl.input].Name, Data: sl.AppendShared(nil),
		})
	}
	for _, q := range s.queue {
		out.Cells = append(out.Cells, checkpoint.Cell{
			Kind: form.CellQueue, Name: queueName(s.cfg, q.queueCell), Key: string(q.key), Data: q.kept().Append(nil),
		})
	}
	for i := range s.keys {
		out.Cells = append(out.Cells, checkpoint.Cell{
			Kind: form.CellKey, Key: string(s.keys[i].key), Data: encodeKey(s.cfg, &s.keys[i]),
		})
	}
	for _, a := range s.accs {
		in := &s.cfg.Inputs[a.input]
		out.Cells = append(out.Cells, checkpoint.Cell{
			Kind: form.CellAccount, Name: in.Name, Data: a.kept(in.Identity).Append(nil, false),
		})
	}
	out.Outbox = s.outboxEntries()
	for _, p := range s.parts {
		out.Cells = append(out.Cells, checkpoint.Cell{Kind: form.CellPart,
			Name: s.cfg.Inputs[p.input].Name + "/" + p.Name, Data: p.Append(nil)})
	}
	for _, r := range s.records {
		out.Firings = append(out.Firings, checkpoint.Firing{
			Epoch: r.Epoch, Incarnation: r.Incarnation, Key: string(r.Key), Data: s.cfg.AppendRecord(nil, r),
		})
	}
	return &out
}

// Sealed tells the core what became of its seal. A clean error merges the changes back,
// so that the next seal carries them again.
func (c *Core) Sealed(s *Seal, err error) {
	c.sealing = 0
	c.heldSealed(s, err)
	if err == nil {
		for _, a := range s.accs {
			c.accs[a.input].parts.sealed = a.parts
			if _, ok := a.mark.State.(accumulator.TrackedState); ok {
				c.accs[a.input].parts.base = a.mark.State
			}
		}
		return
	}
	b := &s.before
	for i := range b.slots {
		c.changes.slots[i] = c.changes.slots[i] || b.slots[i]
		c.changes.accs[i] = c.changes.accs[i] || b.accs[i]
		c.changes.sealedTo[i] = b.sealedTo[i]
	}
	for i := range b.plan {
		c.changes.plan[i] = c.changes.plan[i] || b.plan[i]
	}
	c.changes.head = c.changes.head || b.head
	c.changes.gone = append(b.gone, c.changes.gone...)
	c.changes.restoreKeys(&b.keyChanges)
	c.deadLetters = append(s.commit.DeadLetters, c.deadLetters...)
	c.ring.sealed = min(c.ring.sealed, s.ringTo-int64(len(s.records)))
}

// Changed reports whether there is anything to seal.
func (c *Core) Changed() bool {
	if c.changes.head || len(c.deadLetters) > 0 || len(c.holds.list) > 0 || c.ring.total > c.ring.sealed ||
		len(c.changes.gone) > 0 || c.changes.anyKeys() {
		return true
	}
	for i := range c.changes.slots {
		if c.changes.slots[i] || c.changes.accs[i] {
			return true
		}
	}
	for _, n := range c.changes.plan {
		if n {
			return true
		}
	}
	return false
}
