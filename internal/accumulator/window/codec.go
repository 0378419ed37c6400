package window

import (
	"encoding/binary"
	"fmt"
	"hash/maphash"
	"strconv"

	"github.com/graphd/graphd/internal/accumulator/fold"
	"github.com/graphd/graphd/internal/accumulator/window/pane"
	"github.com/graphd/graphd/internal/accumulator/window/watermark"
)

// The first byte of a window's state: in one piece, or in parts that were joined. The second says
// in what format: the first one left out since when partitions are silent and when early results
// are due.
const (
	whole  = 'W'
	headed = 'w'

	timeless = 1
	timed    = 2
)

// handle is an immutable handle on a window fold: the few things that change with
// every event are copied, the panes are shared.
type handle struct {
	p         *Program
	seed      maphash.Seed // of the hashes in the panes
	wm        watermark.Watermark
	earlyAt   int64
	astray    bool
	instances []instanceHandle
	closed    int
	owed      int64
}

type instanceHandle struct {
	number, start, end int64
	pages              []*pane.Page
	n                  int
}

// State implements [fold.Keeper].
func (w *Window) State() fold.State {
	h := &handle{p: w.p, seed: w.seed, wm: w.wm.Clone(), earlyAt: w.earlyAt, astray: w.astray, closed: w.closed,
		owed: w.owed}
	h.instances = make([]instanceHandle, len(w.instances))
	for i, p := range w.instances {
		h.instances[i] = instanceHandle{p.number, p.start, p.end, p.Pages(), p.Len()}
	}
	w.gen = new(fold.Generation) // from here on what the handle shares is copied before it is written to
	return h
}

// Resume implements [fold.Keeper].
func (w *Window) Resume(s fold.State) {
	h := s.(*handle)
	w.gen = new(fold.Generation)
	w.seed = h.seed
	w.wm.Resume(&h.wm)
	w.earlyAt, w.astray, w.closed, w.owed = h.earlyAt, h.astray, h.closed, h.owed
	w.instances, w.panes, w.last = make([]*instance, len(h.instances)), 0, nil
	w.failures.Take()
	for i, p := range h.instances {
		w.instances[i] = &instance{number: p.number, start: p.start, end: p.end, Table: pane.TableOf(p.pages, p.n)}
		w.panes += p.n
	}
}

// AppendBinary implements [fold.State].
func (h *handle) AppendBinary(dst []byte) []byte {
	dst = h.appendHead(append(dst, whole, timed))
	for part := range h.Parts() {
		dst = part.Append(dst)
	}
	return dst
}

// AppendHead implements [fold.Parted].
func (h *handle) AppendHead(dst []byte) []byte {
	return h.appendHead(append(dst, headed, timed))
}

// appendHead writes all but the panes.
func (h *handle) appendHead(dst []byte) []byte {
	dst = h.wm.Append(dst)
	dst = binary.AppendVarint(dst, h.earlyAt)
	dst = binary.AppendUvarint(dst, uint64(h.closed))
	dst = binary.AppendUvarint(dst, uint64(len(h.instances)))
	for i := range h.instances {
		p := &h.instances[i]
		dst = binary.AppendVarint(dst, p.number)
		dst = binary.AppendVarint(dst, p.start)
		dst = binary.AppendVarint(dst, p.end)
		dst = binary.AppendUvarint(dst, uint64(p.n))
	}
	return dst
}

// Parts implements [fold.Parted].
func (h *handle) Parts() func(yield func(fold.Part) bool) {
	return func(yield func(fold.Part) bool) {
		for i := range h.instances {
			p := &h.instances[i]
			for k, pg := range p.pages {
				n := min(p.n-k*pane.PerPage, pane.PerPage)
				if !yield(fold.Part{
					Name: strconv.FormatInt(p.number, 10) + "." + strconv.Itoa(k), Same: pg,
					Append: func(dst []byte) []byte { return h.appendPage(dst, pg, n) },
				}) {
					return
				}
			}
		}
	}
}

func (h *handle) appendPage(dst []byte, pg *pane.Page, n int) []byte {
	for _, g := range pg.Panes[:n] {
		dst = g.Append(dst, &h.p.calls)
	}
	return dst
}

// Decode implements [fold.Keeper].
func (w *Window) Decode(data []byte) (fold.State, error) {
	h := &handle{p: w.p, seed: w.seed, wm: watermark.New(w.p.Lateness, w.p.Idle), earlyAt: watermark.NoTime}
	if len(data) == 0 {
		return h, nil
	}
	parts := map[string][]byte(nil)
	if fold.IsJoined(data) {
		var err error
		if data, parts, err = fold.Split(data); err != nil {
			return nil, err
		}
	} else if data[0] == headed {
		parts = map[string][]byte{} // nothing was open
	}
	head := []byte{whole, timed}
	if parts != nil {
		head[0] = headed
	}
	if len(data) > 1 && data[1] == timeless {
		head[1] = timeless
	}
	r := fold.Read(data, string(head))
	w.decodeHead(r, h, head[1])
	for i := range h.instances {
		p := &h.instances[i]
		for k := 0; k*pane.PerPage < p.n && r.Err() == nil; k++ {
			page := r
			if parts != nil {
				page = fold.NewReader(parts[strconv.FormatInt(p.number, 10)+"."+strconv.Itoa(k)])
			}
			p.pages = append(p.pages, w.decodePage(page, min(p.n-k*pane.PerPage, pane.PerPage), h))
			if parts != nil {
				if err := page.Done(); err != nil {
					return nil, fmt.Errorf("page %d of window %d: %w", k, p.number, err)
				}
			}
		}
	}
	if err := r.Done(); err != nil {
		return nil, err
	}
	return h, nil
}

func (w *Window) decodeHead(r *fold.Reader, h *handle, format byte) {
	h.wm.Read(r, format >= timed)
	switch {
	case format >= timed:
		h.earlyAt = r.Varint()
	case r.Uvarint() == 1:
		h.earlyAt = watermark.NoTime + 1 // at once: how long it waited was not kept
	}
	if w.p.Early == 0 {
		h.earlyAt = watermark.NoTime
	}
	h.closed = int(r.Uvarint())
	for range r.Count() {
		h.instances = append(h.instances, instanceHandle{
			number: r.Varint(), start: r.Varint(), end: r.Varint(), n: int(r.Uvarint()),
		})
	}
	if h.closed > len(h.instances) || h.closed < 0 {
		r.Fail(fold.ErrForeign)
	}
	for i := range h.instances {
		if n := h.instances[i].n; n < 1 || n > MaxPanes {
			r.Fail(fold.ErrForeign)
		}
	}
}

func (w *Window) decodePage(r *fold.Reader, n int, h *handle) *pane.Page {
	pg := &pane.Page{}
	for i := range n {
		pg.Panes[i] = new(w.readPane(r))
		h.owed += pg.Panes[i].Owes
	}
	return pg
}

func (b *base) readPane(r *fold.Reader) pane.Pane {
	return pane.Read(r, &b.p.calls, len(b.p.keys) > 0, b.seed)
}

// Weight implements [fold.Weighed].
func (h *handle) Weight() int64 {
	n, at := 0, 0
	for i := range h.instances {
		n += h.instances[i].n
	}
	before := 0 // panes of the windows before the one at hand
	return fold.Weigh(n, func(i int) int64 {
		for i >= before+h.instances[at].n {
			before += h.instances[at].n
			at++
		}
		i -= before
		return h.instances[at].pages[i/pane.PerPage].Panes[i%pane.PerPage].Weight()
	}) + int64(len(h.instances))*128
}
