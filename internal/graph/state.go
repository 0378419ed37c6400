package graph

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/graph/internal/bitset"
)

// State is what a plan keeps of one key between epochs, as of the last committed
// one: the nodes' values and the last emitted values of outputs that emit on
// change. It has one owner and is not safe for concurrent use. 48 bytes and one
// value (24 bytes) for each node and on-change output.
type State struct {
	// stamp is the last committed epoch's; 0 before the first.
	stamp uint64
	// cells are the nodes' values in plan order, then the outputs' last ones.
	cells []boundary.Value
	// more is what most states do not have; nil for nothing of it.
	more *more
}

type more struct {
	// fresh are the nodes that never ran, or whose cell could not be restored: they
	// are due whatever their inputs say. nil stands for all of them while stamp is
	// 0, and for none afterwards, which is the normal case.
	fresh *bitset.Set
	// owed are other nodes that are due whatever their inputs say: the epoch that they were due in had no time for
	// them. nil for none.
	owed *bitset.Set
	// mind is what the functions of the nodes remember; nil until the first run, and for good
	// in a plan without such functions.
	mind *mind
}

func (st *State) fresh() (b *bitset.Set) {
	if st.more != nil {
		b = st.more.fresh
	}
	return b
}

func (st *State) owed() (b *bitset.Set) {
	if st.more != nil {
		b = st.more.owed
	}
	return b
}

func (st *State) mind() (m *mind) {
	if st.more != nil {
		m = st.more.mind
	}
	return m
}

func (st *State) side() *more {
	if st.more == nil {
		st.more = &more{}
	}
	return st.more
}

// NewState is the state of a key before its first epoch: every node is due.
func (p *Plan) NewState() *State {
	return &State{cells: make([]boundary.Value, p.StateSize())}
}

// StateSize is how many values a state holds.
func (p *Plan) StateSize() int { return len(p.nodes) + p.lasts }

// StateIn is a new state whose values are kept in room, which has StateSize absent
// values: the state is then part of what the caller keeps for a key, without an
// allocation of its own.
func (p *Plan) StateIn(room []boundary.Value) State {
	return State{cells: room[:p.StateSize():p.StateSize()]}
}

// Compact gives the values memory of their own; see [boundary.Value.Compact].
func (st *State) Compact() {
	for i, v := range st.cells {
		st.cells[i] = v.Compact()
	}
}

// Stamp is the last committed epoch's stamp, 0 before the first.
func (st *State) Stamp() uint64 { return st.stamp }

// Node is the value of node i as of the last committed epoch; absent when it has none.
func (st *State) Node(i int) boundary.Value { return st.cells[i] }

// Size is about how many bytes the state holds, values included.
func (st *State) Size() int {
	n := 40
	for _, v := range st.cells {
		n += v.Size()
	}
	n += st.mind().size()
	return n
}

// CellKind says what a cell holds.
type CellKind string

// The kinds of cells.
const (
	NodeCell   CellKind = "node"   // a node's value
	OutputCell CellKind = "output" // the last value an on_change output emitted
	MemoryCell CellKind = "memory" // what a node's functions remember
	StampCell  CellKind = "stamp"  // the last committed epoch's stamp
)

// Cell names one piece of a state that a checkpoint writes by itself. The stamp
// cell has no name.
type Cell struct {
	Kind CellKind
	Name string
}

// Cells are the pieces of a state, in the order of the indexes that
// [Result.Touch], [Plan.EncodeCell] and [Plan.DecodeCell] speak of; the nodes
// come first, under their own indexes. The slice is the plan's: read only.
func (p *Plan) Cells() []Cell { return p.cells }

// cellFormat is the first byte of every encoded cell. A reader refuses others.
const cellFormat = 1

// owedFormat is that of a node which is owed a run.
const owedFormat = 2

// ErrCellDamaged says that a cell's bytes are not what EncodeCell writes.
var ErrCellDamaged = errors.New("not a cell of this format")

// EncodeCell is the checkpoint form of cell i: the format; for a node, a
// fingerprint of what it computes, as for what a node remembers; and the value or the stamp.
func (p *Plan) EncodeCell(st *State, i int) []byte {
	b := []byte{cellFormat}
	switch {
	case i == len(p.cells)-1:
		return binary.AppendUvarint(b, st.stamp)
	case i >= len(st.cells):
		return p.appendMemories(b, st, p.remembers[i-len(st.cells)])
	case i < len(p.nodes):
		if owed := st.owed(); owed != nil && owed.Has(i) {
			b[0] = owedFormat
		}
		b = binary.LittleEndian.AppendUint64(b, p.prints[i])
	}
	return st.cells[i].AppendBinary(b)
}

// DecodeCell restores cell i of a new state from what [Plan.EncodeCell] made, of
// this plan or of another one that has the same cell. A cell of a node that
// computes something else now is passed over, which is no error. A node that no
// cell has restored runs in the next epoch as if for the first time; [Plan.Fresh]
// tells. Damage is [ErrCellDamaged] or an error of the value, and then the state
// is unchanged.
func (p *Plan) DecodeCell(st *State, i int, data []byte) error {
	if err := p.decodeCell(st, i, data); err != nil {
		c := p.cells[i]
		return fmt.Errorf("decode %s cell %q: %w", c.Kind, c.Name, err)
	}
	return nil
}

func (p *Plan) decodeCell(st *State, i int, data []byte) error {
	if len(data) < 2 || data[0] != cellFormat && (data[0] != owedFormat || i >= len(p.nodes)) {
		return ErrCellDamaged
	}
	format, data := data[0], data[1:]
	if i >= len(st.cells) && i < len(p.cells)-1 {
		return p.readMemories(st, p.remembers[i-len(st.cells)], data)
	}
	if i == len(p.cells)-1 {
		stamp, n := binary.Uvarint(data)
		if n != len(data) {
			return ErrCellDamaged
		}
		p.materialize(st)
		st.stamp = stamp
		return nil
	}
	if i < len(p.nodes) {
		if len(data) < 8 {
			return ErrCellDamaged
		}
		if binary.LittleEndian.Uint64(data) != p.prints[i] {
			return nil
		}
		data = data[8:]
	}
	v, rest, err := boundary.DecodeBinary(data)
	if err != nil {
		return err
	}
	if len(rest) > 0 {
		return ErrCellDamaged
	}
	if i < len(p.nodes) {
		p.materialize(st)
		if st.fresh().Clear(i); format == owedFormat {
			p.oweTo(st, i)
		}
	}
	st.cells[i] = v
	return nil
}

// Print is a fingerprint of what node i computes: the state of a node is kept by a plan in
// which a node of the same name has the same (M33).
func (p *Plan) Print(i int) uint64 { return p.prints[i] }

// Fresh says whether node i has yet to run for the first time, or again because
// nothing of it could be restored.
func (p *Plan) Fresh(st *State, i int) bool {
	if fresh := st.fresh(); fresh != nil {
		return fresh.Has(i)
	}
	return st.stamp == 0
}

// materialize writes the set of fresh nodes out, so that single ones can leave it.
func (p *Plan) materialize(st *State) {
	if st.fresh() != nil {
		return
	}
	b := bitset.New(len(p.nodes))
	if st.stamp == 0 {
		b.Fill(len(p.nodes))
	}
	st.side().fresh = &b
}
