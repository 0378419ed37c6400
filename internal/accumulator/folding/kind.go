package folding

import (
	_ "embed"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/graphd/graphd/internal/accumulator/fold"
	"github.com/graphd/graphd/internal/spec"
	"github.com/graphd/graphd/internal/spec/decode"
	"github.com/graphd/graphd/internal/spec/meaning"
	"github.com/graphd/graphd/internal/spec/trait"
)

// Kind describes the kind of accumulator.
func Kind() decode.Kind[spec.AccumulatorConfig] {
	return fold.NewKind(decode.NewKind("fold", schema(), defaults, readDeclared))
}

// Declared is a fold as a declaration describes it.
type Declared struct {
	Init     Form        // of constants; not given: null
	Step     Form        // over state and event
	EmitWhen spec.Expr   // over state and event; not given: with every event
	Result   Form        // over state and event; not given: the state
	Key      []spec.Expr // over an event as it came; none: one state
	MaxKeys  int
	MaxBytes int64 // of all states
}

// Bounds of what is kept where nothing else is said.
const (
	DefaultMaxKeys  = 100_000
	DefaultMaxBytes = 256 << 20
	MostKeys        = 16 << 20
	MostBytes       = 1 << 40
)

func defaults() Declared { return Declared{MaxKeys: DefaultMaxKeys, MaxBytes: DefaultMaxBytes} }

// Canonical implements [spec.AccumulatorConfig].
func (c Declared) Canonical(t *meaning.Tree) {
	c.Init.canonical(t, "init")
	c.Step.canonical(t, "step")
	t.Expr("emit_when", c.EmitWhen.Text)
	c.Result.canonical(t, "result")
	if c.Key != nil {
		keys := t.List("key")
		for i, k := range c.Key {
			keys.Leaf(strconv.Itoa(i), k.Text)
		}
	}
	t.Number("max_keys", int64(c.MaxKeys))
	t.Number("max_bytes", c.MaxBytes)
}

// Identity implements [spec.AccumulatorConfig]: what a state is made of, and whose it is. When and what is
// handed over may change, and so may the bounds.
func (c Declared) Identity(a *spec.Accumulator) spec.Identity {
	var b strings.Builder
	write := func(name string, f Form) {
		fmt.Fprintf(&b, "%s %q", name, f.Expr.Text)
		byName := func(x, y spec.Field) int { return strings.Compare(x.Name, y.Name) }
		for _, field := range slices.SortedFunc(slices.Values(f.Fields), byName) {
			fmt.Fprintf(&b, "/%q:%q", field.Name, field.Expr.Text)
		}
	}
	write("init", c.Init)
	write("/step", c.Step)
	for _, k := range c.Key {
		fmt.Fprintf(&b, "/key %q", k.Text)
	}
	write("/emit", Form{a.Emit, a.EmitExpr})
	return spec.ByAccumulator(b.String())
}

// Folding implements [spec.AccumulatorConfig].
func (c Declared) Folding() trait.Folding {
	return trait.Folding{Grouped: true, Keys: c.Key, Sequential: true}
}

// What [Declared.Remarks] finds. Each has its place in docs/diagnostics.md.
const (
	codeGrowingState = "growing_state"
	codeNeverEmits   = "never_emits"
)

var (
	appends = regexp.MustCompile(`\bconcat\(`)
	// shortens are the words of what can make a list shorter, or begin it anew.
	shortens = regexp.MustCompile(`\b(take|filter|uniq|first|last|find)\(|\[[^\]]*:|[^?]\?[^?.]`)
	state    = regexp.MustCompile(`\bstate\b`)
)

// Remarks implements [fold.Declared].
func (c Declared) Remarks(at fold.Place) (ds spec.Diagnostics) {
	for _, e := range c.Step.exprs() {
		if appends.MatchString(e.Text) && state.MatchString(e.Text) && !shortens.MatchString(e.Text) {
			ds = append(ds, fold.Diagnostic(e.Pos, codeGrowingState, at.Accumulator.Name+
				" appends to its state with every event and never makes it shorter: events are refused once it is "+
				"full; keep the newest, as concat(state, [event.x])[-100:] does"))
		}
	}
	if strings.TrimSpace(c.EmitWhen.Text) == "false" {
		ds = append(ds, fold.Diagnostic(c.EmitWhen.Pos, codeNeverEmits, at.Accumulator.Name+
			" hands nothing over, ever; say when it does, or remove emit_when to hand over with every event"))
	}
	for i := range ds {
		ds[i].File = at.File
	}
	return ds
}

// exprs are the form's expressions.
func (f *Form) exprs() []spec.Expr {
	list := []spec.Expr{f.Expr}
	for _, field := range f.Fields {
		list = append(list, field.Expr)
	}
	return list
}

var (
	fields = []decode.Field[Declared]{
		{Name: "init", Read: func(d *decode.Decoder, v decode.Value, c *Declared) { readForm(d, v, &c.Init) }},
		{Name: "step", Need: true, Read: func(d *decode.Decoder, v decode.Value, c *Declared) {
			readForm(d, v, &c.Step)
		}},
		{Name: "emit_when", Read: func(d *decode.Decoder, v decode.Value, c *Declared) { c.EmitWhen = d.Expr(v) }},
		{Name: "result", Read: func(d *decode.Decoder, v decode.Value, c *Declared) { readForm(d, v, &c.Result) }},
		{Name: "key", Read: func(d *decode.Decoder, v decode.Value, c *Declared) { c.Key = d.Exprs(v) }},
		{Name: "max_keys", Read: func(d *decode.Decoder, v decode.Value, c *Declared) {
			d.Count(v, 1, MostKeys, &c.MaxKeys)
		}},
		{Name: "max_bytes", Read: func(d *decode.Decoder, v decode.Value, c *Declared) {
			if n, ok := d.Integer(v, 1, MostBytes); ok {
				c.MaxBytes = n
			}
		}},
	}

	//go:embed schema.json
	definitions string
)

func schema() decode.Schema {
	return decode.NewSchema("Fold events into a state of your own, by expressions.",
		decode.Define(definitions, decode.MappingOf("fold", fields, nil)))
}

func readDeclared(d *decode.Decoder, v decode.Value, c *Declared) {
	got, ok := decode.Object(d, v, "fold", fields, c)
	if most, given := got["max_keys"]; ok && given && c.Key == nil {
		d.Report(most.Name(), decode.CodeConflict, "",
			"max_keys bounds how many keys have a state, and there is no key; add key, or remove max_keys")
	}
}
