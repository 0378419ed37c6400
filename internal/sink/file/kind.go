package file

import (
	_ "embed"

	"github.com/graphd/graphd/internal/kind"
	"github.com/graphd/graphd/internal/sink"
	"github.com/graphd/graphd/internal/spec"
	"github.com/graphd/graphd/internal/spec/decode"
	"github.com/graphd/graphd/internal/spec/meaning"
)

// Kind describes the sink.
func Kind() kind.Sink[sink.Sink] {
	open := func(c Declared, out kind.Output) (sink.Sink, error) { return Open(out.Path(c.Path)) }
	declared := decode.NewKind("file", schema(), defaults, readDeclared)
	return kind.NewSink(declared, kind.Unchecked, kind.NothingOutside, open)
}

// Declared is the sink as a declaration describes it: one JSON document a line.
type Declared struct {
	Path   string
	Format string // "ndjson"
}

// Files implements [kind.Filed].
func (c Declared) Files() []string { return []string{c.Path} }

// Canonical implements [spec.SinkConfig].
func (c Declared) Canonical(t *meaning.Tree) {
	t.Text("path", c.Path)
	t.Text("format", c.Format)
}

// Target implements [spec.SinkConfig].
func (c Declared) Target() spec.Target { return spec.Appended(c.Path) }

var (
	formats = decode.Words("ndjson")

	fields = []decode.Field[Declared]{
		{Name: "path", Need: true, Read: func(d *decode.Decoder, v decode.Value, c *Declared) {
			c.Path, _ = d.Text(v, "the path of a file")
		}},
		{Name: "format", Read: func(d *decode.Decoder, v decode.Value, c *Declared) { d.Pick(v, formats, &c.Format) }},
	}

	//go:embed schema.json
	definitions string
)

func schema() decode.Schema {
	own := decode.MappingOf("sink_file", fields, decode.Choices{"format": formats})
	return decode.NewSchema("Lines of JSON appended to a file.", decode.Define(definitions, own))
}

func defaults() Declared { return Declared{Format: formats.Default()} }

func readDeclared(d *decode.Decoder, v decode.Value, c *Declared) {
	decode.Object(d, v, "sink file", fields, c)
}
