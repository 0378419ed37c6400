// Package redeal deals the state of a keyed graph anew: of the checkpoints of so many shards it makes those of another
// number (M54). It is pure, and knows the state as package form writes it; nothing of it is run.
//
// The old shards must stand at one cut: what all of them hear of, they have heard alike. [Deal] holds that they do, as
// far as the state says so, and refuses otherwise. Then the keys are disjoint, and a new shard is the keys that are its
// own by [boundary.Key.Shard], beside what all of them share.
//
// Where to look: keys.go the cells of keys and of what waits in them · shared.go what is for all keys · accounts.go
// books, positions and folds · order.go numbers that the shards have counted each for itself.
package redeal

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/reactor"
	"github.com/graphd/graphd/internal/reactor/form"
)

// Input is one input of the graph.
type Input struct {
	Name    string
	Program *accumulator.Program
	// Global inputs have one value for all keys.
	Global bool
}

// Graph is what the old shards and the new ones have in common.
type Graph struct {
	Inputs []Input
	// Plan is the hash of the declaration with the new number; "" where more of it is another: the state stays that of
	// the old one then, and is taken over as by any update.
	Plan string
	// DealtOn names what events have as their keys from now on; see [reactor.Config].
	DealtOn string
}

// Shard is one shard as a store has it.
type Shard struct {
	Head  checkpoint.Head
	Cells []checkpoint.Cell
}

// dealer is a deal under way.
type dealer struct {
	g    *Graph
	of   int
	old  []*old
	next []*next
	seqs numbers
	// stamps are greater than all that the old shards have given out from here on.
	stamps uint64
	levels levels
	layout map[string]uint64 // by content: the number in the new shards
}

// old is an old shard that has a state.
type old struct {
	*Shard
	index   int // among the old ones
	meta    form.Meta
	keys    []oldKey
	queues  []oldQueued
	shared  map[string]*form.Slot // by input
	accs    map[string]*form.Account
	parts   map[string]map[string][]byte
	layouts map[uint64][]byte
}

// next is a new shard in the making.
type next struct {
	meta    form.Meta
	cells   []checkpoint.Cell
	waiting map[string]int64 // by input: events that wait in its keys
	open    map[string]int64
	used    map[uint64]bool // layouts
}

// Deal makes the commits that deal the state of shards, which are all that the graph ever had, by their numbers, to so
// many. Each goes on from its head; cells that are no more are among those to delete. What is not for the store to say,
// as when it is, is left to the caller. The error wraps [reactor.ErrCorrupt], [fold.ErrNotInStep], [fold.ErrTooMany] or
// [ErrApart].
func Deal(g *Graph, shards []Shard, of int) ([]*checkpoint.Commit, error) {
	d := &dealer{g: g, of: of, layout: map[string]uint64{}}
	for i := range shards {
		if err := d.read(&shards[i], i); err != nil {
			return nil, fmt.Errorf("%w: shard %d: %w", reactor.ErrCorrupt, i, err)
		}
	}
	for range of {
		d.next = append(d.next, &next{waiting: map[string]int64{}, open: map[string]int64{}, used: map[uint64]bool{}})
	}
	if len(d.old) > 0 {
		if err := d.apart(); err != nil {
			return nil, err
		}
		d.number()
		d.dealKeys()
		d.dealShared()
		if err := d.dealAccounts(); err != nil {
			return nil, err
		}
	}
	return d.commits(shards), nil
}

// read takes in an old shard; one that has never committed has nothing.
func (d *dealer) read(s *Shard, index int) error {
	m, there, err := form.ReadMeta(s.Head.Meta)
	if err != nil || !there {
		return err
	}
	if index >= m.Dealt() {
		return nil // it was given up by an earlier deal
	}
	o := &old{Shard: s, index: index, meta: m, shared: map[string]*form.Slot{}, accs: map[string]*form.Account{},
		parts: map[string]map[string][]byte{}, layouts: map[uint64][]byte{}}
	for i := range s.Cells {
		if c := &s.Cells[i]; c.Kind == form.CellLayout {
			n, err := strconv.ParseUint(c.Name, 10, 31)
			if err != nil {
				return fmt.Errorf("cell %s %q: %w", c.Kind, c.Name, err)
			}
			o.layouts[n] = c.Data
		}
	}
	for i := range s.Cells {
		c := &s.Cells[i]
		if err := o.readCell(c); err != nil {
			return fmt.Errorf("cell %s %q %s: %w", c.Kind, c.Name, c.Key, err)
		}
	}
	d.old = append(d.old, o)
	return nil
}

