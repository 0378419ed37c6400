package accumulator

import (
	_ "embed"
	"fmt"

	"github.com/graphd/graphd/internal/accumulator/fold"
	"github.com/graphd/graphd/internal/expression"
	"github.com/graphd/graphd/internal/spec"
	"github.com/graphd/graphd/internal/spec/decode"
	"github.com/graphd/graphd/internal/spec/meaning"
)

// StateKind describes the kind of accumulator that keeps the newest events.
func StateKind() decode.Kind[spec.AccumulatorConfig] {
	about := decode.NewSchema("Keep the newest events and hand all of them over at each event.",
		decode.Define(stateDefinitions, decode.MappingOf("state", stateFields, nil)))
	return fold.NewKind(decode.NewKind(kindState, about, func() State { return State{} }, readState))
}

// State is the configuration of a history of the newest events.
type State struct {
	Keep int // how many of them, at least 1
}

// Canonical implements [spec.AccumulatorConfig].
func (c State) Canonical(t *meaning.Tree) { t.Number("keep", int64(c.Keep)) }

// Identity implements [spec.AccumulatorConfig].
func (c State) Identity() string { return identity(0, c.Keep) }

// Hands implements [spec.AccumulatorConfig].
func (c State) Hands() spec.Hands { return spec.NewestEvents }

// Type implements [fold.Maker].
func (c State) Type(event expression.Type) expression.Type { return expression.ListOf(event) }

// New implements [fold.Maker].
func (c State) New(int64) fold.Fold { return &history{keep: max(c.Keep, 1)} }

// WithEpochs implements [fold.Maker].
func (c State) WithEpochs() bool { return false }

// identity has the form in which stores hold those of batches and histories.
func identity(size, keep int) string { return fmt.Sprintf("%d/%d", size, keep) }

var (
	stateFields = []decode.Field[State]{
		{Name: "keep", Need: true, Read: func(d *decode.Decoder, v decode.Value, c *State) {
			d.Count(v, 1, maxKept, &c.Keep)
		}},
	}

	//go:embed state.json
	stateDefinitions string
)

func readState(d *decode.Decoder, v decode.Value, c *State) {
	decode.Object(d, v, "state", stateFields, c)
}
