package table

import (
	"encoding/binary"
	"slices"
	"strconv"

	"github.com/graphd/graphd/internal/accumulator/fold"
)

// What a change between two tries is.
const (
	isGone = 0
	isSet  = 1
)

// appendDiff appends what makes the trie b of a.
func appendDiff(dst []byte, a, b *node) []byte {
	changes(a, b, func(_ uint64, was, is *row) {
		if is != nil {
			dst = is.append(append(dst, isSet))
			return
		}
		dst = append(dst, isGone)
		dst = append(binary.AppendUvarint(dst, uint64(len(was.key))), was.key...)
	})
	return dst
}

// diff makes of a trie the one that the rest of r says; more is how many bytes its rows have more.
func (r *reader) diff(now *node, gen *fold.Generation) (after *node, more int64) {
	for r.More() {
		switch r.Uvarint() {
		case isSet:
			s := r.row()
			if r.Err() != nil {
				break
			}
			var was *row
			now, was = now.set(s.hash, s.row, 0, gen)
			more += s.row.bytes
			if was != nil {
				more -= was.bytes
			}
		case isGone:
			key := r.key()
			was := now.find(hashOf(key), []byte(key))
			if r.Err() != nil || was == nil {
				r.Fail(fold.ErrForeign)
				break
			}
			now = now.remove(hashOf(key), key, 0, gen)
			more -= was.bytes
		default:
			r.Fail(fold.ErrForeign)
		}
	}
	return now, more
}

// block reads a diff that has its length in front.
func (r *reader) block(now *node) (after *node, more int64) {
	inner := *r
	inner.Reader = fold.NewReader([]byte(r.Text()))
	after, more = inner.diff(now, new(fold.Generation))
	if r.scratch = inner.scratch; inner.Err() != nil {
		r.Fail(inner.Err())
	}
	return after, more
}

func appendBlock(dst []byte, a, b *node) []byte {
	if a == b {
		return append(dst, 0)
	}
	text := appendDiff(nil, a, b)
	return append(binary.AppendUvarint(dst, uint64(len(text))), text...)
}

// AppendChanges implements [fold.Rows].
func (p *program) AppendChanges(dst []byte, before, after fold.State) []byte {
	a, b := p.handle(before), p.handle(after)
	dst = b.appendCounts(append(dst, b.form(between, betweenPast)...))
	if b.past == nil {
		return appendDiff(dst, a.root, b.root)
	}
	root := a.root
	for _, v := range b.past.list[a.past.missing(b.past):] {
		dst = binary.AppendVarint(binary.AppendVarint(appendBlock(dst, root, v.root), v.until), v.turned)
		root = v.root
	}
	return appendBlock(dst, root, b.root)
}

// missing is which version of a later history is the first that h does not have. A nil history has none.
func (h *history) missing(later *history) int64 {
	if h == nil {
		return 0
	}
	return max(h.next()-later.dropped, 0)
}

// Redo implements [fold.Rows].
func (p *program) Redo(before fold.State, changes []byte) (fold.State, error) {
	a := p.handle(before)
	r := p.read(changes, between, betweenPast)
	c, n := r.counts()
	h := &handle{counts: c, most: p.maxRows}
	if r.past == nil {
		h.root, h.bytes = r.diff(a.root, new(fold.Generation))
	} else {
		r.redo(a, h)
	}
	if h.bytes += a.bytes; r.Err() == nil && h.root.len() != n {
		r.Fail(fold.ErrForeign)
	}
	h.keepPast(p, r.past)
	return h, r.Err()
}

// redo makes the versions after those of a, and the rows.
func (r *reader) redo(a, h *handle) {
	if a.past != nil {
		r.past.list = slices.Clip(a.past.list)
	}
	for h.root = a.root; r.Err() == nil; {
		root, more := r.block(h.root)
		h.root, h.bytes = root, h.bytes+more
		if !r.More() {
			break
		}
		r.past.list = append(r.past.list, version{root: root, until: r.Varint(), turned: r.Varint()})
	}
	if r.count > int64(len(r.past.list)) {
		r.Fail(fold.ErrForeign)
		return
	}
	r.past.list = r.past.list[int64(len(r.past.list))-r.count:]
}

