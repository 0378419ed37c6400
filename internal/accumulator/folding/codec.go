package folding

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"
	"strconv"

	"github.com/graphd/graphd/internal/accumulator/fold"
)

// The first bytes of a state, in one piece or as a head without its pages: the kind and the version of
// its form.
const (
	whole  = "F\x01"
	headed = "f\x01"
	// Of states that the program's code makes: the version of what it makes follows.
	goWhole  = "G\x01"
	goHeaded = "g\x01"
)

// handle is an immutable handle on all states as of one moment.
type handle struct {
	branches []*branch
	n        int
	events   int64
	gone     int64
	most     int // keys that there may be; 0: there is no key
	version  int // of what the program's code makes; 0: there is none
}

// State implements [fold.Keeper].
func (f *Folding) State() fold.State {
	f.gen = new(fold.Generation) // from here on what the handle shares is copied before it is written to
	h := &handle{branches: f.cells.branches, n: f.cells.n, events: f.events, gone: f.gone, version: f.p.version()}
	if f.p.keys > 0 {
		h.most = f.p.maxKeys
	}
	return h
}

// Keys implements [fold.Keyed].
func (h *handle) Keys() (count, most int, evicted int64) { return h.n, h.most, h.gone }

// cellBytes is about what a state takes beside its key and its value: the cell, its place and what finds it.
const cellBytes = 144 + 12 + 48 + 48

// Weight implements [fold.Weighed].
func (h *handle) Weight() int64 {
	t := table{branches: h.branches, n: h.n}
	return fold.Weigh(h.n, func(i int) int64 {
		c := t.at(i)
		return cellBytes + 2*c.key.Held(nil, nil) + c.state.Held(nil, nil) // the key stands in the index too
	})
}

// Resume implements [fold.Keeper].
func (f *Folding) Resume(s fold.State) {
	h := s.(*handle)
	f.gen = new(fold.Generation)
	f.cells = table{branches: h.branches, n: h.n}
	f.events, f.gone, f.owed, f.bytes = h.events, h.gone, 0, 0
	f.failures = fold.Failures{}
	f.index, f.entries = make(map[string]*entry, h.n), make([]*entry, h.n)
	for i := range f.entries {
		c := f.cells.at(i)
		_ = f.find(c.key) // it was checked when it came in
		e := &entry{key: string(f.text), cell: i}
		f.index[e.key], f.entries[i] = e, e
		f.owed += c.open
		f.bytes += c.bytes
	}
	f.recent.clear()
	for _, e := range slices.SortedFunc(slices.Values(f.entries), func(a, b *entry) int {
		return cmp.Compare(f.cells.at(a.cell).used, f.cells.at(b.cell).used)
	}) {
		f.recent.use(e)
	}
}

// AppendBinary implements [fold.State].
func (h *handle) AppendBinary(dst []byte) []byte {
	dst = h.appendHead(dst, whole, goWhole)
	for part := range h.Parts() {
		dst = part.Append(dst)
	}
	return dst
}

// AppendHead implements [fold.Parted].
func (h *handle) AppendHead(dst []byte) []byte { return h.appendHead(dst, headed, goHeaded) }

func (h *handle) appendHead(dst []byte, of, ofGo string) []byte {
	if h.version > 0 {
		dst = binary.AppendUvarint(append(dst, ofGo...), uint64(h.version))
	} else {
		dst = append(dst, of...)
	}
	dst = binary.AppendVarint(binary.AppendVarint(dst, h.events), h.gone)
	return binary.AppendUvarint(dst, uint64(h.n))
}

// Parts implements [fold.Parted].
func (h *handle) Parts() func(yield func(fold.Part) bool) {
	return func(yield func(fold.Part) bool) {
		t := table{branches: h.branches}
		for k := 0; k*pageCells < h.n; k++ {
			pg, n := t.page(k), min(h.n-k*pageCells, pageCells)
			if !yield(fold.Part{
				Name: strconv.Itoa(k), Same: pg, Append: func(dst []byte) []byte { return pg.append(dst, n) },
			}) {
				return
			}
		}
	}
}

// append appends the first n cells.
func (p *page) append(dst []byte, n int) []byte {
	for _, c := range p.cells[:n] {
		dst = c.key.AppendBinary(dst)
		dst = c.state.AppendBinary(dst)
		dst = binary.AppendVarint(dst, c.used)
		dst = binary.AppendVarint(dst, c.open)
		dst = c.first.AppendBinary(dst)
		dst = c.last.AppendBinary(dst)
	}
	return dst
}

// Decode implements [fold.Keeper].
func (f *Folding) Decode(data []byte) (fold.State, error) {
	h := &handle{version: f.p.version()}
	if len(data) == 0 {
		return h, nil
	}
	inOne, inPages := whole, headed
	if f.p.code != nil {
		inOne, inPages = goWhole, goHeaded
	}
	head, parts := inOne, map[string][]byte(nil)
	if fold.IsJoined(data) {
		var err error
		if data, parts, err = fold.Split(data); err != nil {
			return nil, err
		}
	}
	if parts != nil || len(data) > 0 && data[0] == inPages[0] { // a head alone has no pages
		head = inPages
	}
	r := fold.Read(data, head)
	migrate := f.p.migration(r)
	h.events, h.gone = r.Varint(), r.Varint()
	n := r.Uvarint()
	if n > MostKeys {
		r.Fail(fold.ErrForeign)
		n = 0
	}
	t, seen := table{}, make(map[string]bool, min(n, 1024))
	for t.n < int(n) && r.Err() == nil {
		k, from := t.n/pageCells, r
		if head == inPages {
			from = fold.NewReader(parts[strconv.Itoa(k)])
		}
		for range min(int(n)-t.n, pageCells) {
			t.add(f.decodeCell(from, seen, migrate), nil)
		}
		if head == inPages {
			if err := from.Done(); err != nil {
				return nil, fmt.Errorf("page %d of the fold: %w", k, err)
			}
		}
	}
	h.branches, h.n = t.branches, t.n
	return h, r.Done()
}

// decodeCell reads a cell whose key is not among those seen. A state of an older version is migrated.
func (f *Folding) decodeCell(r *fold.Reader, seen map[string]bool, migrate migration) *cell {
	c := &cell{key: r.Value(), state: r.Value(), used: r.Varint(), open: r.Varint()}
	c.first, c.last = r.Position(), r.Position()
	if r.Err() != nil {
		return c
	}
	if f.p.keys > 0 && fold.CheckKey(c.key, "") != nil || f.find(c.key) != nil || seen[string(f.text)] || c.open < 0 {
		r.Fail(fold.ErrForeign)
		return c
	}
	seen[string(f.text)] = true
	if migrate != nil {
		if err := migrate(&c.state); err != nil {
			r.Fail(err)
			return c
		}
	}
	f.encoded = c.state.AppendBinary(f.encoded[:0])
	c.bytes = int64(len(f.encoded) + len(f.text))
	return c
}
