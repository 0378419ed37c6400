package accumulator

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strconv"

	"github.com/graphd/graphd/internal/accumulator/aggregate"
	"github.com/graphd/graphd/internal/boundary"
)

// The first bytes of a window's state: in one piece, or in parts that were joined.
const (
	windowWhole = "W\x01"
	windowHead  = "w\x01"
)

// windowHandle is an immutable handle on a window fold: the few things that change with
// every event are copied, the groups are shared.
type windowHandle struct {
	p       *windowProgram
	wm      watermark
	earlyAt int64
	panes   []paneHandle
	closed  int
	owed    int64
}

type paneHandle struct {
	number, start, end int64
	pages              []*page
	n                  int
}

func (w *window) state() FoldState {
	h := &windowHandle{p: w.p, wm: w.wm, earlyAt: w.earlyAt, closed: w.closed, owed: w.owed}
	h.wm.parts = slices.Clone(w.wm.parts)
	h.panes = make([]paneHandle, len(w.panes))
	for i, p := range w.panes {
		h.panes[i] = paneHandle{p.number, p.start, p.end, p.pages, p.n}
	}
	w.gen++ // from here on what the handle shares is copied before it is written to
	return h
}

func (w *window) resume(s FoldState) {
	h := s.(*windowHandle)
	w.gen++
	w.wm, w.earlyAt, w.closed, w.owed = h.wm, h.earlyAt, h.closed, h.owed
	w.wm.parts = slices.Clone(h.wm.parts)
	w.wm.lateness, w.wm.silence = int64(w.p.Lateness), int64(w.p.Idle)
	w.wm.last = -1
	w.panes, w.groups, w.last, w.failures = make([]*pane, len(h.panes)), 0, nil, nil
	for i, p := range h.panes {
		w.panes[i] = &pane{number: p.number, start: p.start, end: p.end, groups: groups{pages: p.pages, n: p.n}}
		w.panes[i].reindex()
		w.groups += p.n
	}
}

// AppendBinary implements [FoldState].
func (h *windowHandle) AppendBinary(dst []byte) []byte {
	dst = h.appendHead(append(dst, windowWhole...))
	for part := range h.Parts() {
		dst = part.Append(dst)
	}
	return dst
}

// AppendHead implements [PartedState].
func (h *windowHandle) AppendHead(dst []byte) []byte {
	return h.appendHead(append(dst, windowHead...))
}

// appendHead writes all but the groups.
func (h *windowHandle) appendHead(dst []byte) []byte {
	dst = binary.AppendVarint(dst, h.wm.mark)
	dst = binary.AppendUvarint(dst, uint64(len(h.wm.parts)))
	for _, p := range h.wm.parts {
		dst = binary.AppendUvarint(dst, uint64(len(p.name)))
		dst = append(dst, p.name...)
		dst = binary.AppendVarint(dst, p.most)
		// since is left out: after a restart a silence counts from then.
		dst = append(dst, boolByte(p.idle))
	}
	dst = append(dst, boolByte(h.earlyAt != 0))
	dst = binary.AppendUvarint(dst, uint64(h.closed))
	dst = binary.AppendUvarint(dst, uint64(len(h.panes)))
	for i := range h.panes {
		p := &h.panes[i]
		dst = binary.AppendVarint(dst, p.number)
		dst = binary.AppendVarint(dst, p.start)
		dst = binary.AppendVarint(dst, p.end)
		dst = binary.AppendUvarint(dst, uint64(p.n))
	}
	return dst
}

func boolByte(b bool) byte {
	if b {
		return 1
	}
	return 0
}

// Part is a piece of a state that is written by itself, and only when it has changed.
type Part struct {
	Name string
	// Same is comparable: the same for the same content, as long as the process lives.
	Same any
	// Append appends the content.
	Append func(dst []byte) []byte
}

// Parts implements [PartedState].
func (h *windowHandle) Parts() func(yield func(Part) bool) {
	return func(yield func(Part) bool) {
		for i := range h.panes {
			p := &h.panes[i]
			for k, pg := range p.pages {
				n := min(p.n-k*pageGroups, pageGroups)
				if !yield(Part{
					Name: strconv.FormatInt(p.number, 10) + "." + strconv.Itoa(k), Same: pg,
					Append: func(dst []byte) []byte { return h.appendPage(dst, pg, n) },
				}) {
					return
				}
			}
		}
	}
}

