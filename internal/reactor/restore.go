package reactor

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/graph"
	"github.com/graphd/graphd/internal/reactor/form"
)

// ErrCorrupt says that a checkpoint cannot be read. The graph halts: it never starts
// empty over a state that is there.
var ErrCorrupt = errors.New("checkpoint cannot be read")

// ErrDealt says that a state was dealt for another number of shards, or by another function: it is a part of another
// whole.
var ErrDealt = errors.New("the keys in the checkpoint are dealt to other shards")

// Dealt is the number of shards that a head's state was dealt for; 0 where nothing was ever committed.
func Dealt(record []byte) (shards int, err error) {
	m, there, err := form.ReadMeta(record)
	if err != nil {
		return 0, fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	if !there {
		return 0, nil
	}
	return m.Dealt(), nil
}

// DealtBy is the name of the function that a head's state was dealt by, "" is graphd's own, and by what of the events,
// see [Config.DealtOn].
func DealtBy(record []byte) (name, on string, err error) {
	m, _, err := form.ReadMeta(record)
	if err != nil {
		return "", "", fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	return m.DealtBy, m.DealtOn, nil
}

// Covered is the last entry of the journal that a head's state covers.
func Covered(record []byte) (seq int64, err error) {
	m, _, err := form.ReadMeta(record)
	if err != nil {
		return 0, fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	return m.Journal, nil
}

// Restore loads a checkpoint. Call it once, before Start. What belongs to a name that is
// gone, or whose meaning has changed, is dropped and named in dropped (M33).
func (c *Core) Restore(head checkpoint.Head, cells []checkpoint.Cell) (dropped []string, err error) {
	c.epoch = head.Epoch
	if c.cfg.Forgetful {
		c.journal.seq = head.Journal // what an earlier declaration has left is not replayed
	}
	m, there, err := form.ReadMeta(head.Meta)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	if !there {
		return nil, nil
	}
	if m.Dealt() != max(c.cfg.Shards, 1) {
		return nil, fmt.Errorf("%w: %d, and not %d", ErrDealt, m.Dealt(), max(c.cfg.Shards, 1))
	}
	if m.Dealt() > 1 && m.DealtBy != c.cfg.DealtBy {
		return nil, fmt.Errorf("%w: by %q, and not by %q", ErrDealt, m.DealtBy, c.cfg.DealtBy)
	}
	c.frames, c.framesBefore, c.framesDealt = m.Frames, m.Frames, m.DealtFrames
	if head.Clean {
		c.unbroken = m.Unbroken
	}
	for i, name := range c.cfg.Outputs {
		c.SetOutboxSeq(i, m.Outbox[name])
	}
	c.holds.known = m.Outbox
	c.paused, c.pausedBy, c.pausedAt = m.Paused, m.PausedBy, m.PausedAt
	c.restoreStops(&m)
	if c.cfg.Forgetful {
		// The books begin anew with the state, which is gone for good.
		for i := range cells {
			c.changes.stale = append(c.changes.stale,
				checkpoint.Cell{Kind: cells[i].Kind, Name: cells[i].Name, Key: cells[i].Key})
		}
		return nil, nil
	}
	c.restoreMeta(&m)
	from := &restoring{meta: &m, have: make([]bool, len(c.cfg.Inputs))}
	if from.layouts, dropped, err = c.restoreLayouts(cells, &m); err != nil {
		return nil, err
	}
	kept, more, err := c.restoreCells(cells, from)
	if err != nil {
		return nil, err
	}
	dropped = append(dropped, more...)
	if err := c.restoreTables(); err != nil {
		return nil, err
	}
	if err := c.restoreKeyQueues(cells); err != nil {
		return nil, err
	}
	if m.Plan != c.cfg.PlanHash {
		// A node that computes something else now starts as if it had never run.
		for i, n := range c.cfg.Plan.Nodes() {
			for _, kind := range []graph.CellKind{graph.NodeCell, graph.MemoryCell} {
				if kept[graph.Cell{Kind: kind, Name: n.Name}] && c.cfg.Plan.Fresh(&c.shared.nodes, i) {
					dropped = append(dropped, "node "+n.Name)
					c.stale(string(kind), n.Name)
				}
			}
		}
	}
	c.orderRestored(from)
	if c.cfg.Keys != nil {
		c.orderKeys(m.Plan == c.cfg.PlanHash)
		c.keys.halted = c.keys.byKey.Get(boundary.Key(m.Halted))
	}
	c.leaveSides()
	slices.Sort(dropped)
	return slices.Compact(dropped), c.restoreStages()
}

// restoreMeta takes over what the head says of the reactor itself.
func (c *Core) restoreMeta(m *form.Meta) {
	c.journal.seq = m.Journal
	c.admitted, c.stamp, c.keys.evicted = m.Admitted, max(m.Stamp, c.stamp), m.Evicted
	c.keys.overflowed = m.Overflowed
	c.letterNo = m.Letters
	c.lastStart, c.lastFired, c.now = m.LastStart, m.LastFired, m.Now
	if !m.LastStart.IsZero() {
		c.shared.times.started = form.Nano(m.LastStart)
	}
	c.shared.times.first, c.shared.times.last = form.Stored(m.First), form.Stored(m.Last)
	c.ticked = form.Stored(m.Ticked)
	c.pace.Restore(m.Pace)
	c.waited = m.Waited
	c.shared.waits = m.Waits && m.Plan == c.cfg.PlanHash // another guard is asked anew
	if m.Clock == c.cfg.clock() {
		c.open = form.Stored(m.Open)
		c.restoreCaught(m.Caught, m.Joins)
	} else {
		c.beginAnew()
	}
	for i := range c.accs {
		b := m.Books[c.cfg.Inputs[i].Name]
		a := &c.accs[i]
		a.filtered, a.conflated, a.dead, a.consumed = b.Filtered, b.Conflated, b.DeadLettered, b.Consumed
		a.reasons = b.Reasons
	}
	for i, name := range c.cfg.Outputs {
		c.emitted[i], c.filtered[i], c.refused[i] = m.Emitted[name], m.Filtered[name], m.Refused[name]
	}
}

// restoring is what is known of a checkpoint while it is restored.
type restoring struct {
	meta    *form.Meta
	layouts map[uint64]*keyLayout
	have    []bool // inputs of the graph as a whole of which something had arrived
}

// restoreCells takes in all cells but queues of keys, which come after the keys they belong
// to. kept are the cells that the plan may know.
func (c *Core) restoreCells(cells []checkpoint.Cell, from *restoring) (
	kept map[graph.Cell]bool, dropped []string, err error) {
	kept = make(map[graph.Cell]bool)
	for n := range cells {
		cell := &cells[n]
		if cell.Kind == form.CellKey {
			if err := c.restoreKeyCell(cell, from); err != nil {
				return nil, nil, err
			}
			continue
		}
		if cell.Kind == form.CellLayout || cell.Kind == form.CellQueue && cell.Key != "" {
			continue
		}
		drop, err := c.restoreCell(cell, from)
		if err != nil {
			return nil, nil, corrupt(cell, err)
		}
		kept[graph.Cell{Kind: graph.CellKind(cell.Kind), Name: cell.Name}] = true
		if drop != "" {
			dropped = append(dropped, drop)
		}
	}
	return kept, dropped, nil
}

func corrupt(cell *checkpoint.Cell, err error) error {
	return fmt.Errorf("%w: cell %s %q %s: %w", ErrCorrupt, cell.Kind, cell.Name, cell.Key, err)
}

// orderRestored puts queues in order, and after a change of the plan makes due what rests on an input of which nothing
// had arrived and which may be worth something else now.
func (c *Core) orderRestored(from *restoring) {
	for i := range c.shared.slots {
		c.shared.slots[i].queue.sort()
	}
	if from.meta.Plan == c.cfg.PlanHash {
		return
	}
	c.changes.head = true
	for i := range c.shared.slots {
		if !from.have[i] && c.ownsShared(i) && !c.sameWithout(from, i) {
			c.shared.slots[i].version, c.changes.slots[i] = c.stamp+1, true
		}
	}
	c.stamp++
}

// sort puts a restored queue into admission order.
func (q *queue) sort() {
	if q != nil {
		slices.SortFunc(q.items, func(a, b queued) int { return cmp.Compare(a.seq, b.seq) })
	}
}

func (c *Core) restoreCell(cell *checkpoint.Cell, from *restoring) (dropped string, err error) {
	switch cell.Kind {
	case form.CellAccount:
		if i := c.input(cell.Name); i >= 0 {
			return c.restoreAccount(i, cell.Data)
		}
	case form.CellPart:
		c.restorePart(cell)
		return "", nil
	case form.CellInput:
		if i := c.input(cell.Name); i >= 0 {
			return "", c.restoreSlot(i, cell.Data, from)
		}
	case form.CellQueue:
		it, i, err := c.decodeQueued(cell)
		if err != nil {
			return "", err
		}
		switch {
		case i < 0:
		case c.ownsShared(i):
			c.requeue(c.shared, i, it)
			return "", nil
		default:
			c.deadLetterForeign(i, it.b)
		}
	default:
		for i, own := range c.cfg.Plan.Cells() {
			// In a graph with keys nodes have a value for each of them: this one is dropped.
			if c.cfg.Keys == nil && string(own.Kind) == cell.Kind && own.Name == cell.Name {
				return "", c.cfg.Plan.DecodeCell(&c.shared.nodes, i, cell.Data)
			}
		}
	}
	c.stale(cell.Kind, cell.Name) // or it would be there again when the name is
	return cell.Kind + " " + cell.Name, nil
}

// stale has the next seal delete a cell whose name is gone or means something else now.
func (c *Core) stale(kind, name string) {
	c.changes.stale = append(c.changes.stale, checkpoint.Cell{Kind: kind, Name: name})
}

// ownsShared reports whether input i has its slot in the cell that is not a key's.
func (c *Core) ownsShared(i int) bool { return c.cfg.Keys == nil || c.isShared(i) }

// decodeQueued reads a waiting boundary; the input is -1 when it is gone.
func (c *Core) decodeQueued(cell *checkpoint.Cell) (it queued, input int, err error) {
	q, name, err := form.ReadQueued(cell)
	return queued{b: q.B, seq: q.Seq, since: q.Since, at: q.At}, c.input(name), err
}

// requeue puts a restored boundary back; an input that is latest by now takes the newest.
func (c *Core) requeue(k *cell, i int, it queued) {
	c.changes.sealedTo[i] = max(c.changes.sealedTo[i], it.seq)
	if it.at == form.Never {
		it.at = k.timesNow().first
	}
	if !c.now.IsZero() { // it may be of the other clock, or of one that was wrong
		it.at = min(it.at, form.Nano(c.now))
	}
	if c.cfg.Inputs[i].queues() {
		c.push(k, i, it)
		return
	}
	// Cells come in any order: the newest stays, and its place in line.
	if s := c.slotOf(k, i); s.pend != nil && it.seq < s.since {
		c.accs[i].conflated += it.b.Events
	} else {
		c.overwrite(k, i, it.b, it.seq)
		s.since = it.seq
	}
	c.touch(k, i)
	c.changes.gone = append(c.changes.gone, queueCell{i, it.seq, k.key})
}

func (c *Core) restoreAccount(i int, data []byte) (dropped string, err error) {
	a, err := form.ReadAccount(data)
	if err != nil {
		return "", err
	}
	acc := &c.accs[i]
	acc.mark, acc.restored = a.Mark, a.State
	if a.Identity != c.cfg.Inputs[i].Identity {
		// Another kind or source. What was folded but not handed over cannot go on: the
		// accumulator finds it gone, and counts it as filtered.
		acc.mark.Positions, acc.restored = nil, nil
		c.changes.accs[i] = true // the store is to forget them too
		return "accumulator " + c.cfg.Inputs[i].Name, nil
	}
	return "", nil
}

func (c *Core) restoreSlot(i int, data []byte, from *restoring) error {
	sl, err := form.ReadShared(data)
	if err != nil {
		return err
	}
	if !c.ownsShared(i) { // it had no key before
		c.deadLetterForeign(i, sl.Pend)
		c.stale(form.CellInput, c.cfg.Inputs[i].Name)
		return nil
	}
	s := &c.shared.slots[i]
	if from.have[i] = sl.Given || c.hadArrived(i, &sl, from.meta); from.have[i] {
		s.cur, s.version, s.at = sl.Cur, sl.Version, placeOf(sl.At)
		c.changes.slots[i] = c.changes.slots[i] || !sl.Given // it says so from now on
	} else { // what stands for it now does
		s.version = max(s.version, sl.Version)
	}
	if sl.Pend == nil {
		return nil
	}
	c.admitted++
	since, known := from.meta.Since[c.cfg.Inputs[i].Name]
	if !known {
		since = c.admitted
	}
	if c.cfg.Inputs[i].queues() {
		// The input was latest before: what it had not cut yet becomes its queue.
		c.push(c.shared, i, queued{b: sl.Pend, seq: c.admitted, since: since, at: c.shared.times.first})
		c.changes.slots[i] = true
		return nil
	}
	c.overwrite(c.shared, i, sl.Pend, since)
	return nil
}

func (c *Core) input(name string) int {
	return slices.IndexFunc(c.cfg.Inputs, func(in Input) bool { return in.Name == name })
}
