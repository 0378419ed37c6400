package table

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/graphd/graphd/internal/accumulator/fold"
	"github.com/graphd/graphd/internal/boundary"
)

// The first bytes of what is kept: of a state in one piece, of a head without its parts, and of what
// makes one state of another. They say the kind and the version of the form.
const (
	whole   = "T\x01"
	headed  = "t\x01"
	between = "d\x01"
)

// AppendBinary implements [fold.State].
func (h *handle) AppendBinary(dst []byte) []byte {
	dst = h.appendCounts(append(dst, whole...))
	h.root.each(func(s slot) bool { dst = s.row.append(dst); return true })
	return dst
}

// AppendHead implements [fold.Parted].
func (h *handle) AppendHead(dst []byte) []byte { return h.appendCounts(append(dst, headed...)) }

func (h *handle) appendCounts(dst []byte) []byte {
	for _, n := range [...]int64{h.seq, h.owed, h.evicted, h.expired} {
		dst = binary.AppendVarint(dst, n)
	}
	return binary.AppendUvarint(dst, uint64(h.root.len()))
}

func (r *row) append(dst []byte) []byte {
	dst = append(binary.AppendUvarint(dst, uint64(len(r.key))), r.key...)
	dst = r.value.AppendBinary(dst)
	return binary.AppendVarint(binary.AppendVarint(dst, r.changed), r.seq)
}

// append appends the rows of a leaf.
func (n *node) append(dst []byte) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(n.slots)))
	for _, s := range n.slots {
		dst = s.row.append(dst)
	}
	return dst
}

// reader reads rows of one table.
type reader struct {
	*fold.Reader
	p       *program
	scratch []byte
}

func (r *reader) counts() (c counts, rows int) {
	c = counts{seq: r.Varint(), owed: r.Varint(), evicted: r.Varint(), expired: r.Varint()}
	n := r.Uvarint()
	if n > mostRows || c.seq < 0 || c.owed < 0 || c.evicted < 0 || c.expired < 0 {
		r.Fail(fold.ErrForeign)
		n = 0
	}
	return c, int(n)
}

// key reads the text of a key, which is one.
func (r *reader) key() string {
	key := r.Text()
	if r.Err() != nil {
		return key
	}
	var err error
	if r.scratch, err = appendKey(r.scratch[:0], boundary.Key(key).Value()); err != nil || string(r.scratch) != key {
		r.Fail(fold.ErrForeign)
	}
	return key
}

func (r *reader) row() slot {
	is := &row{key: r.key(), value: r.Value(), changed: r.Varint(), seq: r.Varint()}
	if r.Err() != nil {
		return slot{}
	}
	if is.value.IsAbsent() || is.value.IsNull() || is.value.Kind() == boundary.KindTable {
		r.Fail(fold.ErrForeign)
	}
	r.scratch = is.value.AppendBinary(r.scratch[:0])
	is.bytes = int64(len(r.scratch) + len(is.key))
	return slot{hashOf(is.key), is}
}

// Decode implements [fold.Keeper].
func (t *Table) Decode(data []byte) (fold.State, error) {
	p := t.p
	if len(data) == 0 {
		return p.empty, nil
	}
	if fold.IsJoined(data) {
		head, parts, err := fold.Split(data)
		if err != nil {
			return nil, err
		}
		return p.Decode(head, parts)
	}
	if data[0] == headed[0] {
		return p.Decode(data, nil)
	}
	r := reader{Reader: fold.Read(data, whole), p: p}
	c, n := r.counts()
	slots := make([]slot, 0, min(n, 1024))
	for range n {
		if r.Err() != nil {
			break
		}
		slots = append(slots, r.row())
	}
	if err := r.Done(); err != nil {
		return nil, err
	}
	return p.handleOf(c, slots)
}

