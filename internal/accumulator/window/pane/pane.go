// Package pane has what keys have in windows: a [Pane] is the events of one key in one window, a [Table] those of all
// keys of a window, and a [Shelf] panes that come and go by themselves.
//
// # Snapshots
//
// A snapshot shares pages and panes with what it is of. Each is owned by one generation: a snapshot ends one, and what
// an older one owns is copied before it is written to. So a snapshot costs nothing at once, and later as much as is
// changed after it.
//
// # Concurrency
//
// A Table and a Shelf belong to one goroutine. What a snapshot has may be read on any other. Nothing is started.
package pane

import (
	"encoding/binary"
	"hash/maphash"

	"github.com/graphd/graphd/internal/accumulator/aggregate"
	"github.com/graphd/graphd/internal/accumulator/fold"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/boundary/traced"
)

// Pane is the events of one key in one window.
type Pane struct {
	Gen   *fold.Generation // who may write to it
	Hash  uint64           // of the key, with the seed of who has it
	Key   boundary.Value   // absent without a key
	Owes  int64            // events that no boundary accounts for yet
	At    int64            // when the last event arrived
	Dirty bool             // changed since it was last handed over early
	First boundary.Position
	Last  boundary.Position
	Links *traced.Links // of its events
	Cells []aggregate.Cell
}

// PerPage is how many panes a page has: a page is what a checkpoint writes at once.
const PerPage = 32

// Append appends what a checkpoint keeps of a pane.
func (g *Pane) Append(dst []byte, calls *aggregate.Calls) []byte {
	dst = g.Key.AppendBinary(dst)
	dst = binary.AppendVarint(dst, g.Owes)
	dst = binary.AppendVarint(dst, g.At)
	dst = append(dst, fold.BoolByte(g.Dirty))
	dst = g.First.AppendBinary(dst)
	dst = g.Last.AppendBinary(dst)
	return calls.Append(dst, g.Cells)
}

// Read reads what Append wrote. Where panes have keys, the key is hashed with the seed.
func Read(r *fold.Reader, calls *aggregate.Calls, keyed bool, seed maphash.Seed) Pane {
	g := Pane{
		Key: r.Value(), Owes: r.Varint(), At: r.Varint(), Dirty: r.Uvarint() == 1,
		First: r.Position(), Last: r.Position(), Cells: make([]aggregate.Cell, calls.Len()),
	}
	r.Nested(func(data []byte) (rest []byte, err error) { return calls.Decode(data, g.Cells) })
	if keyed && r.Err() == nil {
		if fold.CheckKey(g.Key, "") != nil {
			r.Fail(fold.ErrForeign)
		} else {
			g.Hash = Hash(seed, g.Key)
		}
	}
	return g
}

// paneBytes is about what a pane of a table takes beside its key and its cells: the pane, its place and what finds it.
const paneBytes = 160 + 12 + 24

// Weight is about how many bytes a pane of a table takes.
func (g *Pane) Weight() int64 { return paneBytes + g.Key.Held(nil, nil) + aggregate.Weight(g.Cells) }