// keepPast gives h what is known of its past, nil where it was not kept, if the table keeps it. What was
// read of a table that keeps none any more is to be deleted.
func (h *handle) keepPast(p *program, past *history) {
	switch {
	case p.versions == 0 && past != nil:
		h.strays = history{dropped: past.dropped, list: past.list}
	case p.versions == 0:
	case past != nil:
		past.most = p.versions
		h.past = past
	default:
		newest := int64(never)
		h.root.each(func(s slot) bool { newest = max(newest, s.row.changed); return true })
		h.past = &history{stamp: newest, known: newest, most: p.versions}
	}
}

// The versions are written in chunks of so many numbers, each a part of its own: one that is full is written
// once. They are told backwards, each by what makes it of the one that follows.
const chunk = 64

// ofPast begins the names of parts that have versions.
const ofPast = "v"

// chunks are the numbers of the chunks that h has versions in, up to and without the last.
func (h *history) chunks() (from, to int64) {
	if h == nil || len(h.list) == 0 {
		return 0, 0
	}
	return h.dropped / chunk, (h.next()-1)/chunk + 1
}

// changedPast walks the chunks that are others than in a, and with no Append those that are gone.
func (h *handle) changedPast(a *handle, yield func(fold.Part) bool) bool {
	lo, hi := h.past.chunks()
	from, to := a.past.chunks()
	if from == to {
		from, to = a.strays.chunks()
	}
	for k := from; k < to; k++ {
		if (k < lo || k >= hi) && !yield(fold.Part{Name: partOf(k)}) {
			return false
		}
	}
	// The last version of a is told by the rows that came after it.
	whole := max(a.past.last()/chunk, 0)
	if a.past.last() == h.past.last() && a.root == h.root {
		whole = hi
	}
	for k := lo; k < hi; k++ {
		if k >= from && k < to && k < whole {
			continue
		}
		if !yield(fold.Part{Name: partOf(k), Same: h.past, Append: func(dst []byte) []byte {
			return h.appendVersions(dst, max(k*chunk, h.past.dropped), min((k+1)*chunk, h.past.next()))
		}}) {
			return false
		}
	}
	return true
}

// last is the number of the newest version, -1 without one.
func (h *history) last() int64 {
	if h == nil {
		return -1
	}
	return h.next() - 1
}

func partOf(chunk int64) string { return ofPast + strconv.FormatInt(chunk, 16) }

// appendVersions appends the versions of some numbers.
func (h *handle) appendVersions(dst []byte, from, to int64) []byte {
	dst = binary.AppendUvarint(binary.AppendVarint(dst, from), uint64(to-from))
	list := h.past.list
	for n := from - h.past.dropped; n < to-h.past.dropped; n++ {
		after := h.root
		if n+1 < int64(len(list)) {
			after = list[n+1].root
		}
		v := &list[n]
		dst = appendBlock(binary.AppendVarint(binary.AppendVarint(dst, v.until), v.turned), after, v.root)
	}
	return dst
}

// versionText is a version as it is written.
type versionText struct {
	until, turned int64
	diff          string
}

// versions reads what appendVersions wrote.
func (r *reader) versions() {
	from := r.Varint()
	for n := range int64(r.Count()) {
		v := versionText{r.Varint(), r.Varint(), r.Text()}
		if r.texts == nil {
			r.texts = make(map[int64]versionText)
		}
		r.texts[from+n] = v
	}
}

// handle makes a state of its rows, in any order, and of the versions that were read.
func (r *reader) handle(c counts, slots []slot) (*handle, error) {
	h, err := r.p.handleOf(c, slots)
	if err != nil {
		return nil, err
	}
	if past := r.past; past != nil {
		past.list = make([]version, r.count)
		for n, root := r.count-1, h.root; n >= 0 && r.Err() == nil; n-- {
			v, ok := r.texts[past.dropped+n]
			if !ok {
				return nil, fold.ErrForeign
			}
			r.Reader = fold.NewReader([]byte(v.diff))
			root, _ = r.diff(root, new(fold.Generation))
			past.list[n] = version{v.until, root, v.turned}
		}
	}
	h.keepPast(r.p, r.past)
	return h, r.Err()
}
