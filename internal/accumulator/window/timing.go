package window

import (
	"time"

	"github.com/graphd/graphd/internal/accumulator/fold"
	"github.com/graphd/graphd/internal/accumulator/window/watermark"
)

// told is a watermark as others are told it.
func told(wm *watermark.Watermark) (w fold.Watermark, ok bool) {
	p := wm.Slowest()
	if wm.Mark == watermark.NoTime || p == nil {
		return w, false
	}
	return fold.Watermark{At: time.Unix(0, wm.Mark).UTC(), HeldBy: p.Name, Newest: time.Unix(0, p.Max).UTC()}, true
}

// Watermark implements [fold.Timing].
func (w *timely) Watermark() (fold.Watermark, bool) { return told(&w.wm) }

// Watermark implements [fold.Timing].
func (h *handle) Watermark() (fold.Watermark, bool) {
	w, ok := told(&h.wm)
	if h.closed < len(h.instances) {
		w.Until = time.Unix(0, h.instances[h.closed].end).UTC()
	}
	return w, ok
}

// Watermark implements [fold.Timing].
func (h *sessionsHandle) Watermark() (fold.Watermark, bool) { return told(&h.wm) }
