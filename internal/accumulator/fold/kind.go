package fold

import (
	"github.com/graphd/graphd/internal/expression"
	"github.com/graphd/graphd/internal/spec"
	"github.com/graphd/graphd/internal/spec/decode"
)

// Declared is the configuration of a kind of accumulator: what a declaration asks of it, and
// what runs it.
type Declared interface {
	spec.AccumulatorConfig
	Maker
}

// Maker makes the folds of an accumulator.
type Maker interface {
	// Type is the type of a boundary's value, by that of what an event becomes.
	Type(event expression.Type) expression.Type
	// New makes an empty fold; maxBytes bounds what it holds open.
	New(maxBytes int64) Fold
	// WithEpochs says that after every epoch that is kept the fold is asked to End.
	WithEpochs() bool
}

// NewKind describes a kind of accumulator.
func NewKind[C Declared](declared decode.Kind[C]) decode.Kind[spec.AccumulatorConfig] {
	return decode.As(declared, func(c C) spec.AccumulatorConfig { return c })
}
