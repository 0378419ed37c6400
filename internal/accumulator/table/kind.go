package table

import (
	_ "embed"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/graphd/graphd/internal/accumulator/fold"
	"github.com/graphd/graphd/internal/spec"
	"github.com/graphd/graphd/internal/spec/decode"
	"github.com/graphd/graphd/internal/spec/meaning"
	"github.com/graphd/graphd/internal/spec/trait"
)

// Kind describes the kind of accumulator.
func Kind() decode.Kind[spec.AccumulatorConfig] {
	return fold.NewKind(decode.NewKind("table", schema(), defaults, readDeclared))
}

// Declared is a table as a declaration describes it.
type Declared struct {
	Key        []spec.Expr   // over an event as it came
	DeleteWhen spec.Expr     // over the same; an event that is null deletes in any case
	TTL        time.Duration // since the last change of a row; 0: for ever
	AsOf       string        // as of when rows are looked up: "now", which is that of the epoch
	MaxRows    int
	MaxBytes   int64 // of all rows
	// MaxVersions is how many instants are kept at which rows were changed, for looking them up as of one.
	MaxVersions int
}

// Bounds of what is kept where nothing else is said.
const (
	defaultMaxRows  = 1_000_000
	defaultMaxBytes = 1 << 30
	// Each takes about a KiB.
	defaultMaxVersions = 100_000
	mostVersions       = 16 << 20
	mostRows           = 16 << 20
	mostBytes          = 1 << 40
)

func defaults() Declared {
	return Declared{MaxRows: defaultMaxRows, MaxBytes: defaultMaxBytes, AsOf: moments.Default(),
		MaxVersions: defaultMaxVersions}
}

// Canonical implements [spec.AccumulatorConfig].
func (c Declared) Canonical(t *meaning.Tree) {
	keys := t.List("key")
	for i, k := range c.Key {
		keys.Leaf(strconv.Itoa(i), k.Text)
	}
	t.Expr("delete_when", c.DeleteWhen.Text)
	t.Span("ttl", c.TTL)
	t.Text("as_of", c.AsOf)
	t.Number("max_rows", int64(c.MaxRows))
	t.Number("max_bytes", c.MaxBytes)
	if c.AsOf == asOfEvent || c.MaxVersions != defaultMaxVersions { // else a table is what it was before there were any
		t.Number("max_versions", int64(c.MaxVersions))
	}
}

// Identity implements [spec.AccumulatorConfig]: what a row is made of, and whose it is. What deletes one
// may change, and so may the bounds.
func (c Declared) Identity(a *spec.Accumulator) spec.Identity {
	var b strings.Builder
	for _, k := range c.Key {
		fmt.Fprintf(&b, "key %q/", k.Text)
	}
	fmt.Fprintf(&b, "emit %q", a.EmitExpr.Text)
	byName := func(x, y spec.Field) int { return strings.Compare(x.Name, y.Name) }
	for _, f := range slices.SortedFunc(slices.Values(a.Emit), byName) {
		fmt.Fprintf(&b, "/%q:%q", f.Name, f.Expr.Text)
	}
	return spec.ByAccumulator(b.String())
}

// Folding implements [spec.AccumulatorConfig].
func (c Declared) Folding() trait.Folding {
	return trait.Folding{Hands: trait.Rows, AsOf: c.AsOf == asOfEvent}
}

// Remarks implements [fold.Declared].
func (c Declared) Remarks(fold.Place) spec.Diagnostics { return nil }

// asOfEvent has rows looked up as of the time of the event that fires.
const asOfEvent = "event"

var (
	moments = decode.Words("now", asOfEvent)

	fields = []decode.Field[Declared]{
		{Name: "key", Need: true, Read: func(d *decode.Decoder, v decode.Value, c *Declared) { c.Key = d.Exprs(v) }},
		{Name: "delete_when", Read: func(d *decode.Decoder, v decode.Value, c *Declared) { c.DeleteWhen = d.Expr(v) }},
		{Name: "ttl", Read: func(d *decode.Decoder, v decode.Value, c *Declared) { d.Duration(v, 1, &c.TTL) }},
		{Name: "as_of", Read: func(d *decode.Decoder, v decode.Value, c *Declared) { d.Pick(v, moments, &c.AsOf) }},
		{Name: "max_rows", Read: func(d *decode.Decoder, v decode.Value, c *Declared) {
			d.Count(v, 1, mostRows, &c.MaxRows)
		}},
		{Name: "max_bytes", Read: func(d *decode.Decoder, v decode.Value, c *Declared) {
			if n, ok := d.Integer(v, 1, mostBytes); ok {
				c.MaxBytes = n
			}
		}},
		{Name: "max_versions", Read: func(d *decode.Decoder, v decode.Value, c *Declared) {
			d.Count(v, 1, mostVersions, &c.MaxVersions)
		}},
	}

	//go:embed schema.json
	definitions string
)

func schema() decode.Schema {
	return decode.NewSchema("Keep the newest event of each key as a row, for the graph to look up.",
		decode.Define(definitions, decode.MappingOf("table", fields, decode.Choices{"as_of": moments})))
}

func readDeclared(d *decode.Decoder, v decode.Value, c *Declared) {
	got, _ := decode.Object(d, v, "table", fields, c)
	if n := got["max_versions"]; n.Given() && c.AsOf != asOfEvent {
		d.Report(n.Name(), decode.CodeNoEffect, "",
			"max_versions is for as_of: event: the newest rows need no earlier ones; leave it out")
	}
}
