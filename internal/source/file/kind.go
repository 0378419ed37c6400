package file

import (
	_ "embed"
	"path/filepath"
	"strings"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/kind"
	"github.com/graphd/graphd/internal/spec/decode"
	"github.com/graphd/graphd/internal/spec/meaning"
	"github.com/graphd/graphd/internal/spec/trait"
)

// Kind describes the source; an event has at most maxEventBytes bytes.
func Kind(maxEventBytes int) kind.Source[accumulator.Source] {
	open := func(c Declared, in kind.Input) (accumulator.Source, error) {
		return New(Config{
			Path: in.Path(c.Path), Access: in.Access, Follow: c.Follow, OnTruncate: c.OnTruncate,
			ReaderConfig: ReaderConfig{Format: c.Format, MaxEventBytes: maxEventBytes, Schema: in.Schema},
		})
	}
	declared := decode.NewKind("file", schema(), defaults, readDeclared)
	return kind.NewSource(declared, kind.Unchecked, open)
}

// Declared is the source as a declaration describes it: a file of NDJSON or CSV.
type Declared struct {
	Path   string
	Format string // "ndjson" or "csv"; from the extension when not given
	Follow bool   // keep reading as the file grows
	// OnTruncate is "halt" (default) or "restart": what to do when a followed file was truncated or replaced.
	OnTruncate string
}

// Files implements [kind.Filed].
func (c Declared) Files() []string { return []string{c.Path} }

// Canonical implements [spec.SourceConfig].
func (c Declared) Canonical(t *meaning.Tree) {
	t.Text("path", c.Path)
	t.Text("format", c.Format)
	t.Flag("follow", c.Follow)
	t.Text("on_truncate", c.OnTruncate)
}

// Identity implements [spec.SourceConfig]. A position is one of this file: another file, or the
// same one read in another way, is another source.
func (c Declared) Identity() string { return c.Path + "/" + c.Format }

// Origin implements [spec.SourceConfig].
func (c Declared) Origin() trait.Origin { return trait.Outside(trait.Again) }

// LineFormat is the format of what takes the file's place.
func (c Declared) LineFormat() string { return c.Format }

var (
	formats     = decode.Words("ndjson", "csv")
	onTruncates = decode.Words("halt", "restart")

	// formatByExtension is the format of a file whose declaration does not say.
	formatByExtension = map[string]string{
		".ndjson": "ndjson", ".jsonl": "ndjson", ".json": "ndjson", ".csv": "csv",
	}

	fields = []decode.Field[Declared]{
		{Name: "path", Alone: true, Also: []string{"file", "name", "filename"}, Need: true,
			Read: func(d *decode.Decoder, v decode.Value, c *Declared) {
				c.Path, _ = d.Text(v, "the path of a file")
			}},
		{Name: "format", Read: func(d *decode.Decoder, v decode.Value, c *Declared) { d.Pick(v, formats, &c.Format) }},
		{Name: "follow", Read: func(d *decode.Decoder, v decode.Value, c *Declared) { d.Bool(v, &c.Follow) }},
		{Name: "on_truncate", Read: func(d *decode.Decoder, v decode.Value, c *Declared) {
			d.Pick(v, onTruncates, &c.OnTruncate)
		}},
	}

	//go:embed schema.json
	definitions string
)

func schema() decode.Schema {
	own := decode.MappingOf("source_file", fields, decode.Choices{"format": formats, "on_truncate": onTruncates})
	return decode.NewSchema("Lines of a file.", decode.Define(definitions, own))
}

func defaults() Declared { return Declared{OnTruncate: onTruncates.Default()} }

func readDeclared(d *decode.Decoder, v decode.Value, c *Declared) {
	got, ok := decode.Object(d, v, "source file", fields, c)
	if _, said := got["format"]; !ok || said || c.Path == "" {
		return
	}
	path := got["path"]
	d.Follow(v.Path()+".format", path.Path(), "")
	c.Format = formatByExtension[strings.ToLower(filepath.Ext(c.Path))]
	if c.Format == "" {
		d.Report(path.Here(), decode.CodeMissingField, "",
			"the name %s does not tell what the file holds; add format: ndjson or format: csv", path.Shown())
	}
}
