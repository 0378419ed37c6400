package live

import (
	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/boundary"
)

// fits takes room for the boundaries when there is enough. A handoff larger than the
// whole lane goes in alone, or it never would.
func (l *lane) fits(bs []boundary.Boundary) bool {
	if !l.hasRoom(bs) {
		return false
	}
	l.occupy(bs)
	return true
}

func (l *lane) hasRoom(bs []boundary.Boundary) bool {
	return l.depth == 0 || l.depth+len(bs) <= l.capacity && l.bytes+sizeOf(bs) <= l.maxBytes
}

func (l *lane) occupy(bs []boundary.Boundary) {
	l.depth += len(bs)
	l.bytes += sizeOf(bs)
}

func sizeOf(bs []boundary.Boundary) (size int64) {
	for i := range bs {
		size += int64(bs[i].Size)
	}
	return size
}

// lateLane is the lane that h's late events wait for room in; nil when there is none to wait for.
func (b *Inbox) lateLane(l *lane, h *accumulator.Handoff) *lane {
	if len(h.Late) == 0 || l.late == 0 || !b.lanes[l.late-1].sequential {
		return nil
	}
	return &b.lanes[l.late-1]
}
