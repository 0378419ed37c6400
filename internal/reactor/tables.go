package reactor

import (
	"fmt"
	"strconv"
	"time"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/reactor/form"
)

// A table is an input whose value refers to the state of its accumulator: every boundary stands for all
// rows as of one moment (M3). So nothing is kept twice: a checkpoint has the rows as the accumulator's
// state, and in the place of the value that it is a table; the journal has what changes from one
// boundary to the next. An event of a table is consumed when it is in it.

// takeTable takes in the boundary of a table, which has all that those before it had.
func (c *Core) takeTable(i int, h *accumulator.Handoff) {
	if len(h.Boundaries) == 0 {
		return
	}
	acc := &c.accs[i]
	newest := &h.Boundaries[len(h.Boundaries)-1]
	for k := range h.Boundaries {
		acc.consumed += h.Boundaries[k].Events
		h.Boundaries[k].Events = 0
	}
	acc.table = c.cfg.Inputs[i].Table.State(newest.Value)
	h.Boundaries = h.Boundaries[len(h.Boundaries)-1:]
}

// Table is the newest value of the table i: what a snapshot of the accumulator has.
func (c *Core) Table(i int) boundary.Value { return c.cfg.Inputs[i].Table.Value(c.accs[i].table) }

// noteAdmit begins the journal's note of a handoff: of a table, with what has changed in it.
func (c *Core) noteAdmit(i int, h *accumulator.Handoff) []byte {
	in := &c.cfg.Inputs[i]
	if in.Table == nil || len(h.Boundaries) == 0 {
		return c.note(logAdmit)
	}
	dst := form.AppendText(form.AppendText(c.note(logTable), in.Name), in.Identity)
	after := in.Table.State(h.Boundaries[len(h.Boundaries)-1].Value)
	dst = form.AppendText(dst, in.Table.AppendChanges(nil, c.accs[i].table, after))
	// In the same entry, whatever its size: the one means nothing without the other.
	return form.AppendTime(append(dst, logAdmit), c.now)
}

// table makes the next state of a table of its changes.
func (r *Replayer) table(in *form.Reader) error {
	i, identity, changes := r.c.input(in.Text()), in.Text(), in.Text()
	if in.Err != nil || i < 0 || r.c.cfg.Inputs[i].Table == nil || r.c.cfg.Inputs[i].Identity != identity {
		return nil
	}
	acc := &r.c.accs[i]
	s, err := r.c.cfg.Inputs[i].Table.Redo(acc.table, []byte(changes))
	if err != nil {
		return fmt.Errorf("%w: what changed in the table %s: %w", ErrCorrupt, r.c.cfg.Inputs[i].Name, err)
	}
	acc.table = s
	return nil
}

// resolve gives what was admitted its tables back. Where an input was none then, or is none now, what it
// has admitted means nothing any more.
func (c *Core) resolve(i int, h *accumulator.Handoff) {
	table := c.cfg.Inputs[i].Table
	kept := h.Boundaries[:0]
	for _, b := range h.Boundaries {
		switch is := b.Value.Kind() == boundary.KindTable; {
		case is != (table != nil):
			c.accs[i].filtered += b.Events
			continue
		case is:
			b.Value = table.Value(c.accs[i].table)
		}
		kept = append(kept, b)
	}
	h.Boundaries = kept
}

// restoreTables reads the tables of what restoreCells has loaded, and has the inputs refer to them.
func (c *Core) restoreTables() error {
	for i := range c.cfg.Inputs {
		in, acc := &c.cfg.Inputs[i], &c.accs[i]
		if in.Table == nil {
			if s := &c.shared.slots[i]; s.cur.Kind() == boundary.KindTable || s.pend != nil &&
				s.pend.Value.Kind() == boundary.KindTable {
				c.resetSlot(i, boundary.Value{})
			}
			continue
		}
		if len(acc.restored) > 0 {
			s, err := in.Table.Decode(acc.restored, acc.parts.restored)
			if err != nil {
				return fmt.Errorf("%w: the table %s: %w", ErrCorrupt, in.Name, err)
			}
			acc.table, acc.mark.State = s, s
			acc.parts = parts{base: s}
		}
		acc.restored, acc.parts.restored = nil, nil
		v := in.Table.Value(acc.table)
		s := &c.shared.slots[i]
		if s.cur.Kind() != boundary.KindTable || s.pend != nil && s.pend.Value.Kind() != boundary.KindTable {
			c.resetSlot(i, v)
			continue
		}
		s.cur = v
		if s.pend != nil {
			s.pend.Value = v
		}
	}
	return nil
}

