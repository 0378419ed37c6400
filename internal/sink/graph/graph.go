// Package graph is the sink that hands values to an accumulator of another graph of the
// daemon. The engine does that, since it knows the graphs; here is how such a sink is declared.
package graph

import (
	_ "embed"

	"github.com/graphd/graphd/internal/kind"
	"github.com/graphd/graphd/internal/sink"
	"github.com/graphd/graphd/internal/spec/decode"
	"github.com/graphd/graphd/internal/spec/meaning"
	"github.com/graphd/graphd/internal/spec/trait"
)

// Kind describes the sink.
func Kind() kind.Sink[sink.Sink] {
	declared := decode.NewKind("graph", schema(), defaults, readDeclared)
	return kind.NewSink(declared, kind.Unchecked, kind.NothingOutside, kind.NoSink[Declared, sink.Sink])
}

// Declared is the sink as a declaration describes it.
type Declared struct{ Name, Accumulator string }

// Canonical implements [spec.SinkConfig].
func (c Declared) Canonical(t *meaning.Tree) {
	t.Text("name", c.Name)
	t.Text("accumulator", c.Accumulator)
}

// Target implements [spec.SinkConfig].
func (c Declared) Target() trait.Target {
	return trait.ToGraph(c.Name, c.Accumulator,
		"values go to the other graph in memory when their epoch ends, each once while the daemon runs: "+
			"a crash loses those behind that graph's last checkpoint, and those behind this graph's may come again",
		"values are committed with the state and go to the other graph afterwards, none lost on the way: "+
			"a crash loses those behind that graph's last checkpoint, and some may come again")
}

var (
	fields = decode.PartOfGraph("accumulator", func(c *Declared) (graph, part *string) {
		return &c.Name, &c.Accumulator
	})

	//go:embed schema.json
	definitions string
)

func schema() decode.Schema {
	return decode.NewSchema("An accumulator of another graph.",
		decode.Define(definitions, decode.MappingOf("sink_graph", fields, nil)))
}

func defaults() Declared { return Declared{} }

func readDeclared(d *decode.Decoder, v decode.Value, c *Declared) {
	decode.Object(d, v, "sink graph", fields, c)
}
