package graph

import (
	"encoding/binary"
	"slices"

	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/graph/internal/bitset"
	"github.com/graphd/graphd/internal/graph/internal/wire"
)

// Layout says how the states of many keys are encoded: which nodes and outputs, in which
// order. It is written once and not with every key. Layouts are made by [Plan.ReadLayout],
// for the plan that reads; they are immutable.
type Layout struct {
	cells   []int      // by place in an encoded state: the index of the cell, -1 when the plan has none for it
	nodes   int        // how many of cells are nodes; they come first
	missing bitset.Set // nodes of the plan that the encoded states do not have; empty when they have all
	same    bool       // the states were encoded by a plan with the same nodes
}

// AppendLayout appends what states encoded by this plan hold.
func (p *Plan) AppendLayout(dst []byte) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(p.nodes)))
	for i, n := range p.nodes {
		dst = binary.LittleEndian.AppendUint64(wire.AppendText(dst, n.Name), p.prints[i])
	}
	dst = binary.AppendUvarint(dst, uint64(p.lasts))
	for _, c := range p.cells[len(p.nodes) : len(p.nodes)+p.lasts] {
		dst = wire.AppendText(dst, c.Name)
	}
	return dst
}

// ReadLayout reads what AppendLayout wrote, of this plan or another. dropped names the
// nodes whose values mean something else now or nothing: they are passed over.
func (p *Plan) ReadLayout(data []byte) (l *Layout, dropped []string, err error) {
	l = &Layout{missing: bitset.New(len(p.nodes)), same: true}
	l.missing.Fill(len(p.nodes))
	r := wire.Reader{Rest: data}
	l.nodes = r.Count()
	for range l.nodes {
		name, print := r.Text(), r.Uint64()
		i := p.cellIndex(Cell{Kind: NodeCell, Name: name})
		if i >= 0 && p.prints[i] != print {
			i = -1
		}
		switch {
		case i >= 0:
			l.missing.Clear(i)
		case name != "": // pruned before, and told then
			dropped = append(dropped, name)
		}
		l.cells = append(l.cells, i)
	}
	for range r.Count() {
		l.cells = append(l.cells, p.cellIndex(Cell{Kind: OutputCell, Name: r.Text()}))
	}
	if r.Bad || len(r.Rest) > 0 {
		return nil, nil, ErrCellDamaged
	}
	for range l.missing.All() {
		l.same = false
	}
	return l, dropped, nil
}

// PruneLayout is what AppendLayout wrote of another plan, without the names of what this one has
// no place for: it stays in the states that are encoded so, and is passed over by every plan
// to come, also by one that has the name again. The layout has been read with ReadLayout.
func (p *Plan) PruneLayout(data []byte) []byte {
	var dst []byte
	r := wire.Reader{Rest: data}
	n := r.Count()
	dst = binary.AppendUvarint(dst, uint64(n))
	for range n {
		name, print := r.Text(), r.Uint64()
		if i := p.cellIndex(Cell{Kind: NodeCell, Name: name}); i < 0 || p.prints[i] != print {
			name, print = "", 0
		}
		dst = binary.LittleEndian.AppendUint64(wire.AppendText(dst, name), print)
	}
	n = r.Count()
	dst = binary.AppendUvarint(dst, uint64(n))
	for range n {
		name := r.Text()
		if p.cellIndex(Cell{Kind: OutputCell, Name: name}) < 0 {
			name = ""
		}
		dst = wire.AppendText(dst, name)
	}
	return dst
}

func (p *Plan) cellIndex(c Cell) int {
	for i := range p.cells {
		if p.cells[i] == c {
			return i
		}
	}
	return -1
}

// Freeze copies a state into room, which must have [Plan.StateSize] values: the copy stays
// as it is while the state goes on.
func (p *Plan) Freeze(st *State, room []boundary.Value) State {
	copy(room, st.cells)
	frozen := State{stamp: st.stamp, cells: room[:len(st.cells):len(st.cells)]}
	if fresh := st.fresh(); fresh != nil {
		frozen.side().fresh = fresh
	}
	if owed := st.owed(); owed != nil {
		frozen.side().owed = owed
	}
	if st.mind() != nil { // it changes in place: it is encoded now
		frozen.side().mind = &mind{frozen: p.appendMind(nil, st)}
	}
	return frozen
}

// AppendState appends a state in the form of this plan's layout.
func (p *Plan) AppendState(dst []byte, st *State) []byte {
	dst = binary.AppendUvarint(dst, st.stamp)
	if fresh, owed := st.fresh(), st.owed(); fresh == nil && owed == nil {
		dst = append(dst, 0)
	} else {
		due := bitset.New(len(p.nodes)) // to run, when they are read back, as if for the first time
		for _, b := range []*bitset.Set{fresh, owed} {
			if b != nil {
				due.Add(*b)
			}
		}
		dst = append(dst, 1)
		for _, word := range due {
			dst = binary.LittleEndian.AppendUint64(dst, word)
		}
	}
	for _, v := range st.cells {
		dst = v.AppendBinary(dst)
	}
	return p.appendMind(dst, st)
}

// DecodeState restores a new state from what AppendState wrote under the layout, all that
// is left of data. Nodes that the layout does not have run in the next epoch as if for the
// first time.
func (p *Plan) DecodeState(st *State, l *Layout, data []byte) error {
	r := wire.Reader{Rest: data}
	stamp, fresh := r.Uvarint(), l.missing
	var whole bool // every node of this plan has its value
	switch r.Byte() {
	case 0:
		whole = l.same
		if stamp == 0 {
			fresh = nil // nothing ever ran: that is what no set and no stamp say
		}
	case 1:
		written := bitset.New(l.nodes)
		for i := range written {
			written[i] = r.Uint64()
		}
		fresh, whole = l.translate(written), false
	default:
		return ErrCellDamaged
	}
	if r.Bad {
		return ErrCellDamaged
	}
	rest := r.Rest
	for _, i := range l.cells {
		v, left, err := boundary.DecodeBinary(rest)
		if err != nil {
			return err
		}
		rest = left
		if i >= 0 {
			st.cells[i] = v
		}
	}
	if err := p.readMind(st, l, rest); err != nil {
		return err
	}
	st.stamp = stamp
	if !whole && fresh != nil {
		st.side().fresh = &fresh
	}
	return nil
}

// translate is a set of fresh nodes of the encoding plan as one of this plan, with those
// that the encoded states do not have.
func (l *Layout) translate(written bitset.Set) bitset.Set {
	fresh := slices.Clone(l.missing)
	for k := range written.All() {
		if k < l.nodes && l.cells[k] >= 0 {
			fresh.Set(l.cells[k])
		}
	}
	return fresh
}
