package builtin_test

import (
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/builtin"
	"github.com/graphd/graphd/internal/compile"
	"github.com/graphd/graphd/internal/expression"
	"github.com/graphd/graphd/internal/graph"
	"github.com/graphd/graphd/internal/kind"
	"github.com/graphd/graphd/internal/spec"
	"github.com/graphd/graphd/internal/spec/decode"
	"github.com/graphd/graphd/internal/spec/meaning"
)

// A kind of node that only this file knows: everything of it is here, as it would be in its
// folder. It multiplies what an expression comes to, and tells by a route whether it was much.

func scaleKind() builtin.Node {
	check := func(c scale, at kind.Place) spec.Diagnostics {
		if c.By == 13 {
			return at.Mistake("unlucky", "13 brings bad luck; choose another number")
		}
		return nil
	}
	remarks := func(c scale, at kind.Place) spec.Diagnostics {
		if c.By == 1 {
			return at.Mistake("idle_scale", "nothing is scaled by 1")
		}
		return nil
	}
	result := func(scale, []*expression.Program) expression.Type { return expression.Of(boundary.KindString) }
	evaluator := func(c scale, parts kind.Parts) kind.Evaluator { return &scaled{c.By, parts.Programs[0]} }
	return kind.NewNode(decode.NewKind("scale", scaleSchema(), scaleDefaults, readScale),
		check, remarks, result, evaluator)
}

type scale struct {
	Of spec.Expr
	By int
}

func scaleDefaults() scale { return scale{By: 2} }

func (c scale) Canonical(t *meaning.Tree, name string) {
	b := t.Branch(name)
	b.Expr("of", c.Of.Text)
	b.Number("by", int64(c.By))
}

func (c scale) Identity() string  { return strconv.Itoa(c.By) }
func (c scale) Reads() spec.Reads { return spec.ByTerms(spec.Term{Name: "of", Expr: c.Of}) }
func (c scale) Routes() []string  { return []string{"much", "little"} }

var scaleFields = []decode.Field[scale]{
	{Name: "of", Need: true, Read: func(d *decode.Decoder, v decode.Value, c *scale) { c.Of = d.Expr(v) }},
	{Name: "by", Read: func(d *decode.Decoder, v decode.Value, c *scale) { d.Count(v, 1, math.MaxInt32, &c.By) }},
}

func scaleSchema() decode.Schema {
	return decode.NewSchema("Multiplies.", decode.Define(`{
  "node_scale": { "type": "object", "properties": { "of": { "$ref": "#/$defs/expression" } } }
}`, decode.MappingOf("node_scale", scaleFields, nil)))
}

func readScale(d *decode.Decoder, v decode.Value, c *scale) {
	decode.Object(d, v, "node scale", scaleFields, c)
}

type scaled struct {
	by int
	of *expression.Program
}

func (s *scaled) Eval(env *expression.Env) (boundary.Value, error) {
	v, err := s.of.Eval(env)
	if err != nil {
		return v, err
	}
	if n, _ := v.AsInt(); n*int64(s.by) > 10 {
		return boundary.String("much"), nil
	}
	return boundary.String("little"), nil
}

const scaleGraph = `graph: scaled
accumulators:
  a: { strategy: latest }
nodes:
  size: { scale: { of: 'lag(a.x) ?? a.x', by: 3 } }
  big: { expr: a.x, after: size.much }
outputs:
  out: { from: big, sink: { drop: {} } }
`