func (d *dealer) commits(shards []Shard) []*checkpoint.Commit {
	var all []*checkpoint.Commit
	epoch := int64(0) // of all: to who follows one key its epochs never go back, whatever shard it comes to
	for i := range shards {
		epoch = max(epoch, shards[i].Head.Epoch)
	}
	for i := range max(len(shards), d.of) {
		var s Shard
		if i < len(shards) {
			s = shards[i]
		}
		c := &checkpoint.Commit{Fence: s.Head.Fence, Seq: s.Head.Seq + 1, Epoch: s.Head.Epoch,
			JournalTo: s.Head.Journal, Proven: true, Tried: true,
			Meta: reactor.Blank(s.Head.Meta, s.Head.Journal, d.of, "", d.g.DealtOn)}
		if i < d.of {
			if c.Epoch = epoch; len(d.old) > 0 {
				c.Meta = d.record(i, epoch, &s.Head)
			}
			d.appendLayouts(d.next[i])
			c.Cells = d.next[i].cells
		}
		have := map[[3]string]bool{}
		for k := range c.Cells {
			have[nameOf(&c.Cells[k])] = true
		}
		for k := range s.Cells {
			if cell := &s.Cells[k]; !have[nameOf(cell)] {
				c.Cells = append(c.Cells, checkpoint.Cell{Kind: cell.Kind, Name: cell.Name, Key: cell.Key})
			}
		}
		all = append(all, c)
	}
	return all
}

func nameOf(c *checkpoint.Cell) [3]string { return [...]string{c.Kind, c.Name, c.Key} }

// appendLayouts appends the layouts that a shard's keys are written in.
func (d *dealer) appendLayouts(n *next) {
	for data, number := range d.layout {
		if n.used[number] {
			n.cells = append(n.cells, checkpoint.Cell{Kind: form.CellLayout, Name: strconv.FormatUint(number, 10),
				Data: []byte(data)})
		}
	}
	slices.SortFunc(n.cells, func(a, b checkpoint.Cell) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Key, b.Key))
	})
}

// record is the record of new shard i: of its own it has what is numbered for ever, of the first what an operator has
// said, and of all what is later.
func (d *dealer) record(i int, epoch int64, head *checkpoint.Head) []byte {
	first := &d.old[0].meta
	own, _, _ := form.ReadMeta(head.Meta) // it was read before
	m := d.next[i].meta
	m.Shards, m.Plan, m.Epoch, m.Journal = d.of, cmp.Or(d.g.Plan, first.Plan), epoch, head.Journal
	m.DealtOn = d.g.DealtOn
	m.Frames, m.Letters, m.Outbox = own.Frames, own.Letters, own.Outbox
	m.Unbroken, m.DealtFrames = own.Unbroken, own.Frames
	m.Paused, m.PausedBy, m.PausedAt = first.Paused, first.PausedBy, first.PausedAt
	m.StoppedInputs, m.StoppedOutputs = first.StoppedInputs, first.StoppedOutputs
	m.Clock, m.Waits, m.First, m.Last = first.Clock, first.Waits, first.First, first.Last
	m.Defaults, m.Joins, m.Keys, m.Since = first.Defaults, first.Joins, first.Keys, d.places()
	m.Stamp, m.Admitted = d.levels.top(d.stamps), d.seqs.last
	later := func(at *time.Time, o time.Time) {
		if o.After(*at) {
			*at = o
		}
	}
	for _, o := range d.old {
		if k := boundary.Key(o.meta.Halted); k != "" && k.Shard(d.of) == i {
			m.Halted = o.meta.Halted // where several have halted, one of them comes first
		}
		later(&m.LastStart, o.meta.LastStart)
		later(&m.LastFired, o.meta.LastFired)
		later(&m.Now, o.meta.Now)
		m.Ticked = form.Stored(max(form.Stored(m.Ticked), form.Stored(o.meta.Ticked)))
		m.Open = form.Stored(max(form.Stored(m.Open), form.Stored(o.meta.Open)))
	}
	return m.Append(nil)
}
