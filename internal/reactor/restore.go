package reactor

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/graph"
)

// ErrCorrupt says that a checkpoint cannot be read. The graph halts: it never starts
// empty over a state that is there.
var ErrCorrupt = errors.New("checkpoint cannot be read")

// Restore loads a checkpoint. Call it once, before Start. What belongs to a name that is
// gone, or whose meaning has changed, is dropped and named in dropped (M33).
func (c *Core) Restore(head checkpoint.Head, cells []checkpoint.Cell) (dropped []string, err error) {
	c.epoch = head.Epoch
	if len(head.Meta) == 0 {
		return nil, nil
	}
	var m meta
	if err := json.Unmarshal(head.Meta, &m); err != nil {
		return nil, fmt.Errorf("%w: head: %w", ErrCorrupt, err)
	}
	if m.Format > metaFormat {
		return nil, fmt.Errorf("%w: it has format %d and this graphd reads up to %d; run a newer graphd", ErrCorrupt, m.Format, metaFormat)
	}
	c.frames = m.Frames
	c.paused, c.pausedBy, c.pausedAt = m.Paused, m.PausedBy, m.PausedAt
	if c.cfg.Forgetful {
		return nil, nil // the books begin anew with the state
	}
	c.admitted, c.cell.stamp = m.Admitted, max(m.Stamp, c.cell.stamp)
	c.lastStart, c.lastFired, c.now = m.LastStart, m.LastFired, m.Now
	for i := range c.accs {
		b := m.Books[c.cfg.Inputs[i].Name]
		a := &c.accs[i]
		a.filtered, a.conflated, a.dead, a.consumed = b.Filtered, b.Conflated, b.DeadLettered, b.Consumed
	}
	for i, name := range c.cfg.Outputs {
		c.emitted[i] = m.Emitted[name]
	}
	have := make([]bool, len(c.cfg.Inputs))
	kept := make(map[string]bool) // nodes with a cell
	for _, cell := range cells {
		drop, err := c.restoreCell(cell, have)
		if err != nil {
			return nil, fmt.Errorf("%w: cell %s %q: %w", ErrCorrupt, cell.Kind, cell.Name, err)
		}
		if cell.Kind == string(graph.NodeCell) {
			kept[cell.Name] = true
		}
		if drop != "" {
			dropped = append(dropped, drop)
		}
	}
	if m.Plan != c.cfg.PlanHash {
		// A node that computes something else now starts as if it had never run.
		for i, n := range c.cfg.Plan.Nodes() {
			if kept[n.Name] && c.cfg.Plan.Fresh(c.cell.nodes, i) {
				dropped = append(dropped, "node "+n.Name)
			}
		}
	}
	c.settleRestored(m.Plan, have)
	slices.Sort(dropped)
	return dropped, nil
}

// settleRestored puts queues in order, and after a change of the plan makes everything due
// that may depend on what was dropped.
func (c *Core) settleRestored(plan string, have []bool) {
	for i := range c.cell.slots {
		s := &c.cell.slots[i]
		slices.SortFunc(s.queue.items, func(a, b queued) int {
			if a.seq < b.seq {
				return -1
			}
			return 1
		})
		if n := s.queue.len(); n > 0 {
			c.changes.sealedTo[i] = s.queue.at(n - 1).seq
		}
	}
	if plan == c.cfg.PlanHash {
		return
	}
	c.changes.head = true
	for i := range c.cell.slots {
		if s := &c.cell.slots[i]; !have[i] {
			s.version = c.cell.stamp + 1
		}
	}
	c.cell.stamp++
}

func (c *Core) restoreCell(cell checkpoint.Cell, have []bool) (dropped string, err error) {
	switch cell.Kind {
	case cellAccumulator:
		if i := c.input(cell.Name); i >= 0 {
			return c.restoreAccount(i, cell.Data)
		}
	case cellInput:
		if i := c.input(cell.Name); i >= 0 {
			have[i] = true
			return "", c.restoreSlot(i, cell.Data)
		}
	case cellQueue:
		name, seq, ok := strings.Cut(cell.Name, "/")
		n, err := strconv.ParseUint(seq, 16, 64)
		if !ok || err != nil {
			return "", errors.New("its name has no sequence number")
		}
		if i := c.input(name); i >= 0 {
			b, rest, err := decodeBoundary(cell.Data)
			if err != nil || len(rest) > 0 {
				return "", cmpErr(err)
			}
			c.requeue(i, queued{b: b, seq: n})
			return "", nil
		}
	default:
		for i, own := range c.cfg.Plan.Cells() {
			if string(own.Kind) == cell.Kind && own.Name == cell.Name {
				return "", c.cfg.Plan.DecodeCell(c.cell.nodes, i, cell.Data)
			}
		}
	}
	return cell.Kind + " " + cell.Name, nil
}

// requeue puts a restored boundary back; an input that is latest by now takes the newest.
func (c *Core) requeue(i int, it queued) {
	if c.cfg.Inputs[i].Sequential {
		c.cell.slots[i].queue.push(it)
		return
	}
	c.overwrite(i, it.b)
	c.changes.slots[i] = true
	c.changes.gone = append(c.changes.gone, queueCell{i, it.seq})
}

func (c *Core) restoreAccount(i int, data []byte) (dropped string, err error) {
	identity, a, err := decodeAccount(data)
	if err != nil {
		return "", err
	}
	acc := &c.accs[i]
	acc.mark, acc.restored = a.mark, a.restored
	if identity != c.cfg.Inputs[i].Identity {
		// Another kind or source. What was folded but not handed over cannot go on: the
		// accumulator finds it gone, and counts it as filtered.
		acc.mark.Positions, acc.restored = nil, nil
		return "accumulator " + c.cfg.Inputs[i].Name, nil
	}
	return "", nil
}

func (c *Core) restoreSlot(i int, data []byte) error {
	sl, err := decodeSlot(data)
	if err != nil {
		return err
	}
	s := &c.cell.slots[i]
	if !sl.cur.IsAbsent() || s.cur.IsAbsent() {
		s.cur, s.version, s.at = sl.cur, sl.version, sl.at
	}
	if sl.pend == nil {
		return nil
	}
	if c.cfg.Inputs[i].Sequential {
		// The input was latest before: what it had not cut yet comes first in the queue.
		s.queue.push(queued{b: sl.pend})
		c.changes.slots[i] = true
		return nil
	}
	c.overwrite(i, sl.pend)
	return nil
}

func (c *Core) input(name string) int {
	return slices.IndexFunc(c.cfg.Inputs, func(in Input) bool { return in.Name == name })
}

func cmpErr(err error) error {
	if err == nil {
		return errors.New("bytes are left over")
	}
	return err
}
