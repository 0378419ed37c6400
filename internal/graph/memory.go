package graph

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/graphd/graphd/internal/expression"
	"github.com/graphd/graphd/internal/graph/internal/wire"
)

// What the functions of nodes remember (ema, lag, dedupe …) is state like the nodes' values,
// but it is changed in place while a plan runs. Until the epoch is committed it can be taken
// back: at once for a node that fails, for all nodes when the epoch fails or was an aside.

// mind is all that the functions of a plan's nodes remember, for one key.
type mind struct {
	memories []expression.Memory
	frozen   []byte // in a frozen state, the memories encoded
}

func (m *mind) size() int {
	if m == nil {
		return 0
	}
	n := 48
	for _, memory := range m.memories {
		n += 16 + memory.Size()
	}
	return n
}

// place is a part of a list: of a state's memories, of a plan's gates.
type place struct{ first, n int32 }

func (p place) of(memories []expression.Memory) []expression.Memory {
	return memories[p.first : p.first+p.n : p.first+p.n]
}

// memoriesOf are those of node i, none when it has none.
func (p *Plan) memoriesOf(st *State, i int) []expression.Memory {
	if p.steps[i].memories.n == 0 {
		return nil
	}
	return p.steps[i].memories.of(st.mind().memories)
}

// addMemories gives the node at a place of the plan its part of the memories.
func (p *Plan) addMemories(at int, u *unit) {
	s := &p.steps[at]
	s.memories.first = int32(p.memories)
	for k := range u.sources {
		s.memories.n += int32(u.sources[k].program.Memories())
	}
	if s.memories.n == 0 {
		return
	}
	s.apart = true
	p.memories += int(s.memories.n)
	p.remembers = append(p.remembers, at)
	p.minds = append(p.minds, u.programs())
}

// memoryCell is the cell of what node i remembers.
func (p *Plan) memoryCell(i int) int {
	return len(p.nodes) + p.lasts + p.mindOf(i)
}

// mindOf is the place among the nodes that remember.
func (p *Plan) mindOf(i int) int {
	k, found := slices.BinarySearch(p.remembers, i)
	if !found {
		panic("graph: a node without memory is asked for it")
	}
	return k
}

// giveMemories makes what a state remembers, empty, unless it is there.
func (p *Plan) giveMemories(st *State) {
	if p.memories == 0 || st.mind() != nil {
		return
	}
	m := &mind{memories: make([]expression.Memory, 0, p.memories)}
	st.side().mind = m
	for _, i := range p.remembers {
		m.memories = p.newMemories(m.memories, i)
	}
}

// newMemories appends what node i remembers before its first run.
func (p *Plan) newMemories(dst []expression.Memory, i int) []expression.Memory {
	for _, program := range p.minds[p.mindOf(i)] {
		dst = program.NewMemories(dst)
	}
	return dst
}

// forgetStep takes back the step of a node whose evaluation broke off.
func (p *Plan) forgetStep(st *State, i int) { conclude(p.memoriesOf(st, i), false) }

// conclude keeps or takes back what the epoch's nodes remembered.
func (r *Result) conclude(keep bool) {
	for i := range r.stepped.All() {
		conclude(r.plan.memoriesOf(r.state, i), keep)
	}
	if !keep {
		clear(r.stepped)
	}
}

func conclude(memories []expression.Memory, keep bool) {
	for _, m := range memories {
		m.Conclude(keep)
	}
}

// appendMemories appends what node i remembers: its fingerprint, then each with its length.
func (p *Plan) appendMemories(dst []byte, st *State, i int) []byte {
	dst = binary.LittleEndian.AppendUint64(dst, p.prints[i])
	p.giveMemories(st)
	for _, m := range p.memoriesOf(st, i) {
		dst = wire.AppendBytes(dst, m.AppendBinary(nil))
	}
	return dst
}

// readMemories reads the same back. A node that computes something else now remembers nothing.
func (p *Plan) readMemories(st *State, i int, data []byte) error {
	if len(data) < 8 {
		return ErrCellDamaged
	}
	if binary.LittleEndian.Uint64(data) != p.prints[i] {
		return nil
	}
	r := wire.Reader{Rest: data[8:]}
	fresh := p.newMemories(nil, i)
	for k, m := range fresh {
		memory := r.Bytes()
		if r.Bad {
			return ErrCellDamaged
		}
		if err := m.Restore(memory); err != nil {
			return fmt.Errorf("memory %d: %w", k, err)
		}
	}
	if len(r.Rest) > 0 {
		return ErrCellDamaged
	}
	p.giveMemories(st)
	copy(p.memoriesOf(st, i), fresh)
	return nil
}

// appendMind appends what all nodes remember: for each that does, its place among the
// nodes, and the length and bytes of appendMemories.
func (p *Plan) appendMind(dst []byte, st *State) []byte {
	m := st.mind()
	if m == nil {
		return dst
	}
	if m.memories == nil {
		return append(dst, m.frozen...)
	}
	for _, i := range p.remembers {
		dst = wire.AppendBytes(binary.AppendUvarint(dst, uint64(i)), p.appendMemories(nil, st, i))
	}
	return dst
}

// readMind reads the same back, all that is left of a state encoded under l.
func (p *Plan) readMind(st *State, l *Layout, data []byte) error {
	r := wire.Reader{Rest: data}
	for len(r.Rest) > 0 {
		node, memories := r.Uvarint(), r.Bytes()
		if r.Bad || node >= uint64(l.nodes) {
			return ErrCellDamaged
		}
		i := l.cells[node]
		if i < 0 || p.steps[i].memories.n == 0 {
			continue // the node is gone, or computes something else
		}
		if err := p.readMemories(st, i, memories); err != nil {
			return err
		}
	}
	return nil
}
