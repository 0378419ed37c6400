package graph

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/expression"
	"github.com/graphd/graphd/internal/node/expr"
	"github.com/graphd/graphd/internal/node/nodetest"
	"github.com/graphd/graphd/internal/node/route"
	"github.com/graphd/graphd/internal/spec"
)

// marketMakerYAML is the market maker of the docs, unkeyed.
const marketMakerYAML = `graph: market_maker
vars: { floor: 0.01 }
accumulators:
  orderbook: { strategy: sequential }
  pricing: {}
  limits: { passive: true, default: { threshold: 0.05 } }
reactor: { when: any, guard: orderbook.bid < orderbook.ask && orderbook.bid > vars.floor }
nodes:
  signal:
    after: decide.trade
    event: true
    expr: '{ "side": edge > 0 ? "buy" : "sell", "edge": edge, "at": now() }'
  reason:
    after: decide.hold
    priority: low
    expr: '{ "reason": "edge below threshold", "edge": edge, "since": pricing?.at ?? 0 }'
  decide: { route: { trade: abs(edge) > limits.threshold, hold: true } }
  edge: { expr: pricing.fair - mid, on_error: skip }
  mid: { expr: (orderbook.bid + orderbook.ask) / 2 }
  last: { expr: 'signal ?? reason ?? nil' }
outputs:
  signals: { from: signal, sink: { drop: {} } }
  audit: { from: reason, emit: on_change, sink: { drop: {} } }
  raw: { from: pricing, sink: { drop: {} } }
`

func number() expression.Type { return expression.Of(boundary.KindFloat) }

func marketMakerInputs() []Input {
	book := expression.ObjectOf(map[string]expression.Type{"bid": number(), "ask": number()}, false)
	return []Input{
		{Name: "orderbook", Type: book, Event: true},
		{Name: "pricing", Type: expression.ObjectOf(map[string]expression.Type{"fair": number()}, true)},
		{Name: "limits", Type: expression.Any()},
	}
}

func compileMarketMaker(t testing.TB) *Plan {
	t.Helper()
	g := parse(t, marketMakerYAML)
	g.Hash = "c0ffee"
	p, diagnostics := Compile(g, marketMakerInputs(), nodetest.Nodes())
	if err := diagnostics.Err(); err != nil {
		t.Fatal(err)
	}
	return p
}

// M14: the plan is the same to the byte, compile after compile. UPDATE_GOLDEN=1
// writes the file anew.
func TestPlanJSONIsStable(t *testing.T) {
	t.Parallel()
	path := filepath.Join("testdata", "market_maker.plan.json")
	for range 100 {
		raw, err := compileMarketMaker(t).JSON("market_maker", "c0ffee")
		if err != nil {
			t.Fatal(err)
		}
		var got bytes.Buffer
		if err := json.Indent(&got, raw, "", "  "); err != nil {
			t.Fatal(err)
		}
		got.WriteByte('\n')
		if os.Getenv("UPDATE_GOLDEN") != "" {
			if err := os.WriteFile(path, got.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), got.String()); diff != "" {
			t.Fatalf("plan differs from %s (-want +got):\n%s", path, diff)
		}
	}
}

func TestReads(t *testing.T) {
	t.Parallel()
	p := compileMarketMaker(t)
	for i, want := range []struct {
		fields []string
		whole  bool
	}{
		{[]string{"ask", "bid"}, false},
		{[]string{"at", "fair"}, true}, // an output sends it out
		{[]string{"threshold"}, false},
	} {
		fields, whole := p.Reads(i)
		if !slices.Equal(fields, want.fields) || whole != want.whole {
			t.Errorf("%s: got %v %v, want %v %v", p.Inputs()[i].Name, fields, whole, want.fields, want.whole)
		}
	}
}

