package file

import (
	_ "embed"
	"path/filepath"
	"slices"
	"strings"

	"github.com/graphd/graphd/internal/kind"
	"github.com/graphd/graphd/internal/sink"
	"github.com/graphd/graphd/internal/spec"
	"github.com/graphd/graphd/internal/spec/decode"
	"github.com/graphd/graphd/internal/spec/meaning"
	"github.com/graphd/graphd/internal/spec/trait"
)

// Kind describes the sink.
func Kind() kind.Sink[sink.Sink] {
	declared := decode.NewKind("file", schema(), defaults, readDeclared)
	return kind.NewSink(declared, Declared.check, kind.NothingOutside, Declared.open)
}

// Declared is the sink as a declaration describes it.
type Declared struct {
	Path      string
	Partition spec.Expr // over sink.Scope
	Format    string    // "ndjson" or "csv"
	Columns   []string  // of csv
	// MaxOpen and MaxPartitions are 0 without a partition.
	MaxOpen, MaxPartitions int
}

// Files implements [kind.Filed].
func (c Declared) Files() []string { return []string{c.Path} }

// Canonical implements [spec.SinkConfig].
func (c Declared) Canonical(t *meaning.Tree) {
	t.Text("path", c.Path)
	t.Text("format", c.Format)
	t.Texts("columns", c.Columns)
	t.Expr("partition", c.Partition.Text)
	if c.MaxOpen != 0 {
		t.Number("max_open", int64(c.MaxOpen))
	}
	if c.MaxPartitions != 0 {
		t.Number("max_partitions", int64(c.MaxPartitions))
	}
}

// Target implements [spec.SinkConfig]. What two outputs write to one path are other files when
// they are partitioned otherwise.
func (c Declared) Target() trait.Target {
	if c.Partition.IsZero() {
		return trait.Appended(c.Path)
	}
	return trait.Appended(c.Path + " by " + c.Partition.Text)
}

// check compiles the partition.
func (c Declared) check(out kind.Output) spec.Diagnostics { return sink.CheckOption(c.Partition, out) }

func (c Declared) open(out kind.Output) (sink.Sink, error) {
	partition, err := sink.CompileOption(c.Partition, out.Vars)
	if err != nil {
		return nil, err
	}
	return Open(Config{
		Path: out.Path(c.Path), Access: out.Access, Partition: partition, CSV: c.Format == "csv", Columns: c.Columns,
		MaxOpen: c.MaxOpen, MaxPartitions: c.MaxPartitions,
	})
}

const (
	// mostOpen is a quarter of what a process may have open on common systems.
	mostOpen = 4096
	// mostPartitions is what may be remembered of files, about 200 bytes each.
	mostPartitions = 1_000_000
	mostColumns    = 1000
)

var (
	formats = decode.Words("ndjson", "csv")

	fields = []decode.Field[Declared]{
		{Name: "path", Alone: true, Also: []string{"file", "name", "filename"}, Need: true,
			Read: func(d *decode.Decoder, v decode.Value, c *Declared) {
				c.Path, _ = d.Text(v, "the path of a file")
			}},
		{Name: "partition", Read: func(d *decode.Decoder, v decode.Value, c *Declared) { c.Partition = d.Expr(v) }},
		{Name: "format", Read: func(d *decode.Decoder, v decode.Value, c *Declared) { d.Pick(v, formats, &c.Format) }},
		{Name: "columns", Read: func(d *decode.Decoder, v decode.Value, c *Declared) { c.Columns = columns(d, v) }},
		{Name: "max_open", Read: func(d *decode.Decoder, v decode.Value, c *Declared) {
			d.Count(v, 1, mostOpen, &c.MaxOpen)
		}},
		{Name: "max_partitions", Read: func(d *decode.Decoder, v decode.Value, c *Declared) {
			d.Count(v, 1, mostPartitions, &c.MaxPartitions)
		}},
	}

	//go:embed schema.json
	definitions string
)

func schema() decode.Schema {
	own := decode.MappingOf("sink_file", fields, decode.Choices{"format": formats})
	return decode.NewSchema("Lines appended to a file, or to one for each value of an expression.",
		decode.Define(definitions, own))
}

func defaults() Declared { return Declared{Format: formats.Default()} }

func readDeclared(d *decode.Decoder, v decode.Value, c *Declared) {
	got, ok := decode.Object(d, v, "sink file", fields, c)
	if !ok || c.Path == "" {
		return
	}
	path := got["path"]
	if _, said := got["format"]; !said && strings.EqualFold(filepath.Ext(c.Path), ".csv") {
		d.Follow(v.Path()+".format", path.Path(), "")
		c.Format = "csv"
	}
	_, partitioned := got["partition"]
	_, behind, holds := strings.Cut(c.Path, placeholder)
	switch {
	case partitioned && !holds:
		d.Report(path.Here(), decode.CodeConflict, "",
			"all partitions would go to one file; write %s where their names stand in path", placeholder)
	case slices.Contains(strings.Split(behind, "/"), ".."):
		d.Report(path.Here(), decode.CodeConflict, "",
			"behind %s a path goes on downwards only; write it without ..", placeholder)
	case holds && !partitioned:
		d.Report(path.Here(), decode.CodeConflict, "",
			"path has a place for a partition; say which one a value goes to with partition, an expression over value")
	}
	for _, name := range []string{"max_open", "max_partitions"} {
		if bound, given := got[name]; given && !partitioned {
			d.Report(bound.Name(), decode.CodeNoEffect, "", "there is one file; add partition, or remove %s", name)
		}
	}
	switch list, given := got["columns"]; {
	case c.Format == "csv" && !given:
		d.Report(path.Here(), decode.CodeConflict, "",
			"a file of CSV needs columns; add columns: [fields of the value], or format: ndjson")
	case c.Format != "csv" && given:
		d.Report(list.Name(), decode.CodeNoEffect, "",
			"lines of JSON have no columns; add format: csv, or remove columns")
	}
}

// columns reads the names of columns.
func columns(d *decode.Decoder, v decode.Value) (names []string) {
	for _, item := range d.OneOrMore(v, mostColumns, "the names of columns") {
		name, ok := d.Text(item, "the name of a column")
		switch {
		case !ok:
		case strings.ContainsAny(name, "\r\n"):
			d.Report(item.Here(), decode.CodeBadName, "",
				"the name of a column goes over a line's end; name it otherwise")
		case slices.Contains(lineColumns(), name):
			d.Report(item.Here(), decode.CodeReservedName, "",
				"every row has a column %s already; give the field of the value another name", decode.Quote(name))
		case slices.Contains(names, name):
			d.Report(item.Here(), decode.CodeDuplicateEntry, "",
				"the column %s is named twice; remove one", decode.Quote(name))
		default:
			names = append(names, name)
		}
	}
	return names
}