// Decode implements [fold.Rows].
func (p *program) Decode(head []byte, parts map[string][]byte) (fold.State, error) {
	if len(head) == 0 {
		return p.empty, nil
	}
	r := reader{Reader: fold.Read(head, headed), p: p}
	c, n := r.counts()
	if err := r.Done(); err != nil {
		return nil, err
	}
	slots := make([]slot, 0, min(n, 1024))
	for name, data := range parts {
		r.Reader = fold.NewReader(data)
		for range r.Count() {
			slots = append(slots, r.row())
			if r.Err() != nil {
				break
			}
		}
		if err := r.Done(); err != nil {
			return nil, fmt.Errorf("part %s of the table: %w", name, err)
		}
	}
	if len(slots) != n {
		return nil, fmt.Errorf("%w: the table should have %d rows, and there are %d", fold.ErrForeign, n, len(slots))
	}
	h, err := p.handleOf(c, slots)
	if err != nil {
		return nil, err
	}
	// What changes is written leaf by leaf: they have to be those that the store has.
	found := 0
	for part := range h.Parts() {
		if _, ok := parts[part.Name]; !ok {
			return nil, fmt.Errorf("%w: part %s of the table is missing", fold.ErrForeign, part.Name)
		}
		found++
	}
	if found != len(parts) {
		return nil, fmt.Errorf("%w: %d parts of the table are too many", fold.ErrForeign, len(parts)-found)
	}
	return h, nil
}

// handleOf makes a state of its rows, in any order.
func (p *program) handleOf(c counts, slots []slot) (*handle, error) {
	slices.SortFunc(slots, func(a, b slot) int { return order(a, b.hash, b.row.key) })
	for i, s := range slots {
		if i > 0 && order(slots[i-1], s.hash, s.row.key) == 0 || s.row.seq > c.seq || s.row.seq <= 0 {
			return nil, fold.ErrForeign
		}
		c.bytes += s.row.bytes
	}
	return &handle{counts: c, root: build(slots, nil), most: p.maxRows}, nil
}

// What a change in AppendChanges is.
const (
	isGone = 0
	isSet  = 1
)

// AppendChanges implements [fold.Rows].
func (p *program) AppendChanges(dst []byte, before, after fold.State) []byte {
	a, b := p.handle(before), p.handle(after)
	dst = b.appendCounts(append(dst, between...))
	changes(a.root, b.root, func(_ uint64, was, is *row) {
		if is != nil {
			dst = is.append(append(dst, isSet))
			return
		}
		dst = append(dst, isGone)
		dst = append(binary.AppendUvarint(dst, uint64(len(was.key))), was.key...)
	})
	return dst
}

// Redo implements [fold.Rows].
func (p *program) Redo(before fold.State, changes []byte) (fold.State, error) {
	a := p.handle(before)
	r := reader{Reader: fold.Read(changes, between), p: p}
	c, n := r.counts()
	c.bytes = a.bytes
	now, gen := a.root, new(generation)
	for r.More() {
		switch r.Uvarint() {
		case isSet:
			s := r.row()
			if r.Err() != nil {
				break
			}
			var was *row
			now, was = now.set(s.hash, s.row, 0, gen)
			c.bytes += s.row.bytes
			if was != nil {
				c.bytes -= was.bytes
			}
		case isGone:
			key := r.key()
			was := now.find(hashOf(key), []byte(key))
			if r.Err() != nil || was == nil {
				r.Fail(fold.ErrForeign)
				break
			}
			now = now.remove(hashOf(key), key, 0, gen)
			c.bytes -= was.bytes
		default:
			r.Fail(fold.ErrForeign)
		}
	}
	if r.Err() == nil && now.len() != n {
		r.Fail(fold.ErrForeign)
	}
	return &handle{counts: c, root: now, most: p.maxRows}, r.Err()
}

// handle is the handle that a state is; the empty one for nil.
func (p *program) handle(s fold.State) *handle {
	if h, ok := s.(*handle); ok {
		return h
	}
	return p.empty
}
