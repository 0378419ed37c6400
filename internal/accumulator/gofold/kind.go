// Package gofold is the accumulator of the kind go: a fold that the embedding program has registered. Its
// [Declared] is what a declaration asks of it; states, keys and books are those of package folding.
package gofold

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/graphd/graphd/internal/accumulator/fold"
	"github.com/graphd/graphd/internal/accumulator/folding"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/spec"
	"github.com/graphd/graphd/internal/spec/decode"
	"github.com/graphd/graphd/internal/spec/meaning"
	"github.com/graphd/graphd/internal/spec/trait"
)

// What [Declared.Compile] finds. Each has its place in docs/diagnostics.md.
const (
	codeNotRegistered = "not_registered"
	codeBadOptions    = "bad_options"
)

// Registered is what a program has registered under a name.
type Registered struct {
	// Version and Migrate are as in [folding.Code].
	Version int
	Migrate func(version int, state boundary.Value) (boundary.Value, error)
	// New makes the step of the options as declared, nil for none, or says what is wrong with them.
	New func(options map[string]any) (func(state, event boundary.Value) (folding.Stepped, error), error)
}

// Kind describes the kind of accumulator; all are what has been registered, by name.
func Kind(all map[string]*Registered) decode.Kind[spec.AccumulatorConfig] {
	defaults := func() Declared {
		return Declared{MaxKeys: folding.DefaultMaxKeys, MaxBytes: folding.DefaultMaxBytes}
	}
	about := decode.NewSchema("Fold events by a function that the embedding program has registered.",
		decode.Define(definitions, decode.MappingOf("accumulator_go", fields, nil)))
	return fold.NewKind(decode.NewKind("go", about, defaults, func(d *decode.Decoder, v decode.Value, c *Declared) {
		got, ok := decode.Object(d, v, "go", fields, c)
		if most, given := got["max_keys"]; ok && given && c.Key == nil {
			d.Report(most.Name(), decode.CodeConflict, "",
				"max_keys bounds how many keys have a state, and there is no key; add key, or remove max_keys")
		}
		if c.registered = all[c.Name]; c.registered == nil {
			c.others = slices.Sorted(maps.Keys(all))
		}
	}))
}

// Declared is a registered fold as a declaration describes it.
type Declared struct {
	Name     string
	Options  map[string]any // as [decode.Decoder.Free] reads them
	Key      []spec.Expr    // over an event as it came; none: one state
	MaxKeys  int
	MaxBytes int64 // of all states

	registered *Registered // what the name means; nil: nothing is registered under it
	others     []string    // then, what is
}

// Of is the same for what is registered.
func (c Declared) Of(r *Registered) Declared {
	c.registered = r
	return c
}

// Canonical implements [spec.AccumulatorConfig]. The version is part of what is meant: another one folds
// otherwise, and a journal that was written with it is fired anew.
func (c Declared) Canonical(t *meaning.Tree) {
	t.Text("name", c.Name)
	if c.registered != nil {
		t.Number("version", int64(c.registered.Version))
	}
	if c.Options != nil {
		t.Free("options", c.Options)
	}
	if c.Key != nil {
		keys := t.List("key")
		for i, k := range c.Key {
			keys.Leaf(strconv.Itoa(i), k.Text)
		}
	}
	t.Number("max_keys", int64(c.MaxKeys))
	t.Number("max_bytes", c.MaxBytes)
}

// Identity implements [spec.AccumulatorConfig]: what a state is made of, and whose it is. The version is not
// in it: a state of another one is found and migrated, or refused, and never silently let go (0101).
func (c Declared) Identity(a *spec.Accumulator) spec.Identity {
	var b strings.Builder
	options, _ := json.Marshal(c.Options) // plain values, with names in order
	fmt.Fprintf(&b, "name %q/options %s", c.Name, options)
	for _, k := range c.Key {
		fmt.Fprintf(&b, "/key %q", k.Text)
	}
	fmt.Fprintf(&b, "/emit %q", a.EmitExpr.Text)
	byName := func(x, y spec.Field) int { return strings.Compare(x.Name, y.Name) }
	for _, f := range slices.SortedFunc(slices.Values(a.Emit), byName) {
		fmt.Fprintf(&b, "/%q:%q", f.Name, f.Expr.Text)
	}
	return spec.ByAccumulator(b.String())
}

// Folding implements [spec.AccumulatorConfig].
func (c Declared) Folding() trait.Folding {
	return trait.Folding{Grouped: true, Keys: c.Key, Sequential: true}
}

// Compile implements [fold.Declared].
func (c Declared) Compile(at *fold.Site) (*fold.Program, spec.Diagnostics) {
	if c.Name == "" { // the decoder has said so
		return nil, nil
	}
	if c.registered == nil {
		return nil, spec.Diagnostics{fold.Diagnostic(at.Pos, codeNotRegistered, c.missing())}
	}
	step, err := c.registered.New(c.Options)
	if err != nil {
		return nil, spec.Diagnostics{fold.Diagnostic(at.Pos, codeBadOptions,
			fmt.Sprintf("the options of %s: %s", c.Name, decode.OneLine(err.Error())))}
	}
	code := folding.Code{
		Version: c.registered.Version, Step: step, Migrate: c.registered.Migrate,
		Key: c.Key, MaxKeys: c.MaxKeys, MaxBytes: c.MaxBytes,
	}
	return code.Compile(at)
}

func (c Declared) missing() string {
	text := fmt.Sprintf("this program has registered no accumulator %q; ", c.Name)
	if len(c.others) > 0 {
		return text + "it has " + strings.Join(c.others[:min(len(c.others), 20)], ", ")
	}
	return text + "Go programs that embed the daemon register them"
}

// Remarks implements [fold.Declared].
func (c Declared) Remarks(fold.Place) spec.Diagnostics { return nil }

var (
	fields = []decode.Field[Declared]{
		{Name: "name", Need: true, Read: func(d *decode.Decoder, v decode.Value, c *Declared) {
			c.Name, _ = d.Text(v, "a registered name")
		}},
		{Name: "options", Read: func(d *decode.Decoder, v decode.Value, c *Declared) {
			if d.Mapping(v, "a mapping of options") {
				x, _ := d.Free(v)
				c.Options, _ = x.(map[string]any)
			}
		}},
		{Name: "key", Read: func(d *decode.Decoder, v decode.Value, c *Declared) { c.Key = d.Exprs(v) }},
		{Name: "max_keys", Read: func(d *decode.Decoder, v decode.Value, c *Declared) {
			d.Count(v, 1, folding.MostKeys, &c.MaxKeys)
		}},
		{Name: "max_bytes", Read: func(d *decode.Decoder, v decode.Value, c *Declared) {
			if n, ok := d.Integer(v, 1, folding.MostBytes); ok {
				c.MaxBytes = n
			}
		}},
	}

	//go:embed schema.json
	definitions string
)
