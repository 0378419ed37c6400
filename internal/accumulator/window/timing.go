package window

import (
	"time"

	"github.com/graphd/graphd/internal/accumulator/fold"
)

// Watermark implements [fold.Timing].
func (w *timely) Watermark() (fold.Watermark, bool) { return w.wm.Told() }

// Partitioned implements [fold.Timing].
func (w *timely) Partitioned(most int) *fold.Watermark { return w.wm.Partitioned(most) }

// Watermark implements [fold.Timing].
func (h *handle) Watermark() (fold.Watermark, bool) {
	w, ok := h.wm.Told()
	if h.closed < len(h.instances) {
		w.Until = time.Unix(0, h.instances[h.closed].end).UTC()
	}
	return w, ok
}

// Partitioned implements [fold.Timing].
func (h *handle) Partitioned(most int) *fold.Watermark { return h.wm.Partitioned(most) }

// Watermark implements [fold.Timing].
func (h *sessionsHandle) Watermark() (fold.Watermark, bool) { return h.wm.Told() }

// Partitioned implements [fold.Timing].
func (h *sessionsHandle) Partitioned(most int) *fold.Watermark { return h.wm.Partitioned(most) }
