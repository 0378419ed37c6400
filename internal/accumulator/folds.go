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
	switch {
	case p.window != nil:
		return window.New(p.window)
	case p.maker != nil:
		limit := p.capacityBytes
		if limit <= 0 {
			limit = DefaultMaxEventBytes
		}
		return p.maker.New(limit)
	}
	return passthrough{} // Compile admits only known kinds
}
