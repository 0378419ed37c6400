package table

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/graphd/graphd/internal/accumulator/fold"
	"github.com/graphd/graphd/internal/boundary"
)

// The first bytes of what is kept: of a state in one piece, of a head without its parts, and of what
// makes one state of another. They say the kind and the version of the form.
const (
	whole   = "T\x01"
	headed  = "t\x01"
	between = "d\x01"
	// The same of a table that knows what it was.
	wholePast   = "T\x02"
	headedPast  = "t\x02"
	betweenPast = "d\x02"
)

// AppendBinary implements [fold.State].
func (h *handle) AppendBinary(dst []byte) []byte {
	dst = h.appendCounts(append(dst, h.form(whole, wholePast)...))
	h.root.each(func(s slot) bool { dst = s.row.append(dst); return true })
	if h.past != nil {
		dst = h.appendVersions(dst, h.past.dropped, h.past.next())
	}
	return dst
}

// form is the one of two that a state of the table has: with what it was, or without.
func (h *handle) form(plain, past string) string {
	if h.past == nil {
		return plain
	}
	return past
}

// AppendHead implements [fold.Parted].
func (h *handle) AppendHead(dst []byte) []byte {
	return h.appendCounts(append(dst, h.form(headed, headedPast)...))
}

func (h *handle) appendCounts(dst []byte) []byte {
	for _, n := range [...]int64{h.seq, h.owed, h.evicted, h.expired} {
		dst = binary.AppendVarint(dst, n)
	}
	dst = binary.AppendUvarint(dst, uint64(h.root.len()))
	if p := h.past; p != nil {
		for _, n := range [...]int64{p.dropped, int64(len(p.list)), p.turned, p.stamp, p.known} {
			dst = binary.AppendVarint(dst, n)
		}
	}
	return dst
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
	// past is what is known of the versions, in a form that has them; texts are those, by number.
	past  *history
	texts map[int64]versionText
	count int64
}

// read reads data in one of two forms.
func (p *program) read(data []byte, plain, past string) *reader {
	r := &reader{p: p}
	if bytes.HasPrefix(data, []byte(past)) {
		r.past, plain = &history{}, past
	}
	r.Reader = fold.Read(data, plain)
	return r
}

func (r *reader) counts() (c counts, rows int) {
	c = counts{seq: r.Varint(), owed: r.Varint(), evicted: r.Varint(), expired: r.Varint()}
	n := r.Uvarint()
	if n > mostRows || c.seq < 0 || c.owed < 0 || c.evicted < 0 || c.expired < 0 {
		r.Fail(fold.ErrForeign)
		n = 0
	}
	if h := r.past; h != nil {
		h.dropped, r.count, h.turned, h.stamp, h.known = r.Varint(), r.Varint(), r.Varint(), r.Varint(), r.Varint()
		if h.dropped < 0 || r.count < 0 || r.count > mostVersions {
			r.Fail(fold.ErrForeign)
		}
	}
	return c, int(n)
}

// key reads the text of a key, which is one.
func (r *reader) key() string {
	key := r.Text()
	if r.Err() != nil || isPlainText(key) {
		return key
	}
	var err error
	if r.scratch, err = appendKey(r.scratch[:0], boundary.Key(key).Value()); err != nil || string(r.scratch) != key {
		r.Fail(fold.ErrForeign)
	}
	return key
}

// isPlainText says that a key is a text which JSON writes as it stands.
func isPlainText(key string) bool {
	if len(key) < 2 || len(key) > boundary.MaxKeyBytes || key[0] != '"' || key[len(key)-1] != '"' {
		return false
	}
	for i := 1; i < len(key)-1; i++ {
		if !isPlain(key[i]) {
			return false
		}
	}
	return true
}

// isPlain says that JSON writes a character of a text as it stands.
func isPlain(c byte) bool { return c >= ' ' && c <= '~' && c != '"' && c != '\\' }

func (r *reader) row() slot {
	is := &row{key: r.key()}
	before := r.Left()
	is.value = r.Value()
	is.bytes = int64(before - r.Left() + len(is.key))
	is.changed, is.seq = r.Varint(), r.Varint()
	if r.Err() != nil {
		return slot{}
	}
	if is.value.IsAbsent() || is.value.IsNull() || is.value.Kind() == boundary.KindTable {
		r.Fail(fold.ErrForeign)
	}
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
	r := p.read(data, whole, wholePast)
	c, n := r.counts()
	slots := make([]slot, 0, min(n, 1024))
	for range n {
		if r.Err() != nil {
			break
		}
		slots = append(slots, r.row())
	}
	for r.More() {
		r.versions()
	}
	if err := r.Done(); err != nil {
		return nil, err
	}
	return r.handle(c, slots)
}

// Decode implements [fold.Rows].
func (p *program) Decode(head []byte, parts map[string][]byte) (fold.State, error) {
	if len(head) == 0 {
		return p.empty, nil
	}
	r := p.read(head, headed, headedPast)
	c, n := r.counts()
	if err := r.Done(); err != nil {
		return nil, err
	}
	slots := make([]slot, 0, min(n, leafRows*len(parts)))
	for _, name := range slices.Sorted(maps.Keys(parts)) { // which is that of the hashes
		r.Next(parts[name])
		if strings.HasPrefix(name, ofPast) {
			r.versions()
		} else {
			for range r.Count() {
				slots = append(slots, r.row())
				if r.Err() != nil {
					break
				}
			}
		}
		if err := r.Done(); err != nil {
			return nil, fmt.Errorf("part %s of the table: %w", name, err)
		}
	}
	if len(slots) != n {
		return nil, fmt.Errorf("%w: the table should have %d rows, and there are %d", fold.ErrForeign, n, len(slots))
	}
	h, err := r.handle(c, slots)
	if err != nil {
		return nil, err
	}
	return h, h.isOf(parts)
}

// isOf looks whether the store has the parts of h: what changes is written part by part.
func (h *handle) isOf(parts map[string][]byte) error {
	found := 0
	for part := range h.Parts() {
		if _, ok := parts[part.Name]; !ok {
			return fmt.Errorf("%w: part %s of the table is missing", fold.ErrForeign, part.Name)
		}
		found++
	}
	lo, hi := h.strays.chunks()
	if found += int(hi - lo); found != len(parts) {
		return fmt.Errorf("%w: %d parts of the table are too many", fold.ErrForeign, len(parts)-found)
	}
	return nil
}

// handleOf makes a state of its rows, in any order.
func (p *program) handleOf(c counts, slots []slot) (*handle, error) {
	inOrder := func(a, b slot) int { return order(a, b.hash, b.row.key) }
	if !slices.IsSortedFunc(slots, inOrder) {
		slices.SortFunc(slots, inOrder)
	}
	for i, s := range slots {
		if i > 0 && order(slots[i-1], s.hash, s.row.key) == 0 || s.row.seq > c.seq || s.row.seq <= 0 {
			return nil, fold.ErrForeign
		}
		c.bytes += s.row.bytes
	}
	return &handle{counts: c, root: build(slots, nil), most: p.maxRows}, nil
}

// handle is the handle that a state is; the empty one for nil.
func (p *program) handle(s fold.State) *handle {
	if h, ok := s.(*handle); ok {
		return h
	}
	return p.empty
}
