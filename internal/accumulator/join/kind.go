package join

import (
	_ "embed"
	"fmt"
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
	return fold.NewKind(decode.NewKind("join", schema(), defaults, readDeclared))
}

// The sides of a join.
const (
	Left = iota
	Right
)

// Declared is a join as a declaration describes it.
type Declared struct {
	Sides trait.Sides
	// Before and After are how far a right event may lie from a left one, in front of it and behind it.
	Before, After time.Duration
	// Tumbling is, in their place, how long a window is that both are to lie in; 0: it is they that count.
	Tumbling time.Duration
	Type     string        // "inner" (default), "left", "right" or "full"
	Lateness time.Duration // how far the events of a side may be out of order; default 0
	Late     string        // what becomes of an event that comes later: "drop" (default) or "dead_letter"
	MaxRows  int           // how many events are kept for their partners, of both sides together
	MaxBytes int64         // how many bytes they may have
}

// Bounds of what is kept where nothing else is said, and at all.
const (
	defaultMaxRows  = 1_000_000
	defaultMaxBytes = 1 << 30
	mostRows        = 16 << 20
	mostBytes       = 1 << 40

	// maxSpan is as long as a window may be: beyond it times would come near the end of what they can be.
	maxSpan = 10 * 366 * 24 * time.Hour
)

func defaults() Declared {
	return Declared{Type: types.Default(), Late: latePolicies.Default(), MaxRows: defaultMaxRows,
		MaxBytes: defaultMaxBytes}
}

// outer reports whether an event of a side is handed over when it has found no partner.
func (c *Declared) outer(side int) bool {
	return c.Type == "full" || side == Left && c.Type == "left" || side == Right && c.Type == "right"
}

// Canonical implements [spec.AccumulatorConfig].
func (c Declared) Canonical(t *meaning.Tree) {
	t.Text("left", c.Sides.Names[Left])
	t.Text("right", c.Sides.Names[Right])
	on := t.Branch("on")
	for side, name := range []string{"left", "right"} {
		keys := on.List(name)
		for i, k := range c.Sides.On[side] {
			keys.Leaf(strconv.Itoa(i), k.Text)
		}
	}
	if c.Tumbling > 0 {
		t.Span("tumbling", c.Tumbling)
	} else {
		within := t.Branch("within")
		within.Span("before", c.Before)
		within.Span("after", c.After)
	}
	t.Text("type", c.Type)
	t.Span("lateness", c.Lateness)
	t.Text("late", c.Late)
	t.Number("max_rows", int64(c.MaxRows))
	t.Number("max_bytes", c.MaxBytes)
}

// Identity implements [spec.AccumulatorConfig]: whose events are kept, and by which key. For how long, and what is
// handed over of them, may change.
func (c Declared) Identity(*spec.Accumulator) spec.Identity {
	var b strings.Builder
	for side := range c.Sides.Names {
		fmt.Fprintf(&b, "%s", c.Sides.Names[side])
		for _, k := range c.Sides.On[side] {
			fmt.Fprintf(&b, "/%q", k.Text)
		}
		b.WriteByte(';')
	}
	return spec.ByConfig(b.String())
}

// Folding implements [spec.AccumulatorConfig].
func (c Declared) Folding() trait.Folding {
	return trait.Folding{Grouped: true, Keys: c.Sides.On[Left], Lateness: c.Lateness, Sequential: true, Joins: c.Sides}
}

// Remarks implements [fold.Declared].
func (c Declared) Remarks(fold.Place) spec.Diagnostics { return nil }

//go:embed schema.json
var definitions string

func schema() decode.Schema {
	return decode.NewSchema("Join the events of two other inputs by key and time.",
		decode.Define(definitions,
			decode.MappingOf("join", fields, decode.Choices{"type": types, "late": latePolicies}),
			decode.MappingOf("join_on", onFields, nil),
			decode.MappingOf("within", withinFields, nil)))
}