// resetSlot gives an input another value than it had, of which nothing is left.
func (c *Core) resetSlot(i int, v boundary.Value) {
	s := &c.shared.slots[i]
	if s.pend != nil {
		c.accs[i].conflated += s.pend.Events
		c.lower(c.shared, i)
	}
	c.stamp++
	s.cur, s.version, s.at = v, c.stamp, from{}
	c.changes.slots[i] = true
}

// sealChanged takes the changed parts of a state that knows them into s, and drops what is gone.
func (c *Core) sealChanged(s *Seal, i int, state accumulator.TrackedState) {
	p := &c.accs[i].parts
	drop := func(name string) {
		s.commit.Cells = append(s.commit.Cells, checkpoint.Cell{Kind: form.CellPart, Name: c.partName(i, name)})
	}
	written := make(map[string]bool)
	for part := range state.Changed(p.base) {
		if part.Append == nil {
			drop(part.Name)
			continue
		}
		written[part.Name] = true
		s.parts = append(s.parts, sealedPart{i, part})
	}
	for name := range p.sealed { // of a state that was not kept
		if !written[name] {
			drop(name)
		}
	}
}

// lookBack has the epoch at hand see tables as they were when what fires happened: the newest event that the
// cut takes of what triggers, or now where it takes none.
func (c *Core) lookBack() {
	t := &c.cut
	t.asOf, t.back = time.Time{}, t.back[:0]
	for i, b := range t.take {
		if b != nil && c.cfg.Inputs[i].Triggers && b.At.After(t.asOf) {
			t.asOf = b.At
		}
	}
	if t.asOf.IsZero() {
		t.asOf = c.now
	}
	for i := range c.cfg.Inputs {
		in := &c.cfg.Inputs[i]
		if !in.AsOf {
			continue
		}
		newest := t.values[i]
		if t.values[i] = in.Table.AsOf(newest, form.Nano(t.asOf)); !boundary.SameTable(newest, t.values[i]) {
			t.versions[i] = c.stamp + 1
			t.back = append(t.back, i)
		}
	}
}

// comeBack makes what an epoch has seen of tables as they were older than what is next seen of them.
func (c *Core) comeBack(back []int) {
	if len(back) == 0 {
		return
	}
	c.stamp++
	for _, i := range back {
		c.shared.slots[i].version, c.changes.slots[i] = c.stamp, true
	}
}

// TableRead is what an epoch had of a table.
type TableRead struct {
	Input   int
	Rows    int
	Version uint64 // greater when it is another than in an earlier epoch
	AsOf    int64  // the time that its rows are looked up as of, in nanoseconds since 1970; never for the newest
}

// LookedUp is a row that an epoch has looked up; Row is null where there was none of the key.
type LookedUp struct {
	Input    int
	Key, Row boundary.Value
}

// recordTables notes what an epoch had of tables. A record that kept the table itself would hold on to
// all rows as they were then.
func (c *Core) recordTables(r *Record) {
	if c.looks == nil {
		return
	}
	for i := range c.cfg.Inputs {
		if c.cfg.Inputs[i].Table == nil {
			continue
		}
		rows, ok := r.Inputs[i].AsTable()
		if !ok {
			continue
		}
		read := TableRead{i, rows.Len(), c.cut.versions[i], form.Never}
		if c.cfg.Inputs[i].AsOf {
			read.AsOf = form.Nano(c.cut.asOf)
		}
		r.Tables = append(r.Tables, read)
		r.Inputs[i] = boundary.Value{}
		for _, l := range c.looks.List {
			if l.Rows == rows {
				r.Looked = append(r.Looked, LookedUp{i, l.Key, l.Row})
			}
		}
	}
}

// appendTable appends what an epoch had of the table i.
func appendTable(dst []byte, r *Record, i int) []byte {
	for _, t := range r.Tables {
		if t.Input != i {
			continue
		}
		dst = strconv.AppendInt(append(dst, `{"rows":`...), int64(t.Rows), 10)
		dst = strconv.AppendUint(append(dst, `,"version":`...), t.Version, 10)
		if t.AsOf != form.Never {
			dst = boundary.Time(form.NanoTime(t.AsOf)).AppendJSON(append(dst, `,"as_of":`...))
		}
		dst = append(dst, `,"looked_up":[`...)
		first := true
		for n := range r.Looked {
			l := &r.Looked[n]
			if l.Input != i {
				continue
			}
			if !first {
				dst = append(dst, ',')
			}
			first = false
			dst = l.Key.AppendJSON(append(dst, `{"key":`...))
			dst = append(appendValue(append(dst, `,"row":`...), l.Row), '}')
		}
		return append(dst, "]}"...)
	}
	return append(dst, "null"...)
}
