package generator

import (
	_ "embed"
	"fmt"
	"math"
	"time"

	"github.com/graphd/graphd/internal/accumulator"
	"github.com/graphd/graphd/internal/expression"
	"github.com/graphd/graphd/internal/kind"
	"github.com/graphd/graphd/internal/spec"
	"github.com/graphd/graphd/internal/spec/decode"
	"github.com/graphd/graphd/internal/spec/meaning"
	"github.com/graphd/graphd/internal/spec/trait"
)

// Kind describes the source.
func Kind() kind.Source[accumulator.Source] {
	make := func(c Declared, in kind.Input) (*Source, spec.Diagnostics) {
		s, diags := New(Config{Declared: c, Vars: in.Vars, VarsType: expression.OfValue(in.Vars), For: in.For})
		for i := range diags {
			diags[i].File = in.File
		}
		return s, diags
	}
	check := func(c Declared, in kind.Input) spec.Diagnostics {
		if c.Expr.IsZero() {
			return nil // it could not be read, which has been said
		}
		_, diags := make(c, in)
		return diags
	}
	open := func(c Declared, in kind.Input) (accumulator.Source, error) {
		s, diags := make(c, in)
		if err := diags.Err(); err != nil {
			return nil, err
		}
		return s, nil
	}
	declared := decode.NewKind("generator", schema(), defaults, readDeclared)
	return kind.NewSource(declared, check, open)
}

// Declared is the source as a declaration describes it: events made from an expression.
type Declared struct {
	Every time.Duration // one event each; 0 with Count: as fast as possible
	Count int64         // how many in all; 0: without end
	Expr  spec.Expr     // over: i (int, from 0), vars, rand() (float in [0,1) from Seed and i)
	Seed  int64
}

// Canonical implements [spec.SourceConfig].
func (c Declared) Canonical(t *meaning.Tree) {
	t.Span("every", c.Every)
	t.Number("count", c.Count)
	t.Expr("expr", c.Expr.Text)
	t.Number("seed", c.Seed)
}

// Identity implements [spec.SourceConfig]. A position is the number of an event: how fast and
// how many they come makes no difference to what it is.
func (c Declared) Identity() string { return fmt.Sprintf("%d/%s", c.Seed, c.Expr.Text) }

// Origin implements [spec.SourceConfig].
func (c Declared) Origin() trait.Origin { return trait.Made(trait.Again) }

var (
	fields = []decode.Field[Declared]{
		{Name: "every", Also: []string{"interval", "period"},
			Read: func(d *decode.Decoder, v decode.Value, c *Declared) {
				d.Duration(v, 1, &c.Every)
			}},
		{Name: "rate", Read: readRate},
		{Name: "count", Read: func(d *decode.Decoder, v decode.Value, c *Declared) {
			c.Count, _ = d.Integer(v, 1, math.MaxInt64)
		}},
		{Name: "expr", Need: true, Read: func(d *decode.Decoder, v decode.Value, c *Declared) { c.Expr = d.Expr(v) }},
		{Name: "seed", Read: func(d *decode.Decoder, v decode.Value, c *Declared) {
			c.Seed, _ = d.Integer(v, math.MinInt64, math.MaxInt64)
		}},
	}

	//go:embed schema.json
	definitions string
)

func schema() decode.Schema {
	return decode.NewSchema("Events made from an expression.",
		decode.Define(definitions, decode.MappingOf("source_generator", fields, nil)))
}

func defaults() Declared { return Declared{} }

func readDeclared(d *decode.Decoder, v decode.Value, c *Declared) {
	got, ok := decode.Object(d, v, "source generator", fields, c)
	if !ok {
		return
	}
	every, hasEvery := got["every"]
	rate, hasRate := got["rate"]
	_, hasCount := got["count"]
	switch {
	case hasEvery && hasRate:
		second := decode.Later(rate, every)
		d.Report(second.Name(), decode.CodeConflict, "",
			"every and rate say the same thing in two ways; keep one of them")
	case !hasEvery && !hasRate && !hasCount:
		d.Report(v.Whole(), decode.CodeMissingField, "",
			"the generator would make events without pause or end; give every, rate or count")
	}
	if hasRate && !hasEvery {
		d.Follow(v.Path()+".every", rate.Path(), "")
	}
}

// readRate reads events per second and keeps them as the time between two.
func readRate(d *decode.Decoder, v decode.Value, c *Declared) {
	n, ok := d.Number(v, "a number of events per second")
	if !ok {
		return
	}
	// A billion a second is one per nanosecond; below one a day it is surely a slip.
	if !(n >= 1e-5 && n <= 1e9) {
		d.Report(v.Here(), decode.CodeOutOfRange, "",
			"%s is out of range; give events per second between 0.00001 and 1000000000", v.Subject())
		return
	}
	c.Every = time.Duration(math.Round(float64(time.Second) / n))
}
