package accumulator

import (
	"github.com/graphd/graphd/internal/accumulator/fold"
	"github.com/graphd/graphd/internal/accumulator/window"
)

// The kinds of accumulators.
const (
	kindPassthrough = "passthrough"
	kindBatch       = "batch"
	kindState       = "state"
	kindWindow      = "window"
)

// NewFold makes the empty fold of p's kind.
func NewFold(p *Program) fold.Fold {
	switch p.kind {
	case kindBatch:
		limit := p.capacityBytes
		if limit <= 0 {
			limit = DefaultMaxEventBytes
		}
		return &batch{rule: p.batch, maxBytes: limit}
	case kindState:
		return &history{keep: max(p.keep, 1)}
	case kindWindow:
		return window.New(p.window)
	}
	return passthrough{} // Compile admits only known kinds
}
