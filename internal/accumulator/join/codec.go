package join

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strconv"

	"github.com/graphd/graphd/internal/accumulator/fold"
	"github.com/graphd/graphd/internal/boundary"
)

// The first bytes of a state: in one piece, or in parts that were joined.
const (
	whole  = "R\x01"
	headed = "r\x01"
)

// handle is an immutable handle on what a join keeps.
type handle struct {
	p           *Program
	mark        int64
	most        [2]int64
	next        uint64
	rows        int
	bytes, owed int64
	pages       []pageHandle
}

type pageHandle struct {
	number  uint64
	page    *page // nil where it was decoded
	version uint64
	rows    []row
}

// same tells one content of a page from others.
type same struct {
	page    *page
	first   *row
	version uint64
}

// State implements [fold.Keeper].
func (j *Join) State() fold.State {
	h := &handle{p: j.p, mark: j.mark, most: j.most, next: j.next, rows: j.rows, bytes: j.bytes, owed: j.owed,
		pages: make([]pageHandle, 0, len(j.pages)-j.empty)}
	for _, p := range j.pages {
		if p.live > 0 {
			h.pages = append(h.pages, pageHandle{p.number, p, p.version, p.rows})
		}
	}
	j.gen = new(fold.Generation) // from here on what the handle shares is copied before it is written to
	return h
}

// Resume implements [fold.Keeper].
func (j *Join) Resume(s fold.State) {
	h := s.(*handle)
	*j = *New(j.p)
	j.mark, j.most, j.next = h.mark, h.most, h.next
	for i := range h.pages {
		p := &page{number: h.pages[i].number, rows: h.pages[i].rows}
		for k := range p.rows {
			e := &p.rows[k]
			if e.gone {
				continue
			}
			p.live++
			j.rows++
			j.bytes += int64(e.size)
			j.owed += e.owes
			at := place{at: e.at, page: p, i: k}
			j.queues[e.side] = append(j.queues[e.side], at)
		}
		if p.live > 0 {
			j.pages = append(j.pages, p)
			j.reopen(p)
		}
	}
	for side := range j.queues {
		q := j.queues[side]
		slices.SortFunc(q, func(a, b place) int {
			if a.less(&b) {
				return -1
			}
			return 1
		})
		for _, at := range q { // which is a heap, being sorted
			g := j.group(at.row().key)
			g.sides[side] = append(g.sides[side], at)
		}
	}
}

// reopen goes on with a page, if there is room on it and all of its rows are of one side: once there were both on one.
func (j *Join) reopen(p *page) {
	side := p.rows[0].side
	mixed := slices.ContainsFunc(p.rows, func(e row) bool { return e.side != side })
	if !mixed && len(p.rows) < pageRows {
		j.open[side] = p
	}
}

// AppendBinary implements [fold.State].
func (h *handle) AppendBinary(dst []byte) []byte {
	dst = h.appendHead(append(dst, whole...))
	for i := range h.pages {
		dst = h.pages[i].append(dst)
	}
	return dst
}

// AppendHead implements [fold.Parted].
func (h *handle) AppendHead(dst []byte) []byte { return h.appendHead(append(dst, headed...)) }

func (h *handle) appendHead(dst []byte) []byte {
	dst = binary.AppendVarint(dst, h.mark)
	for _, at := range h.most {
		dst = binary.AppendVarint(dst, at)
	}
	dst = binary.AppendUvarint(dst, h.next)
	dst = binary.AppendUvarint(dst, uint64(len(h.pages)))
	for i := range h.pages {
		dst = binary.AppendUvarint(dst, h.pages[i].number)
	}
	return dst
}

// Parts implements [fold.Parted].
func (h *handle) Parts() func(yield func(fold.Part) bool) {
	return func(yield func(fold.Part) bool) {
		for i := range h.pages {
			p := &h.pages[i]
			if !yield(fold.Part{
				Name: strconv.FormatUint(p.number, 10), Same: same{p.page, &p.rows[0], p.version}, Append: p.append,
			}) {
				return
			}
		}
	}
}

// The bits of a row's first byte.
const (
	rightBit = 1 << iota
	goneBit
)

func (p *pageHandle) append(dst []byte) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(p.rows)))
	for i := range p.rows {
		e := &p.rows[i]
		bits := e.side
		if e.gone {
			dst = append(dst, bits|goneBit)
			continue
		}
		dst = append(dst, bits)
		dst = binary.AppendVarint(dst, e.at)
		dst = binary.AppendUvarint(dst, uint64(e.matches))
		dst = binary.AppendUvarint(dst, uint64(e.owes))
		dst = binary.AppendUvarint(dst, uint64(e.size))
		dst = binary.AppendUvarint(dst, uint64(len(e.key)))
		dst = append(dst, e.key...)
		dst = e.pos.AppendBinary(dst)
		dst = e.value.AppendBinary(dst)
	}
	return dst
}

// Decode implements [fold.Keeper].
func (j *Join) Decode(data []byte) (fold.State, error) {
	h := &handle{p: j.p, mark: noTime, most: [2]int64{noTime, noTime}}
	if len(data) == 0 {
		return h, nil
	}
	begin, parts := whole, map[string][]byte(nil)
	switch {
	case fold.IsJoined(data):
		var err error
		if data, parts, err = fold.Split(data); err != nil {
			return nil, err
		}
		begin = headed
	case data[0] == headed[0]: // there were no rows
		begin, parts = headed, map[string][]byte{}
	}
	r := fold.Read(data, begin)
	h.mark = r.Varint()
	h.most = [2]int64{r.Varint(), r.Varint()}
	h.next = r.Uvarint()
	for range r.Count() {
		h.pages = append(h.pages, pageHandle{number: r.Uvarint()})
	}
	for i := range h.pages {
		p := &h.pages[i]
		page := r
		if parts != nil {
			page = fold.NewReader(parts[strconv.FormatUint(p.number, 10)])
		}
		h.decodePage(page, p)
		if parts != nil {
			if err := page.Done(); err != nil {
				return nil, fmt.Errorf("page %d: %w", p.number, err)
			}
		}
		if p.number >= h.next || i > 0 && p.number <= h.pages[i-1].number {
			r.Fail(fold.ErrForeign)
		}
	}
	if err := r.Done(); err != nil {
		return nil, err
	}
	return h, nil
}

func (h *handle) decodePage(r *fold.Reader, p *pageHandle) {
	n := r.Count()
	if n == 0 || n > pageRows {
		r.Fail(fold.ErrForeign)
		return
	}
	for range n {
		bits := r.Uvarint()
		e := row{side: uint8(bits & rightBit), gone: bits&goneBit != 0}
		if bits > rightBit|goneBit {
			r.Fail(fold.ErrForeign)
			return
		}
		if !e.gone {
			e.at, e.matches, e.owes = r.Varint(), int64(r.Uvarint()), int64(r.Uvarint())
			e.size = int(r.Uvarint())
			e.key, e.pos, e.value = boundary.Key(r.Text()), r.Position(), r.Value()
			h.rows++
			h.bytes += int64(e.size)
			h.owed += e.owes
		}
		p.rows = append(p.rows, e)
	}
}

// Keys implements [fold.Keyed]: how many rows there are and may be.
func (h *handle) Keys() (count, most int, evicted int64) { return h.rows, h.p.MaxRows, 0 }

// Weight implements [fold.Weighed].
func (h *handle) Weight() int64 { return h.bytes }
