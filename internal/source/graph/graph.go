// Package graph has the sources that are outputs of other graphs of the daemon: graph, whose values come as they are
// put out, and follow, whose values are kept there until they are durable here, so that each comes exactly once. The
// engine hands the values over, since it knows the graphs; here is how such sources are declared.
package graph

import (
	_ "embed"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/kind"
	"github.com/graphd/graphd/internal/spec/decode"
	"github.com/graphd/graphd/internal/spec/meaning"
	"github.com/graphd/graphd/internal/spec/trait"
)

// Kind describes the source graph.
func Kind() kind.Source[accumulator.Source] {
	return kindOf("graph", "The output of another graph.", definitions, Declared{})
}

// Following describes the source follow.
func Following() kind.Source[accumulator.Source] {
	return kindOf("follow", "An output of another graph whose sink is followers, each value exactly once.",
		definitionsOfFollow, Declared{follows: true})
}

func kindOf(name, about, definitions string, defaults Declared) kind.Source[accumulator.Source] {
	schema := decode.NewSchema(about, decode.Define(definitions, decode.MappingOf("source_"+name, fields, nil)))
	declared := decode.NewKind(name, schema, func() Declared { return defaults },
		func(d *decode.Decoder, v decode.Value, c *Declared) { decode.Object(d, v, "source "+name, fields, c) })
	return kind.NewSource(declared, kind.Unchecked, kind.NoSource[Declared, accumulator.Source])
}

// Declared is the source as a declaration describes it.
type Declared struct {
	Name, Output string
	follows      bool // it is of the kind follow
}

// Canonical implements [spec.SourceConfig].
func (c Declared) Canonical(t *meaning.Tree) {
	t.Text("name", c.Name)
	t.Text("output", c.Output)
}

// Identity implements [spec.SourceConfig].
func (c Declared) Identity() string { return c.Name + "/" + c.Output }

// Origin implements [spec.SourceConfig].
func (c Declared) Origin() trait.Origin {
	if c.follows {
		return trait.Followed(c.Name, c.Output)
	}
	return trait.FromGraph(c.Name, c.Output)
}

var (
	fields = decode.PartOfGraph("output", func(c *Declared) (graph, part *string) {
		return &c.Name, &c.Output
	})

	//go:embed schema.json
	definitions string

	//go:embed follow.json
	definitionsOfFollow string
)
