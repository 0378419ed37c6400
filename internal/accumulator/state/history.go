package state

import (
	"time"

	"github.com/graphd/graphd/internal/accumulator/fold"
	"github.com/graphd/graphd/internal/boundary"
)

// historyState begins a state: its kind and the version of its form.
const historyState = "H\x01"

// history keeps the newest events and hands them over as a list, oldest first, with
// every event (kind "state"). Such a boundary accounts for the new event alone.
//
// The newest events are a window on a longer array that is only ever appended to;
// when it is full the window moves to a new one. So every boundary and every handle is
// a slice of an array, made without copying, and an event costs O(1).
type history struct {
	keep int
	historyWindow
}

// historyWindow is a state too: a copy of it is an immutable handle.
type historyWindow struct {
	items []boundary.Value
	sizes []int // of each item
	bytes int   // the sum of sizes
}

func (h *history) Add(_ time.Time, in *fold.Input, out []boundary.Boundary) ([]boundary.Boundary, fold.Verdict) {
	v, ev := in.Value, in.Event
	size := v.Size()
	h.push(v, size)
	n := len(h.items)
	return append(out, boundary.Boundary{
		Value: boundary.List(h.items[:n:n]),
		First: ev.Pos, Last: ev.Pos, At: in.At, Events: 1, Size: h.bytes, Links: ev.Links,
	}), fold.Folded
}

// push appends an item and drops the oldest past keep.
func (h *history) push(v boundary.Value, size int) {
	items, sizes, bytes := h.items, h.sizes, h.bytes+size
	if len(items) == h.keep {
		bytes -= sizes[0]
		items, sizes = items[1:], sizes[1:]
	}
	if len(items) == cap(items) || len(sizes) == cap(sizes) {
		// Twice what the window will be: the move is paid by as many appends.
		room := min(2*len(items)+16, 2*h.keep)
		items = append(make([]boundary.Value, 0, room), items...)
		sizes = append(make([]int, 0, room), sizes...)
	}
	h.items, h.sizes, h.bytes = append(items, v), append(sizes, size), bytes
}

func (h *history) Due() (time.Time, bool)                                        { return time.Time{}, false }
func (h *history) Tick(_ time.Time, out []boundary.Boundary) []boundary.Boundary { return out }
func (h *history) End(out []boundary.Boundary) []boundary.Boundary               { return out }
func (h *history) Open() int64                                                   { return 0 }

func (h *history) State() fold.State {
	w := h.historyWindow
	w.items, w.sizes = w.items[:len(w.items):len(w.items)], w.sizes[:len(w.sizes):len(w.sizes)]
	return &w
}

func (h *history) Resume(s fold.State) { h.historyWindow = *s.(*historyWindow) }

// AppendBinary implements [fold.State].
func (w *historyWindow) AppendBinary(dst []byte) []byte {
	return fold.AppendValues(append(dst, historyState...), w.items)
}

func (h *history) Decode(data []byte) (fold.State, error) {
	w := &historyWindow{}
	if len(data) == 0 {
		return w, nil
	}
	r := fold.Read(data, historyState)
	w.items = r.Values()
	if err := r.Done(); err != nil {
		return nil, err
	}
	// The declaration may keep fewer now.
	w.items = w.items[max(0, len(w.items)-h.keep):]
	w.sizes = make([]int, len(w.items))
	for i, v := range w.items {
		w.sizes[i] = v.Size()
		w.bytes += w.sizes[i]
	}
	return w, nil
}

// Weight implements [fold.Weighed]. The arrays are up to twice as long as what is kept.
func (w *historyWindow) Weight() int64 {
	return int64(w.bytes) + int64(w.bytes)/8 + int64(len(w.items))*24
}
