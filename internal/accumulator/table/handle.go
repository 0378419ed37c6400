package table

import (
	"iter"
	"strconv"

	"github.com/graphd/graphd/internal/accumulator/fold"
	"github.com/graphd/graphd/internal/boundary"
)

// counts is what a table knows beside its rows.
type counts struct {
	seq     int64 // changes so far
	owed    int64 // events that no boundary accounts for yet
	evicted int64 // rows, in all
	expired int64
	bytes   int64 // of all rows
}

// handle is the table as of one moment.
type handle struct {
	counts
	root  *node
	most  int // rows that there may be
	dirty bool
	// Where the order of changes began and ended then; see changeLog.
	logGen        uint64
	logFrom, logN int
	of            *Table // whose order that is
	// past is what the table was before; nil where that is not kept.
	past *history
	// strays are versions that a store has of a table which keeps none any more.
	strays    history
	forgotten bool // it is as of a time of which nothing is known any more
}

// Row implements [boundary.Rows].
func (h *handle) Row(key boundary.Value) (boundary.Value, bool) {
	var room [64]byte
	text, plain := appendPlainKey(room[:0], key)
	if !plain {
		var err error
		if text, err = appendKey(nil, key); err != nil {
			return boundary.Value{}, false
		}
	}
	if r := h.root.find(hashOf(text), text); r != nil {
		return r.value, true
	}
	return boundary.Value{}, false
}

// appendPlainKey is appendKey for what most keys are, so that looking one up allocates nothing: a text
// that JSON writes as it stands, or a whole number. plain is false for all others.
func appendPlainKey(dst []byte, key boundary.Value) (text []byte, plain bool) {
	if n, ok := key.AsInt(); ok {
		return strconv.AppendInt(dst, n, 10), true
	}
	s, ok := key.AsString()
	if !ok || len(s)+len(`""`) > cap(dst) {
		return dst, false
	}
	dst = append(dst, '"')
	for i := range len(s) {
		if !isPlain(s[i]) {
			return dst, false
		}
		dst = append(dst, s[i])
	}
	return append(dst, '"'), true
}

// appendKey makes the text of a key: of a value, or of a list of them.
func appendKey(dst []byte, key boundary.Value) ([]byte, error) {
	var room [4]boundary.Value
	parts := room[:0]
	if key.Kind() != boundary.KindList {
		parts = append(parts, key)
	}
	for part := range key.Items() {
		parts = append(parts, part)
	}
	return boundary.AppendKey(dst, parts)
}

// Len implements [boundary.Rows].
func (h *handle) Len() int { return h.root.len() }

// All implements [boundary.Rows].
func (h *handle) All() iter.Seq2[boundary.Key, boundary.Value] {
	return func(yield func(boundary.Key, boundary.Value) bool) {
		h.root.each(func(s slot) bool { return yield(boundary.Key(s.row.key), s.row.value) })
	}
}

// Keys implements [fold.Keyed].
func (h *handle) Keys() (count, most int, evicted int64) { return h.root.len(), h.most, h.evicted }

// Parts implements [fold.Parted].
func (h *handle) Parts() func(yield func(fold.Part) bool) { return h.Changed(nil) }

// Changed implements [fold.Tracked].
func (h *handle) Changed(since fold.State) func(yield func(fold.Part) bool) {
	before, ok := since.(*handle)
	if !ok {
		before = &handle{}
	}
	return func(yield func(fold.Part) bool) {
		if !h.changedPast(before, yield) {
			return
		}
		differ(before.root, h.root, []byte{root}, func(path []byte, leaf *node, gone bool) bool {
			if gone {
				return yield(fold.Part{Name: string(path)})
			}
			return yield(fold.Part{Name: string(path), Same: leaf, Append: leaf.append})
		})
	}
}

// root begins the names of all parts.
const root = 'r'

// rowBytes is about what a row takes beside its key and its value: the row, its place in a leaf and in the order
// of changes.
const rowBytes = 64 + 28 + 24

// Weight implements [fold.Weighed]. Rows are looked at where hashes that are far apart lead.
func (h *handle) Weight() (bytes int64) {
	n, rows := h.root.len(), 0
	for i := uint64(0); i < fold.Looks/leafRows*2; i++ {
		l := h.root.leaf(i * 0x9e3779b97f4a7c15)
		if l == nil {
			continue
		}
		for _, s := range l.slots {
			rows++
			bytes += rowBytes + boundary.OnHeap(len(s.row.key)) + s.row.value.Held(nil, nil)
		}
	}
	if rows > 0 {
		bytes = int64(float64(bytes) / float64(rows) * float64(n))
	}
	if h.past != nil {
		bytes += h.past.size()
	}
	return bytes
}
