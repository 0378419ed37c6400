// Package state is the accumulator of the kind state: it keeps the newest events and hands all of
// them over at each. Its [Declared] is what a declaration asks of it; history.go is its fold.
package state

import (
	_ "embed"
	"fmt"

	"github.com/graphd/graphd/internal/accumulator/fold"
	"github.com/graphd/graphd/internal/expression"
	"github.com/graphd/graphd/internal/spec"
	"github.com/graphd/graphd/internal/spec/decode"
	"github.com/graphd/graphd/internal/spec/meaning"
	"github.com/graphd/graphd/internal/spec/trait"
)

// Kind describes the kind of accumulator.
func Kind() decode.Kind[spec.AccumulatorConfig] {
	return fold.NewKind(decode.NewKind("state", schema(), func() Declared { return Declared{} }, readDeclared))
}

// Declared is a history of the newest events as a declaration describes it.
type Declared struct {
	Keep int // how many of them, at least 1
}

// Canonical implements [spec.AccumulatorConfig].
func (c Declared) Canonical(t *meaning.Tree) { t.Number("keep", int64(c.Keep)) }

// Identity implements [spec.AccumulatorConfig].
func (c Declared) Identity(*spec.Accumulator) spec.Identity {
	return spec.ByConfig(fmt.Sprintf("0/%d", c.Keep)) // the form in which stores hold it
}

// Folding implements [spec.AccumulatorConfig].
func (c Declared) Folding() trait.Folding { return trait.Folding{Hands: trait.NewestEvents} }

// Compile implements [fold.Declared].
func (c Declared) Compile(at *fold.Site) (*fold.Program, spec.Diagnostics) {
	return &fold.Program{
		New:  func() fold.Fold { return &history{keep: max(c.Keep, 1)} },
		Type: expression.ListOf(at.Emitted),
	}, nil
}

// Remarks implements [fold.Declared].
func (c Declared) Remarks(fold.Place) spec.Diagnostics { return nil }

var (
	fields = []decode.Field[Declared]{
		{Name: "keep", Alone: true, Also: []string{"size"}, Need: true,
			Read: func(d *decode.Decoder, v decode.Value, c *Declared) {
				d.Count(v, 1, fold.MaxKept, &c.Keep)
			}},
	}

	//go:embed schema.json
	definitions string
)

func schema() decode.Schema {
	return decode.NewSchema("Keep the newest events and hand all of them over at each event.",
		decode.Define(definitions, decode.MappingOf("state", fields, nil)))
}

func readDeclared(d *decode.Decoder, v decode.Value, c *Declared) {
	decode.Object(d, v, "state", fields, c)
}
