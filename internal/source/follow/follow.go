// Package follow is the source that is an output of another graph of the daemon which others may follow: its values are
// kept there until they are durable here, so that each comes exactly once. The engine reads them, since it knows the
// graphs; here is how such a source is declared.
package follow

import (
	_ "embed"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/kind"
	"github.com/graphd/graphd/internal/spec/decode"
	"github.com/graphd/graphd/internal/spec/meaning"
	"github.com/graphd/graphd/internal/spec/trait"
)

// Kind describes the source.
func Kind() kind.Source[accumulator.Source] {
	declared := decode.NewKind("follow", schema(), defaults, readDeclared)
	return kind.NewSource(declared, kind.Unchecked, kind.NoSource[Declared, accumulator.Source])
}

// Declared is the source as a declaration describes it.
type Declared struct{ Name, Output string }

// Canonical implements [spec.SourceConfig].
func (c Declared) Canonical(t *meaning.Tree) {
	t.Text("name", c.Name)
	t.Text("output", c.Output)
}

// Identity implements [spec.SourceConfig].
func (c Declared) Identity() string { return c.Name + "/" + c.Output }

// Origin implements [spec.SourceConfig].
func (c Declared) Origin() trait.Origin { return trait.Followed(c.Name, c.Output) }

var (
	fields = decode.PartOfGraph("output", func(c *Declared) (graph, part *string) {
		return &c.Name, &c.Output
	})

	//go:embed schema.json
	definitions string
)

func schema() decode.Schema {
	return decode.NewSchema("An output of another graph whose sink is followers, each value exactly once.",
		decode.Define(definitions, decode.MappingOf("source_follow", fields, nil)))
}

func defaults() Declared { return Declared{} }

func readDeclared(d *decode.Decoder, v decode.Value, c *Declared) {
	decode.Object(d, v, "source follow", fields, c)
}
