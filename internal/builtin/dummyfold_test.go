package builtin_test

import (
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/graphd/graphd/internal/accumulator/fold"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/builtin"
	"github.com/graphd/graphd/internal/expression"
	"github.com/graphd/graphd/internal/spec"
	"github.com/graphd/graphd/internal/spec/decode"
	"github.com/graphd/graphd/internal/spec/meaning"
	"github.com/graphd/graphd/internal/spec/trait"
)

// A kind of accumulator that only this file knows: everything of it is here, as it would be in its
// folder. It adds up a number per group until a condition over the sum holds, and asks for all
// that a kind can: groups, time, expressions of both sorts, an input of its own, cells of its own.

func tallyKind() builtin.Accumulator {
	return fold.NewKind(decode.NewKind("tally", tallySchema(), tallyDefaults, readTally))
}

type tally struct {
	Key   []spec.Expr
	Add   spec.Expr
	Until spec.Expr // over n and sum too, the group's own
	Most  int       // of an event: what adds more goes to Spill
	Spill string    // an input; "": it is dropped
	Note  string    // changes nothing
}

func tallyDefaults() tally { return tally{Most: 100} }

func (c tally) Canonical(t *meaning.Tree) {
	for i, k := range c.Key {
		t.Leaf("key["+strconv.Itoa(i)+"]", k.Text)
	}
	t.Expr("add", c.Add.Text)
	t.Expr("until", c.Until.Text)
	t.Number("most", int64(c.Most))
	t.Text("spill", c.Spill)
	t.Text("note", c.Note)
}

func (c tally) Identity(a *spec.Accumulator) spec.Identity {
	text := fmt.Sprintf("%q/%q", c.Add.Text, a.EmitExpr.Text)
	for _, k := range c.Key {
		text += fmt.Sprintf("/%q", k.Text)
	}
	return spec.ByAccumulator(text)
}

func (c tally) Folding() trait.Folding {
	return trait.Folding{
		Grouped: true, Keys: c.Key, Time: trait.Timed, Sequential: true,
		Own: trait.Own{Name: c.Spill, Field: "spill", One: "a spilt event", Several: "spilt events"},
	}
}

var (
	tallyOwn   = []expression.Name{{Name: "n", Type: intType}, {Name: "sum", Type: intType}}
	tallyShape = boundary.NewShape("key", "n", "sum", "at")
	intType    = expression.Of(boundary.KindInt)
)

func (c tally) Compile(at *fold.Site) (*fold.Program, spec.Diagnostics) {
	keys, ds := fold.CompileKeys(c.Key, at.Scope, nil)
	add, ds := fold.CompileExpr(c.Add, at.Shaped(), expression.Compile, ds)
	until, ds := fold.CompileExpr(c.Until, at.Shaped(tallyOwn...), expression.CompileBool, ds)
	if c.Most == 13 {
		ds = append(ds, at.Mistake("unlucky", "13 brings bad luck; choose another number")...)
	}
	if len(ds) > 0 {
		return nil, ds
	}
	return &fold.Program{
		New: func() fold.Fold {
			return &tallying{c: c, until: until, keyed: at.GivesKey, groups: map[string]*tallied{}}
		},
		Type: expression.ObjectOf(map[string]expression.Type{
			"key": fold.KeyType(keys), "n": intType, "sum": intType, "at": expression.Of(boundary.KindTime),
		}, false),
		Shape: tallyShape, Keys: keys, Args: []*expression.Program{add}, Terms: []*expression.Program{until},
		Stage: "tally", LooksOnly: true,
	}, nil
}

func (c tally) Remarks(at fold.Place) spec.Diagnostics {
	if c.Until.Text == "false" {
		return at.Mistake("endless_tally", at.Accumulator.Name+" hands nothing over")
	}
	return nil
}

var tallyFields = []decode.Field[tally]{
	{Name: "key", Need: true, Read: func(d *decode.Decoder, v decode.Value, c *tally) { c.Key = d.Exprs(v) }},
	{Name: "add", Need: true, Read: func(d *decode.Decoder, v decode.Value, c *tally) { c.Add = d.Expr(v) }},
	{Name: "until", Need: true, Read: func(d *decode.Decoder, v decode.Value, c *tally) { c.Until = d.Expr(v) }},
	{Name: "most", Read: func(d *decode.Decoder, v decode.Value, c *tally) { d.Count(v, 1, 1000, &c.Most) }},
	{Name: "spill", Read: func(d *decode.Decoder, v decode.Value, c *tally) { c.Spill = d.NameOf(v, "input") }},
	{Name: "note", Read: func(d *decode.Decoder, v decode.Value, c *tally) { c.Note, _ = d.AnyText(v, "a text") }},
}

