// Package batch is the accumulator of the kind batch: it collects events and hands them over as
// one list, or one for each key. Its [Declared] is what a declaration asks of it; batch.go and keyed.go are its folds.
package batch

import (
	_ "embed"
	"fmt"
	"strconv"
	"time"

	"github.com/graphd/graphd/internal/accumulator/fold"
	"github.com/graphd/graphd/internal/expression"
	"github.com/graphd/graphd/internal/spec"
	"github.com/graphd/graphd/internal/spec/decode"
	"github.com/graphd/graphd/internal/spec/meaning"
	"github.com/graphd/graphd/internal/spec/trait"
)

// Kind describes the kind of accumulator.
func Kind() decode.Kind[spec.AccumulatorConfig] {
	return fold.NewKind(decode.NewKind("batch", schema(), func() Declared { return Declared{} }, readDeclared))
}

// Declared is a batch as a declaration describes it. At least one rule is set.
type Declared struct {
	Size     int           // flush when this many events are in; 0: no rule
	Interval time.Duration // flush this long after the first event; 0: no rule
	Flush    string        // "epoch": flush after every epoch that is kept; "": no rule
	// Key are the expressions by which each key has a batch of its own; none: there is one batch.
	Key []spec.Expr
}

// Canonical implements [spec.AccumulatorConfig].
func (c Declared) Canonical(t *meaning.Tree) {
	t.Number("size", int64(c.Size))
	t.Span("interval", c.Interval)
	if c.Flush != "" {
		t.Text("flush", c.Flush)
	}
	if c.Key != nil {
		keys := t.List("key")
		for i, k := range c.Key {
			keys.Leaf(strconv.Itoa(i), k.Text)
		}
	}
}

// Identity implements [spec.AccumulatorConfig]. An open batch goes on under another interval.
func (c Declared) Identity(*spec.Accumulator) spec.Identity {
	text := fmt.Sprintf("%d/0", c.Size) // the form in which stores hold it
	for _, k := range c.Key {
		text += fmt.Sprintf("/key %q", k.Text)
	}
	return spec.ByConfig(text)
}

// Folding implements [spec.AccumulatorConfig].
func (c Declared) Folding() trait.Folding {
	if c.Key != nil {
		return trait.Folding{Grouped: true, Keys: c.Key, Sequential: true}
	}
	return trait.Folding{Hands: trait.NewEvents, Sequential: true}
}

// Compile implements [fold.Declared].
func (c Declared) Compile(at *fold.Site) (*fold.Program, spec.Diagnostics) {
	if c.Key != nil {
		return c.compileKeyed(at)
	}
	return &fold.Program{
		New:  func() fold.Fold { return &batch{rule: c, maxBytes: at.MaxBytes} },
		Type: expression.ListOf(at.Emitted), WithEpochs: c.Flush == "epoch", Lasts: c.Interval > 0,
	}, nil
}

// Remarks implements [fold.Declared].
func (c Declared) Remarks(fold.Place) spec.Diagnostics { return nil }

var (
	flushes = decode.Words("epoch")

	fields = []decode.Field[Declared]{
		{Name: "size", Alone: true, Also: []string{"count", "max"},
			Read: func(d *decode.Decoder, v decode.Value, c *Declared) {
				d.Count(v, 1, fold.MaxKept, &c.Size)
			}},
		{Name: "interval", Also: []string{"max_wait", "linger", "timeout"},
			Read: func(d *decode.Decoder, v decode.Value, c *Declared) { d.Duration(v, 1, &c.Interval) }},
		{Name: "flush", Read: func(d *decode.Decoder, v decode.Value, c *Declared) { d.Pick(v, flushes, &c.Flush) }},
		{Name: "key", Also: []string{"by", "group_by"},
			Read: func(d *decode.Decoder, v decode.Value, c *Declared) { c.Key = d.Exprs(v) }},
	}

	//go:embed schema.json
	definitions string
)

func schema() decode.Schema {
	return decode.NewSchema("Collect events and hand them over as a list.",
		decode.Define(definitions, decode.MappingOf("batch", fields, nil)))
}

func readDeclared(d *decode.Decoder, v decode.Value, c *Declared) {
	got, ok := decode.Object(d, v, "batch", fields, c)
	flush, flushed := got["flush"]
	if ok && flushed && got["key"].Given() {
		d.Report(flush.Whole(), decode.CodeConflict, "",
			"an epoch is of one key, and flush: epoch would hand over the batches of all; give size or interval")
	}
	told := len(v.Entries()) > len(got) // of a field that is written otherwise, which may be a rule
	if _, keyed := got["key"]; ok && !told && (len(got) == 0 || keyed && len(got) == 1) {
		d.Report(v.Whole(), decode.CodeNoFlushRule, "",
			"the batch would never be handed over; give size, interval or flush: epoch")
	}
}