// Bound to a shape, the plan computes the same.
func TestBind(t *testing.T) {
	t.Parallel()
	decode := func(s *boundary.Shape, text string) boundary.Value {
		v, err := boundary.NewDecoder(s, boundary.Limits{}).Decode([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	for _, bind := range []bool{false, true} {
		p, r := compileMarketMaker(t), &Result{}
		st := p.NewState()
		e := &Epoch{Number: 1, Inputs: make([]boundary.Value, 3), Versions: []uint64{1, 2, 3}, Stamp: 4}
		for i, text := range []string{`{"ask":102,"x":1,"bid":100}`, `{"fair":103.5}`, `{"threshold":0.1}`} {
			fields, _ := p.Reads(i)
			s := boundary.NewShape(fields...)
			if bind {
				p.Bind(i, s)
			}
			e.Inputs[i] = decode(s, text)
		}
		if ok, _, err := p.GuardHolds(st, e, &Asking{}); !ok || err != nil {
			t.Errorf("bound %v: guard: got %v %v, want it to hold", bind, ok, err)
		}
		p.Run(st, e, r)
		if r.Err != nil || len(r.Emitted) != 2 || !strings.Contains(r.Emitted[0].Value.String(), `"edge":2.5`) {
			t.Errorf("bound %v: got %v %v", bind, r.Err, r.Emitted)
		}
	}
}

func TestDiagnostics(t *testing.T) {
	t.Parallel()
	const head = "graph: g\nvars: { limit: 3 }\naccumulators: { book: {}, price: {} }\n"
	inputs := []Input{
		{
			Name: "book", Type: expression.ObjectOf(map[string]expression.Type{
				"bid": number(), "sym": expression.Of(boundary.KindString),
			}, false),
		},
		{Name: "price", Type: expression.Any()},
	}
	const reactor = "reactor: { when: any }\n"
	for name, c := range map[string]struct {
		text string
		want string // "line:column code suggestion", separated by semicolons
	}{
		"syntax":        {reactor + "nodes:\n  n: { expr: book.bid + }\n", "6:24 expression_syntax"},
		"unknown name":  {reactor + "nodes:\n  n: { expr: bok.bid }\n", "6:14 unknown_name book"},
		"unknown field": {reactor + "nodes:\n  n: { expr: 1 + book.bit }\n", "6:23 unknown_field bid"},
		"unknown var":   {reactor + "nodes:\n  n: { expr: vars.limt }\n", "6:19 unknown_field limit"},
		"type":          {reactor + "nodes:\n  n: { expr: book.bid + book.sym }\n", "6:23 type_mismatch"},
		"type through nodes": {reactor + "nodes:\n  b: { expr: a + 1 }\n  a: { expr: book.sym }\n",
			"6:16 type_mismatch"},
		"field of a node": {reactor + "nodes:\n  b: { expr: a.prise }\n  a: { expr: '{\"price\": 1}' }\n",
			"6:16 unknown_field price"},
		"route is a string": {reactor + "nodes:\n  b: { expr: a + 1 }\n  a: { route: { yes: true } }\n",
			"6:16 type_mismatch"},
		"condition": {reactor + "nodes:\n  a: { route: { yes: book.bid, no: book.bid > 0 } }\n",
			"6:22 type_mismatch"},
		"one mistake said once": {reactor + "nodes:\n  b: { expr: a.x + a.y }\n  a: { expr: nothing }\n",
			"7:14 unknown_name"},
		"guard not bool": {"reactor: { when: any, guard: book.bid }\nnodes: { n: { expr: 1 } }\n",
			"4:30 type_mismatch"},
		"guard unknown": {"reactor: { when: any, guard: n + boo > 1 }\nnodes: { n: { expr: 1 } }\n",
			"4:34 unknown_name book"},
		"guard type of a node": {"reactor: { when: any, guard: n > 1 }\nnodes: { n: { expr: book.sym } }\n",
			"4:32 type_mismatch"},
		"self": {reactor + "nodes:\n  a: { expr: a + 1 }\n", "6:3 cycle"},
		"all at once, in order": {
			"reactor: { when: any, guard: 1 }\nnodes:\n  c: { expr: c }\n  b: { expr: x }\n  a: { expr: book.y }\n",
			"4:30 type_mismatch; 6:3 cycle; 7:14 unknown_name; 8:19 unknown_field",
		},
		"behind a cycle, checks": {
			reactor + "nodes:\n  a: { expr: b }\n  b: { expr: a }\n  c: { expr: b.x + book.y }\n",
			"6:3 cycle; 8:25 unknown_field",
		},
		"no random": {reactor + "nodes:\n  a: { expr: rand() }\n", "6:14 not_allowed"},
	} {
		g, parsed := spec.Parse([]byte(head+c.text), nodetest.Kinds(), spec.Options{File: "x.yaml"})
		if err := parsed.Err(); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		p, got := Compile(g, inputs, nodetest.Nodes())
		if p != nil {
			t.Errorf("%s: got a plan", name)
		}
		wants := strings.Split(c.want, "; ")
		for i, d := range got {
			line := strings.TrimPrefix(strings.SplitN(d.String(), ": ", 2)[0], "x.yaml:") + " " + d.Code
			if i >= len(wants) || line != wants[i] && line+" "+d.Suggest != wants[i] {
				t.Errorf("%s: got %s, suggesting %q, want %v", name, d, d.Suggest, wants)
			}
		}
		if len(got) < len(wants) {
			t.Errorf("%s: got %v, want %v", name, got, wants)
		}
	}
}

// M14: a cycle is reported once, the shortest way round, naming the nodes in order.
func TestCycles(t *testing.T) {
	t.Parallel()
	const head = "graph: g\naccumulators: { a: {} }\nreactor: { when: any }\nnodes:\n"
	for nodes, want := range map[string]string{
		"  x: { expr: x }\n":                                                           "x → x",
		"  x: { expr: y }\n  y: { expr: x }\n":                                         "x → y → x",
		"  x: { expr: z }\n  y: { expr: x }\n  z: { expr: y }\n":                       "x → y → z → x",
		"  x: { expr: z + y }\n  y: { expr: x }\n  z: { expr: y }\n":                   "x → y → x",
		"  x: { after: y, expr: 1 }\n  y: { expr: x }\n":                               "x → y → x",
		"  x: { expr: 'y ?? 1' }\n  y: { route: { r: x > 1 } }\n":                      "x → y → x",
		"  u: { expr: x }\n  x: { expr: y }\n  y: { expr: x }\n":                       "x → y → x",
		"  x: { expr: y }\n  y: { expr: x }\n  v: { expr: w }\n  w: { expr: v + x }\n": "x → y → x; v → w → v",
	} {
		g := parse(t, head+nodes)
		_, diagnostics := Compile(g, inputsOf(g), nodetest.Nodes())
		var got []string
		for _, d := range diagnostics {
			text := strings.TrimPrefix(d.Text, "nodes rest on each other: ")
			got = append(got, strings.TrimSuffix(text, "; read one of them as of the last epoch (delay), "+
				"make a loop of them (loops), or remove one of these references"))
			if d.Code != CodeCycle {
				t.Errorf("%s: got %v", nodes, d)
			}
		}
		if s := strings.Join(got, "; "); s != want {
			t.Errorf("%s: got %s, want %s", nodes, s, want)
		}
	}
}

// References that spec.Parse refuses are refused here too: a graph can be made by
// hand, and one with mistakes is compiled to find the others.
func TestWrongReferences(t *testing.T) {
	t.Parallel()
	node := func(name, text, after string) spec.Node {
		n := spec.Node{Name: name, Kind: "expr", Config: expr.Declared{Expr: spec.Expr{Text: text}}}
		if after != "" {
			from, taken, _ := strings.Cut(after, ".")
			n.After = []spec.Gate{{Node: from, Route: taken}}
		}
		return n
	}
	choice := spec.Node{Name: "r", Kind: "route", Config: always("true")}
	for want, g := range map[string]spec.Graph{
		spec.CodeUnknownName:        {Nodes: []spec.Node{node("n", "1", "nobody")}},
		spec.CodeUnknownName + "  ": {Nodes: []spec.Node{node("n", "1", "a")}},
		spec.CodeNotARoute:          {Nodes: []spec.Node{node("m", "1", ""), node("n", "1", "m.yes")}},
		spec.CodeUnknownRoute:       {Nodes: []spec.Node{choice, node("n", "1", "r.no")}},
		spec.CodeSelfReference:      {Nodes: []spec.Node{node("n", "1", "n")}},
		spec.CodeDuplicateName:      {Nodes: []spec.Node{node("a", "1", "")}},
		spec.CodeMissingField:       {Nodes: []spec.Node{node("n", "", "")}},
		spec.CodeBadValue:           {Vars: []spec.Var{{Name: "x", Value: make(chan int)}}},
		spec.CodeUnknownName + " ":  {Outputs: []spec.Output{{Name: "o", From: "nobody"}}},
		codeNotANode + " ":          {Outputs: []spec.Output{{Name: "o", From: "vars"}}},
	} {
		g.Reactor = &spec.Reactor{}
		_, diagnostics := Compile(&g, []Input{{Name: "a"}}, nodetest.Nodes())
		if len(diagnostics) != 1 || diagnostics[0].Code != strings.TrimSpace(want) {
			t.Errorf("got %v, want %s", diagnostics, want)
		}
	}
	// What could not be read is passed over when something else is wrong.
	g := &spec.Graph{Reactor: &spec.Reactor{}, Nodes: []spec.Node{node("n", "", ""), node("m", "n + nobody", "")}}
	if _, diagnostics := Compile(g, nil, nodetest.Nodes()); len(diagnostics) != 1 ||
		diagnostics[0].Code != expression.CodeUnknownName {
		t.Errorf("got %v, want one unknown_name", diagnostics)
	}
}

// always is a route node with one route.
func always(text string) route.Declared {
	return route.Declared{Choices: []spec.Field{{Name: "yes", Expr: spec.Expr{Text: text}}}}
}

// FuzzCompile puts any text in the place of an expression: it is refused at a
// place, or it runs, the same way each time.
func FuzzCompile(f *testing.F) {
	for _, text := range []string{"a.x + 1", "a?.x ?? b", "m", "b > 1 ? a : nil", "{\"x\": [a, epoch()]}",
		"vars.y + key", "1 / a", "map(a, # + 1)"} {
		f.Add(text, true)
		f.Add(text, false)
	}
	f.Fuzz(func(t *testing.T, text string, choice bool) {
		n := spec.Node{Name: "n", Kind: "expr", Config: expr.Declared{Expr: spec.Expr{Text: text}}, OnError: "skip"}
		if choice {
			n = spec.Node{Name: "n", Kind: "route", Config: always(text), OnError: "skip"}
		}
		m := spec.Node{Name: "m", Kind: "expr", Config: expr.Declared{Expr: spec.Expr{Text: "b ?? 0"}}}
		g := &spec.Graph{Reactor: &spec.Reactor{}, Nodes: []spec.Node{n, m},
			Vars: []spec.Var{{Name: "y", Value: int64(2)}}}
		inputs := []Input{{Name: "a"}, {Name: "b"}}
		p, diagnostics := Compile(g, inputs, nodetest.Nodes())
		if (p == nil) != (len(diagnostics) > 0) {
			t.Fatalf("got plan %v and %v", p, diagnostics)
		}
		if p == nil {
			return
		}
		var before []boundary.Value
		for range 2 {
			st, r := p.NewState(), &Result{}
			e := &Epoch{Number: 1, Inputs: []boundary.Value{boundary.Int(3), {}}, Versions: []uint64{1, 0}, Stamp: 2}
			p.Run(st, e, r)
			p.Commit(st, r)
			if r.Err != nil {
				t.Fatal(r.Err)
			}
			if before != nil && !slices.EqualFunc(before, st.cells, boundary.Equal) {
				t.Fatalf("got %v, then %v", before, st.cells)
			}
			before = st.cells
		}
	})
}

// M15: what can be asked where: fresh of a node only after nodes have run, memory only in nodes,
// a value only in the condition of an output.
func TestWhatConditionsCanAsk(t *testing.T) {
	t.Parallel()
	const doc = "graph: g\naccumulators: { a: {} }\nreactor: { guard: %s }\nnodes: { n: { expr: %s } }\n" +
		"outputs: { o: { from: n, sink: { drop: {} }, where: %s } }\n"
	for row, want := range map[[3]string]string{
		{"fresh(a)", "fresh(a)", "fresh(n) and fresh(a)"}:             "",
		{"cause() != 'tick'", "cause()", "cause() == value"}:          "",
		{"true", "a", "value > epoch and key == nil and output > ''"}: "",
		{"true", "a", "n > 1 and a > vars.x"}:                         "5:73 unknown_field",
		{"fresh(n)", "a", "true"}:                                     "3:26 not_allowed",
		{"true", "fresh(key)", "true"}:                                "4:28 not_allowed",
		{"true", "a", "fresh(value)"}:                                 "5:60 not_allowed",
		{"true", "a", "lag(value) > 1"}:                               "5:54 not_allowed",
		{"true", "value", "true"}:                                     "4:22 unknown_name",
		{"true", "'x'", "value > 1"}:                                  "5:60 type_mismatch",
		{"true", "a", "output"}:                                       "5:54 type_mismatch",
	} {
		for i := range row {
			row[i] = `"` + row[i] + `"`
		}
		g := parse(t, fmt.Sprintf(doc, row[0], row[1], row[2]))
		_, diagnostics := Compile(g, inputsOf(g), nodetest.Nodes())
		got := ""
		for _, d := range diagnostics {
			got += fmt.Sprintf("%d:%d %s", d.Line, d.Column, d.Code)
		}
		if got != want {
			t.Errorf("%q: got %q, want %q: %v", row, got, want, diagnostics)
		}
	}
}