func tallySchema() decode.Schema {
	return decode.NewSchema("Adds up.", decode.Define(`{
  "tally": { "type": "object", "properties": { "add": { "$ref": "#/$defs/expression" } } }
}`, decode.MappingOf("tally", tallyFields, nil)))
}

func readTally(d *decode.Decoder, v decode.Value, c *tally) {
	decode.Object(d, v, "tally", tallyFields, c)
}

// tallying is the fold. What is in groups is never changed, only put in place of.
type tallying struct {
	c      tally
	until  *expression.Program
	keyed  bool
	groups map[string]*tallied
	env    expression.Env
}

// tallied is a group.
type tallied struct {
	key         boundary.Value
	n, sum      int64
	first, last boundary.Position
}

func (f *tallying) Add(now time.Time, in *fold.Input, out []boundary.Boundary) ([]boundary.Boundary, fold.Verdict) {
	add, ok := in.Facts.Args[0].AsInt()
	switch {
	case !ok:
		in.Bad = &fold.BadEvent{Stage: "tally", Code: "type_error", Text: "only whole numbers add up"}
		return out, fold.Refused
	case add > int64(f.c.Most) && f.c.Spill != "":
		return out, fold.Aside
	case add > int64(f.c.Most):
		return out, fold.Dropped
	}
	name := in.Facts.Key.String()
	g := tallied{key: in.Facts.Key.Compact(), first: in.Event.Pos}
	if was := f.groups[name]; was != nil {
		g = *was
	}
	g.n, g.sum, g.last = g.n+1, g.sum+add, in.Event.Pos
	f.env.Values = append(append(f.env.Values[:0], in.Facts.Env.Values...), boundary.Int(g.n), boundary.Int(g.sum))
	done, err := f.until.EvalBool(&f.env)
	if err != nil {
		in.Bad = &fold.BadEvent{Stage: "tally", Code: "type_error", Text: decode.OneLine(err.Error())}
		return out, fold.Refused
	}
	if !done {
		f.groups[name] = &g
		return out, fold.Folded
	}
	delete(f.groups, name)
	b := boundary.Boundary{
		Value: boundary.Object(tallyShape, []boundary.Value{
			g.key, boundary.Int(g.n), boundary.Int(g.sum), boundary.Time(time.Unix(0, in.Facts.At)),
		}),
		First: g.first, Last: g.last, At: in.At, Events: g.n, Size: 1,
	}
	if f.keyed {
		b.Key = boundary.KeyOf(g.key)
	}
	return append(out, b), fold.Folded
}

func (f *tallying) Due() (time.Time, bool)                                        { return time.Time{}, false }
func (f *tallying) Tick(_ time.Time, out []boundary.Boundary) []boundary.Boundary { return out }
func (f *tallying) End(out []boundary.Boundary) []boundary.Boundary               { return out }

func (f *tallying) State() fold.State   { return tallies(maps.Clone(f.groups)) }
func (f *tallying) Resume(s fold.State) { f.groups = maps.Clone(s.(tallies)) }

func (f *tallying) Open() (n int64) {
	for _, g := range f.groups {
		n += g.n
	}
	return n
}

func (f *tallying) Decode(data []byte) (fold.State, error) {
	groups := tallies{}
	if !fold.IsJoined(data) { // nothing, or the head alone
		return groups, nil
	}
	_, parts, err := fold.Split(data)
	for name, part := range parts {
		r := fold.NewReader(part)
		groups[name] = &tallied{
			key: r.Value(), n: r.Varint(), sum: r.Varint(), first: r.Position(), last: r.Position(),
		}
		if err == nil {
			err = r.Done()
		}
	}
	return groups, err
}

// tallies are the groups as of one moment: a cell each.
type tallies map[string]*tallied

func (s tallies) AppendBinary([]byte) []byte   { panic("it is kept in parts") }
func (s tallies) AppendHead(dst []byte) []byte { return append(dst, 'T') }
func (s tallies) Parts() func(func(fold.Part) bool) {
	return func(yield func(fold.Part) bool) {
		for _, name := range slices.Sorted(maps.Keys(s)) {
			g := s[name]
			if !yield(fold.Part{Name: name, Same: g, Append: g.append}) {
				return
			}
		}
	}
}

func (g *tallied) append(dst []byte) []byte {
	dst = binary.AppendVarint(binary.AppendVarint(g.key.AppendBinary(dst), g.n), g.sum)
	return g.last.AppendBinary(g.first.AppendBinary(dst))
}