func (h *windowHandle) appendPage(dst []byte, pg *page, n int) []byte {
	for _, g := range pg.groups[:n] {
		dst = g.key.AppendBinary(dst)
		dst = binary.AppendVarint(dst, g.owes)
		dst = binary.AppendVarint(dst, g.at)
		dst = append(dst, boolByte(g.dirty))
		dst = g.first.AppendBinary(dst)
		dst = g.last.AppendBinary(dst)
		dst = h.p.calls.Append(dst, g.cells)
	}
	return dst
}

func (w *window) decode(data []byte) (FoldState, error) {
	h := &windowHandle{p: w.p, wm: newWatermark(w.p.Lateness, w.p.Idle)}
	if len(data) == 0 {
		return h, nil
	}
	parts := map[string][]byte(nil)
	if len(data) >= len(joinedState) && string(data[:len(joinedState)]) == joinedState {
		var err error
		if data, parts, err = splitParts(data); err != nil {
			return nil, err
		}
	} else if len(data) >= len(windowHead) && string(data[:len(windowHead)]) == windowHead {
		parts = map[string][]byte{} // nothing was open
	}
	head := windowWhole
	if parts != nil {
		head = windowHead
	}
	r := readState(data, head)
	w.decodeHead(r, h)
	for i := range h.panes {
		p := &h.panes[i]
		for k := 0; k*pageGroups < p.n && r.err == nil; k++ {
			page := r
			if parts != nil {
				page = &stateReader{data: parts[strconv.FormatInt(p.number, 10)+"."+strconv.Itoa(k)]}
			}
			p.pages = append(p.pages, w.decodePage(page, min(p.n-k*pageGroups, pageGroups), h))
			if parts != nil {
				if err := page.done(); err != nil {
					return nil, fmt.Errorf("page %d of window %d: %w", k, p.number, err)
				}
			}
		}
	}
	if err := r.done(); err != nil {
		return nil, err
	}
	return h, nil
}

func (w *window) decodeHead(r *stateReader, h *windowHandle) {
	h.wm.mark = r.varint()
	for range r.count() {
		p := partition{name: r.text(), most: r.varint(), idle: r.uvarint() == 1}
		h.wm.parts = append(h.wm.parts, p)
	}
	if r.uvarint() == 1 && w.p.Early > 0 {
		h.earlyAt = 1 // at once: how long it waited is not kept
	}
	h.closed = int(r.uvarint())
	for range r.count() {
		h.panes = append(h.panes, paneHandle{number: r.varint(), start: r.varint(), end: r.varint(), n: int(r.uvarint())})
	}
	if h.closed > len(h.panes) || h.closed < 0 {
		r.fail(errForeignState)
	}
	for i := range h.panes {
		if n := h.panes[i].n; n < 1 || n > maxGroups {
			r.fail(errForeignState)
		}
	}
}

func (w *window) decodePage(r *stateReader, n int, h *windowHandle) *page {
	pg := &page{}
	for i := range n {
		g := &group{key: r.value(), owes: r.varint(), at: r.varint(), dirty: r.uvarint() == 1, first: r.position(), last: r.position()}
		g.cells = make([]aggregate.Cell, w.p.calls.Len())
		if r.err == nil {
			var err error
			if r.data, err = w.p.calls.Decode(r.data, g.cells); err != nil {
				r.fail(fmt.Errorf("%w: %w", errForeignState, err))
			}
		}
		if len(w.p.keys) > 0 && r.err == nil {
			if badKey(g.key, "") != nil {
				r.fail(errForeignState)
			} else {
				g.hash = hashKey(w.seed, g.key)
			}
		}
		h.owed += g.owes
		pg.groups[i] = g
	}
	return pg
}

// count reads how many things of at least a byte follow.
func (r *stateReader) count() uint64 {
	n := r.uvarint()
	if n > uint64(len(r.data)) {
		r.fail(errForeignState)
		return 0
	}
	return n
}

func (r *stateReader) text() string {
	n := r.count()
	s := string(r.data[:n])
	r.data = r.data[n:]
	return s
}

func (r *stateReader) value() boundary.Value {
	v, rest, err := boundary.DecodeBinary(r.data)
	if err != nil {
		r.fail(fmt.Errorf("%w: %w", errForeignState, err))
		return boundary.Value{}
	}
	r.data = rest
	return v
}
