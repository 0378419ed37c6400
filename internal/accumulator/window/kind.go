package window

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
	return fold.NewKind(decode.NewKind("window", schema(), defaults, readDeclared))
}

// Declared is a window as a declaration describes it.
type Declared struct {
	// Size is how long a window is, Every how far apart two begin: equal for tumbling windows.
	Size, Every time.Duration
	// Gap is the pause that ends a session; 0 for others.
	Gap time.Duration
	// Count is how many events a window has, and CountEvery how often it is handed over, in events; 0 for windows of
	// time.
	Count, CountEvery int

	Lateness time.Duration // how far events may be out of order; default 0
	Idle     time.Duration // a partition silent for so long holds nothing up; 0: never
	// Late is what becomes of an event whose windows have closed: "drop" (default),
	// "dead_letter", "update", or "side": it goes to the input LateInput.
	Late      string
	LateInput string
	Retain    time.Duration // with update: for how long after its close a window is kept
	Early     time.Duration // partial results of open windows, so often; 0: none
	// Key are the expressions that group events; none: one group.
	Key []spec.Expr
	// Aggregate are the fields of a result; at least one.
	Aggregate []spec.Field
	// Groups is "each" (default: a boundary per group) or "all" (one per window).
	Groups string
}

func defaults() Declared { return Declared{Late: latePolicies.Default(), Groups: groupings.Default()} }

// Canonical implements [spec.AccumulatorConfig].
func (c Declared) Canonical(t *meaning.Tree) {
	switch {
	case c.Count > 0:
		count := t.Branch("count")
		count.Number("size", int64(c.Count))
		count.Number("every", int64(c.CountEvery))
	case c.Gap > 0:
		t.Span("session", c.Gap)
	default:
		t.Span("size", c.Size)
		t.Span("every", c.Every)
	}
	t.Span("lateness", c.Lateness)
	t.Span("idle", c.Idle)
	t.Text("late", c.Late)
	if c.LateInput != "" {
		t.Text("late_input", c.LateInput)
	}
	t.Span("retain", c.Retain)
	t.Span("early", c.Early)
	if c.Key != nil {
		keys := t.List("key")
		for i, k := range c.Key {
			keys.Leaf(strconv.Itoa(i), k.Text)
		}
	}
	spec.WriteFields(t.Branch("aggregate"), c.Aggregate)
	t.Text("groups", c.Groups)
}

// Identity implements [spec.AccumulatorConfig]: the grid, the gap or the counts, the time where it matters, the key and
// what is aggregated. When and what a window hands over may change.
func (c Declared) Identity(a *spec.Accumulator) spec.Identity {
	var b strings.Builder
	if c.Gap > 0 {
		fmt.Fprintf(&b, "session/%d/", c.Gap)
	}
	if c.Count > 0 {
		fmt.Fprintf(&b, "count/%d/%d", c.Count, c.CountEvery)
	} else {
		fmt.Fprintf(&b, "%d/%d/%q/%q/%s", c.Size, c.Every, a.Timezone, a.Time.Text, a.TimeUnit)
	}
	for _, k := range c.Key {
		fmt.Fprintf(&b, "/%q", k.Text)
	}
	for _, f := range slices.Concat(c.Aggregate, a.Emit) {
		fmt.Fprintf(&b, "/%q:%q", f.Name, f.Expr.Text)
	}
	fmt.Fprintf(&b, "/%q", a.EmitExpr.Text)
	return spec.ByAccumulator(b.String())
}

// Folding implements [spec.AccumulatorConfig].
func (c Declared) Folding() trait.Folding {
	if c.Count > 0 {
		return trait.Folding{Grouped: true, Keys: c.Key, Sequential: true}
	}
	return trait.Folding{
		Grouped: true, Keys: c.Key, Lateness: c.Lateness, Idle: c.Idle, Time: trait.MayBeTimed, Sequential: true,
		Own: trait.Own{Name: c.LateInput, Field: "late", One: "a late event", Several: "late events"},
	}
}

// Remarks implements [fold.Declared].
func (c Declared) Remarks(fold.Place) spec.Diagnostics { return nil }

//go:embed schema.json
var definitions string

func schema() decode.Schema {
	return decode.NewSchema("Fold events into windows of their time and hand over aggregates.",
		decode.Define(definitions,
			decode.MappingOf("window", fields, decode.Choices{"late": latePolicies, "groups": groupings}),
			decode.MappingOf("hopping", hoppingFields, nil),
			decode.MappingOf("counting", countFields, nil)))
}