// TestNodeKindIsItsFolderAndOneLine: a new kind of node is decoded, described in the JSON
// Schema, hashed, compared, checked, linted, planned and run, and all that knows of it beside
// its own code is the list. The field MoreNodes is that one line.
func TestNodeKindIsItsFolderAndOneLine(t *testing.T) {
	t.Parallel()
	kinds := &builtin.Kinds{MoreNodes: []builtin.Node{scaleKind()}}
	one := parsed(t, kinds, scaleGraph)
	with := func(fields string) string {
		return strings.Replace(scaleGraph, "of: 'lag(a.x) ?? a.x', by: 3", fields, 1)
	}

	t.Run("decode", func(t *testing.T) {
		n := &one.Spec.Nodes[0]
		c, ok := n.Config.(scale)
		if n.Kind != "scale" || !ok || c.Of.Text != "lag(a.x) ?? a.x" || c.By != 3 {
			t.Errorf("got %+v", n)
		}
		for bad, want := range map[string]string{
			"of: a.x, bye: 3": `5:29: unknown_field: node scale has no field "bye"; ` +
				`remove it or correct its name (did you mean by?)`,
			"by: 3":           "5:11: missing_field: node scale needs the field of; add it",
			"of: a.x, by: 0":  "5:33: out_of_range: 0 is out of range; give a number between 1 and 2147483647",
			"of: a.x, by: 13": "5:3: unlucky: 13 brings bad luck; choose another number",
			"of: b.x":         "5:24: unknown_name: ",
			"of: a.x }, inputs: [a], event: {": "5:31: conflict: " +
				"what a node of kind scale reads is in its expressions; remove inputs",
		} {
			_, diags := kinds.Parse([]byte(with(bad)), "x")
			if !slices.ContainsFunc(diags, func(d spec.Diagnostic) bool {
				return strings.HasPrefix(d.String(), "x:"+want)
			}) {
				t.Errorf("%s: got %v, want %s", bad, diags, want)
			}
		}
		_, diags := kinds.Parse([]byte(strings.Replace(scaleGraph, "size.much", "size.most", 1)), "x")
		if len(diags) == 0 || diags[0].Code != spec.CodeUnknownRoute {
			t.Errorf("a route that is not there: got %v", diags)
		}
	})
	t.Run("schema", func(t *testing.T) {
		var schema struct {
			Defs map[string]struct {
				OneOf      []any
				Properties map[string]any
			} `json:"$defs"`
		}
		if err := json.Unmarshal(kinds.Schema(), &schema); err != nil {
			t.Fatal(err)
		}
		node, own := schema.Defs["node"], schema.Defs["node_scale"]
		if node.Properties["scale"] == nil || own.Properties["of"] == nil || len(node.OneOf) != 6 {
			t.Errorf("the schema does not have the kind: %v, %v", node, own)
		}
	})
	t.Run("hash, difference and identity", func(t *testing.T) {
		everyField(t, spec.NodeConfig(scale{}), func(g *spec.Graph, c spec.NodeConfig) {
			g.Nodes = []spec.Node{{Name: "n", Kind: "scale", Config: c}}
		})
		more := parsed(t, kinds, with("of: 'lag(a.x) ?? a.x', by: 4"))
		if diff := spec.Diff(one.Spec, more.Spec); len(diff) != 1 || diff[0] != "changed nodes.size.scale.by: 3 → 4" {
			t.Errorf("got %q", diff)
		}
		if _, dropped := compile.Split(compile.Changes(one, more)); len(dropped) != 1 {
			t.Errorf("another scale is the same: %q", dropped)
		}
		idle := parsed(t, kinds, with("of: a.x, by: 1"))
		if found := compile.Lint(idle); len(found) != 2 || found[0].Code != "idle_scale" {
			t.Errorf("lint finds %v", found)
		}
	})
	t.Run("plan", func(t *testing.T) {
		text, err := one.PlanJSON()
		if err != nil || !strings.Contains(string(text), `{"name":"size","kind":"scale","rank":0,"priority":"normal",`+
			`"event":false,"on_error":"fail_epoch","type":"string","routes":["much","little"]}`) {
			t.Errorf("got %s, %v", text, err)
		}
	})
	t.Run("run", func(t *testing.T) { runScale(t, one.Plan) })
}

// runScale: big follows the value before (its lag), scaled, also in a state that was restored.
func runScale(t *testing.T, p *graph.Plan) {
	t.Helper()
	st, r := p.NewState(), &graph.Result{}
	for i, step := range []struct {
		x    int64
		want string
	}{{1, ""}, {5, ""}, {1, "1"}, {2, ""}} {
		a := boundary.Object(boundary.NewShape("x"), []boundary.Value{boundary.Int(step.x)})
		stamp := uint64(2*i + 1)
		p.Run(st, &graph.Epoch{
			Number: int64(i) + 1, Inputs: []boundary.Value{a}, Versions: []uint64{stamp}, Stamp: stamp + 1,
		}, r)
		got := ""
		for _, e := range r.Emitted {
			got += e.Value.String()
		}
		if r.Err != nil || got != step.want {
			t.Errorf("step %d: got %q, %v, want %q", i, got, r.Err, step.want)
		}
		p.Commit(st, r)
		restored := p.NewState()
		for cell := range p.Cells() {
			if err := p.DecodeCell(restored, cell, p.EncodeCell(st, cell)); err != nil {
				t.Fatal(err)
			}
		}
		st = restored
	}
}
