package spec_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/graphd/graphd/internal/accumulator/batch"
	"github.com/graphd/graphd/internal/accumulator/state"
	"github.com/graphd/graphd/internal/node/expr"
	"github.com/graphd/graphd/internal/node/route"
	"github.com/graphd/graphd/internal/sink/drop"
	sinkfile "github.com/graphd/graphd/internal/sink/file"
	"github.com/graphd/graphd/internal/sink/stdout"
	"github.com/graphd/graphd/internal/sink/websocket"
	"github.com/graphd/graphd/internal/source/file"
	"github.com/graphd/graphd/internal/source/generator"
	"github.com/graphd/graphd/internal/source/socket"
	"github.com/graphd/graphd/internal/spec"
	"github.com/graphd/graphd/internal/spec/decode"
	"github.com/graphd/graphd/internal/spec/limits"
)

func mustParse(t *testing.T, text string) *spec.Graph {
	t.Helper()
	g, diags := parse([]byte(text), spec.Options{Resolve: environment})
	if len(diags) > 0 {
		t.Fatalf("diagnostics:\n%v", diags)
	}
	return g
}

func readFile(t *testing.T, name string) string {
	t.Helper()
	text, err := readTestdata(name)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func readTestdata(name string) (string, error) {
	data, err := os.ReadFile(name)
	return string(data), err
}

func codes(diags spec.Diagnostics) []string {
	var list []string
	for _, d := range diags {
		list = append(list, fmt.Sprintf("%s %s", d.Path, d.Code))
	}
	return list
}

// cmp looks at exported fields only; what is unexported is tested by what it does.
var exported = cmp.FilterPath(func(p cmp.Path) bool {
	f, ok := p.Last().(cmp.StructField)
	return ok && (f.Name() == "origin" || f.Name() == "written" || f.Name() == "anchors" || f.Name() == "Pos" ||
		strings.HasSuffix(f.Name(), "Pos"))
}, cmp.Ignore())

// defaultRetry is what an output does that says nothing of it.
var defaultRetry = spec.Retry{Base: 50 * time.Millisecond, Max: 10 * time.Second}

func TestDefaults(t *testing.T) {
	t.Parallel()
	got := mustParse(t, "graph: g\naccumulators: { a: {} }\nnodes: { n: { expr: a } }\noutputs: { o: { from: n, "+
		"sink: { drop: {} } } }")
	want := &spec.Graph{
		Name: "g",
		Accumulators: []spec.Accumulator{{
			Name: "a", Source: spec.Source{Kind: "websocket", Config: socket.Declared{}}, Kind: "passthrough",
			TimeUnit: "ms",
			Strategy: "latest", Capacity: 1024, CapacityBytes: 8 << 20,
		}},
		Reactor: &spec.Reactor{
			When: "any", Strategy: "latest", WarmTimeout: 30 * time.Second, OnWarmTimeout: "fire_anyway",
			EpochTimeout: 30 * time.Second, MaxKeys: 10_000_000, Shards: 1, MaxWaiting: 1024,
			MaxWaitingBytes: 256 << 20,
			OnEvict:         "dead_letter",
			Restart: spec.Restart{Attempts: 5, Base: time.Second, Max: time.Minute, Reset: time.Minute,
				OnExhausted: "fail"},
		},
		Nodes: []spec.Node{
			{Name: "n", Kind: "expr", Config: expr.Declared{Expr: spec.Expr{Text: "a"}}, OnError: "fail_epoch",
				Priority: "normal"},
		},
		Outputs: []spec.Output{
			{Name: "o", From: "n", Sink: spec.Sink{Kind: "drop", Config: drop.Declared{}}, Emit: "each",
				OnError: "block", Retry: defaultRetry, Timeout: 10 * time.Second},
		},
		Durability:  spec.Durability{Mode: "checkpoint", Interval: time.Second, OnFailure: "advance"},
		History:     spec.History{Keep: 1000},
		DeadLetters: spec.DeadLetters{Keep: 7 * 24 * time.Hour, Max: 100_000, MaxBytes: 256 << 20},
		Hash:        got.Hash,
	}
	if diff := cmp.Diff(want, got, exported); diff != "" {
		t.Error(diff)
	}
}

func TestEverything(t *testing.T) {
	t.Parallel()
	got := mustParse(t, readFile(t, "testdata/valid/everything.yaml"))
	yes, no := true, false
	want := &spec.Graph{
		Name: "everything",
		Vars: []spec.Var{
			{Name: "limit", Value: int64(5)}, {Name: "ratio", Value: 0.5}, {Name: "name", Value: "five"},
			{Name: "day", Value: "2026-11-21"},
			{Name: "none"}, {Name: "list", Value: []any{int64(1), []any{int64(2), map[string]any{"deep": true}}}},
		},
		Accumulators: []spec.Accumulator{{
			Name: "pushed", Source: spec.Source{Kind: "websocket", Config: socket.Declared{}}, Kind: "passthrough",
			Schema: map[string]any{
				"type": "object", "required": []any{"x"},
				"properties": map[string]any{"x": map[string]any{"type": "number", "minimum": int64(0)}},
			},
			Where: spec.Expr{Text: "event.x > vars.limit"},
			Emit: []spec.Field{
				{Name: "x", Expr: spec.Expr{Text: "event.x"}}, {Name: "always", Expr: spec.Expr{Text: "true"}},
				{Name: "n", Expr: spec.Expr{Text: "1"}},
			},
			Time: spec.Expr{Text: "event.at"}, TimeUnit: "s", Timezone: "Europe/Zurich",
			Strategy: "sequential", Capacity: 16, CapacityBytes: 1_000_000,
		}, {
			Name: "posted", Source: spec.Source{Kind: "http", Config: socket.Declared{}}, Kind: "batch",
			SchemaFile: "schemas/posted.json", EmitExpr: spec.Expr{Text: `{ "v": event }`},
			Config: batch.Declared{Size: 100, Interval: 5 * time.Second}, TimeUnit: "ms", Strategy: "latest",
			Capacity: 1024, CapacityBytes: 8 << 20,
		}, {
			Name: "lines", Source: spec.Source{
				Kind: "file", Config: file.Declared{
					Path: "lines.log", Format: "ndjson", Follow: true, OnTruncate: "restart",
				},
			},
			Kind: "state", Config: state.Declared{Keep: 3}, TimeUnit: "ms", Strategy: "latest", Capacity: 1024,
			CapacityBytes: 8 << 20,
		}, {
			Name: "table", Source: spec.Source{
				Kind: "file", Config: file.Declared{Path: "Table.CSV", Format: "csv", OnTruncate: "halt"},
			},
			Kind: "passthrough", TimeUnit: "ms", Strategy: "latest", Capacity: 1024, CapacityBytes: 8 << 20,
		}, {
			Name: "made", Source: spec.Source{
				Kind: "generator", Config: generator.Declared{
					Every: 250 * time.Millisecond, Count: 10, Expr: spec.Expr{Text: "i % 2 == 0 ? i : -i"}, Seed: -7,
				},
			},
			Kind: "passthrough", TimeUnit: "ms", Passive: true, Default: map[string]any{
				"threshold": 0.05, "on": []any{true},
			}, HasDefault: true,
			Strategy: "latest", Capacity: 1024, CapacityBytes: 8 << 20,
		}, {
			Name: "fast", Source: spec.Source{
				Kind: "generator", Config: generator.Declared{
					Every: 400 * time.Millisecond, Expr: spec.Expr{Text: "i"},
				},
			},
			Kind: "passthrough", TimeUnit: "ms", Global: true, HasDefault: true, Strategy: "latest", Capacity: 1024,
			CapacityBytes: 8 << 20,
		}},
		Reactor: &spec.Reactor{
			When: "all", Names: []string{"pushed", "posted"}, Strategy: "latest", Guard: spec.Expr{
				Text: "pushed.x > 0",
			},
			WarmTimeout: 90 * time.Second, OnWarmTimeout: "fail", EpochTimeout: 500 * time.Millisecond,
			MaxKeys: 10_000_000, Shards: 1, MaxWaiting: 1024, MaxWaitingBytes: 256 << 20, OnEvict: "dead_letter",
			Restart: spec.Restart{Attempts: 0, Base: 10 * time.Millisecond, Max: time.Second, Reset: time.Hour,
				OnExhausted: "degrade"},
		},
		Nodes: []spec.Node{
			{Name: "mid", Kind: "expr", Config: expr.Declared{Expr: spec.Expr{Text: "(pushed.x + lines.y) / 2"}},
				OnError:  "fail_epoch",
				Priority: "normal"},
			{
				Name: "pick", Kind: "route", OnError: "fail_epoch", Priority: "high",
				Config: route.Declared{Choices: []spec.Field{
					{Name: "low", Expr: spec.Expr{Text: "mid < 3"}}, {Name: "yes", Expr: spec.Expr{Text: "mid < 9"}},
					{Name: "rest", Expr: spec.Expr{Text: "true"}},
				}},
			},
			{Name: "low", Kind: "expr", Config: expr.Declared{Expr: spec.Expr{Text: "mid"}},
				After: []spec.Gate{{Node: "pick", Route: "low"}},
				Event: &yes, OnError: "skip",
				Priority: "background"},
			{Name: "both", Kind: "expr", Config: expr.Declared{Expr: spec.Expr{Text: "mid + 1"}},
				After:   []spec.Gate{{Node: "pick"}, {Node: "one"}},
				Event:   &no,
				OnError: "last_good", Priority: "low"},
			{Name: "one", Kind: "expr", Config: expr.Declared{Expr: spec.Expr{Text: "1"}}, OnError: "dead_letter",
				Priority: "normal"},
			{Name: "two", Kind: "expr", Config: expr.Declared{Expr: spec.Expr{Text: "true"}}, OnError: "fail_epoch",
				Priority: "normal"},
		},
		Outputs: []spec.Output{
			{Name: "a", From: "low", Sink: spec.Sink{Kind: "stdout", Config: stdout.Declared{}}, Emit: "on_change",
				OnError: "dead_letter", Retry: defaultRetry, Timeout: 10 * time.Second},
			{
				Name: "b", From: "pushed", Sink: spec.Sink{
					Kind: "file", Config: sinkfile.Declared{Path: "out.ndjson", Format: "ndjson"},
				}, Emit: "each", OnError: "block", Retry: defaultRetry, Timeout: 10 * time.Second,
			},
			{Name: "c", From: "both", Sink: spec.Sink{Kind: "websocket", Config: websocket.Declared{}}, Emit: "each",
				Where: spec.Expr{Text: "value > 2"}, EmitNull: true, Fresh: 5 * time.Second,
				OnError: "block", Retry: defaultRetry, Timeout: 10 * time.Second},
			{Name: "d", From: "both", Sink: spec.Sink{Kind: "drop", Config: drop.Declared{}}, Emit: "each",
				OnError: "block", Retry: defaultRetry, Timeout: 10 * time.Second},
		},
		Durability:  spec.Durability{Mode: "none", Interval: 2 * time.Second, EveryEpochs: 10, OnFailure: "halt"},
		History:     spec.History{Keep: 0},
		DeadLetters: spec.DeadLetters{Keep: 24 * time.Hour, Max: 10, MaxBytes: 1024},
		Limits:      limits.Limits{EventsPerSecond: 1000, CPU: 0.5, Memory: 256 << 20},
		Hash:        got.Hash,
	}
	for i := range want.Accumulators {
		want.Accumulators[i].StrategyFrom = []string{"accumulator", "reactor"}[min(i, 1)]
	}
	if diff := cmp.Diff(want, got, exported); diff != "" {
		t.Error(diff)
	}
}

// Positions are those of the name, the value or the kind, whichever a later
// diagnostic would point at.
func TestPositions(t *testing.T) {
	t.Parallel()
	g := mustParse(t, `graph: g
vars: { limit: 3 }
accumulators:
  a:
    source: { file: { path: a.csv } }
    schema: { type: object }
    where: event.x > 1
reactor: { guard: a.x > 1 }
nodes:
  pick: { route: { yes: a.x > 2 } }
  n: { after: pick.yes, expr: a.x }
outputs:
  o: { from: n, sink: { drop: {} } }
`)
	a := &g.Accumulators[0]
	for _, c := range []struct {
		got  spec.Pos
		want string
	}{
		{g.Vars[0].Pos, "2:9 vars.limit"},
		{a.Pos, "4:3 accumulators.a"},
		{a.Source.Pos, "5:15 accumulators.a.source.file"},
		{a.SchemaPos, "6:13 accumulators.a.schema"},
		{a.Where.Pos, "7:12 accumulators.a.where"},
		{g.Reactor.Pos, "8:1 reactor"},
		{g.Reactor.Guard.Pos, "8:19 reactor.guard"},
		{g.Nodes[0].Pos, "10:3 nodes.pick"},
		{exprOf(&g.Nodes[0]).Pos, "10:25 nodes.pick.route.yes"},
		{g.Nodes[1].After[0].Pos, "11:15 nodes.n.after"},
		{exprOf(&g.Nodes[1]).Pos, "11:31 nodes.n.expr"},
		{g.Outputs[0].Pos, "13:3 outputs.o"},
		{g.Outputs[0].FromPos, "13:14 outputs.o.from"},
		{g.Outputs[0].Sink.Pos, "13:25 outputs.o.sink.drop"},
	} {
		if got := fmt.Sprintf("%d:%d %s", c.got.Line, c.got.Column, c.got.Path); got != c.want {
			t.Errorf("got %s, want %s", got, c.want)
		}
	}
}

// Every input has its strategy after Parse; what does not trigger is never queued (M8, M9).
func TestStrategies(t *testing.T) {
	t.Parallel()
	const inputs = "accumulators: { a: {}, b: { strategy: latest }, c: { passive: true }, d: { global: true }, e: { " +
		"strategy: sequential, sync_group: x }, f: { batch: { size: 2 } }, " +
		"g: { sync_group: x }, h: { strategy: burst } }\n"
	for _, c := range []struct{ reactor, want, unsaid string }{
		{"reactor: {}", "latest latest latest latest sequential sequential latest burst", "a"},
		{"reactor: { strategy: latest }", "latest latest latest latest sequential latest latest burst", ""},
		{
			"reactor: { strategy: sequential }",
			"sequential latest latest latest sequential sequential sequential burst", "",
		},
		{
			"reactor: { strategy: sequential, when: { any: [b, e, h] } }",
			"latest latest latest latest sequential latest latest burst", "",
		},
		{"reactor: { when: { any: [b, e, h] } }", "latest latest latest latest sequential latest latest burst", ""},
	} {
		g := mustParse(t, "graph: g\n"+inputs+c.reactor)
		var got []string
		unsaid := ""
		for _, a := range g.Accumulators {
			if got = append(got, a.Strategy); a.Unsaid(g.Reactor) {
				unsaid += a.Name
			}
		}
		if strings.Join(got, " ") != c.want || unsaid != c.unsaid {
			t.Errorf("%s: got %v, want %s; unsaid %s, want %s", c.reactor, got, c.want, unsaid, c.unsaid)
		}
	}
}

// The declarations of the manual parse; what is not built yet is named, and nothing else.
func TestManual(t *testing.T) {
	t.Parallel()
	for file, want := range map[string][]string{
		"market_maker":   {},
		"airport_delays": {},
	} {
		g, diags := parse([]byte(readFile(t, "testdata/manual/"+file+".yaml")), spec.Options{File: file})
		if got := codes(diags); !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", file, got, want)
		}
		if g == nil || g.Name != file || len(g.Nodes) == 0 || exprOf(&g.Nodes[0]).IsZero() {
			t.Errorf("%s: the graph is not as complete as possible: %+v", file, g)
		}
	}
}

func TestReferences(t *testing.T) {
	t.Parallel()
	g := mustParse(t, readFile(t, "testdata/valid/references.yaml"))
	want := []spec.Var{
		{Name: "plain", Value: int64(64)}, {Name: "quoted", Value: "64"}, {Name: "part", Value: "capacity 64 of many"},
		{Name: "literal", Value: "${CAPACITY}"}, {Name: "token", Value: secret}, {Name: "empty", Value: "was empty"},
		{Name: "nested", Value: map[string]any{"a": []any{"64"}}},
	}
	if diff := cmp.Diff(want, g.Vars, exported); diff != "" {
		t.Error(diff)
	}
	a, b := g.Accumulators[0], g.Accumulators[1]
	if a.Capacity != 64 || a.Strategy != "sequential" || a.Source.Config.(file.Declared).Path != "events.ndjson" ||
		a.Source.Config.(file.Declared).Format != "ndjson" || a.Passive {
		t.Errorf("got %+v", a)
	}
	if b.Config.(batch.Declared).Interval != 5*time.Second || !b.Passive || b.Default != secret {
		t.Errorf("got %+v", b)
	}
	if g.Name != "fallback" || g.Reactor.When != "all" || g.Durability.Mode != "none" ||
		g.Durability.EveryEpochs != 64 || g.Outputs[0].From != "a" {
		t.Errorf("got %+v", g)
	}
}

// Without a resolver a default still stands, and nothing else does.
func TestNoResolver(t *testing.T) {
	t.Parallel()
	g, diags := parse([]byte("graph: g\nvars: { a: \"${A:-1}\", b: \"${B}\" }\naccumulators: { a: {} }"),
		spec.Options{})
	if got := codes(diags); !slices.Equal(got, []string{"vars.b unset_variable"}) {
		t.Errorf("got %v", got)
	}
	if len(g.Vars) != 1 || g.Vars[0].Value != "1" {
		t.Errorf("got %v", g.Vars)
	}
}

// Each reference is asked for once, so that all its places see the same value.
func TestResolvedOnce(t *testing.T) {
	t.Parallel()
	asked := 0
	g, diags := parse([]byte("graph: g\nvars: { a: \"${N}\", b: \"${N}\" }\naccumulators: { a: {} }"),
		spec.Options{Resolve: func(string) (string, bool, error) {
			asked++
			return fmt.Sprint(asked), true, nil
		}})
	if len(diags) > 0 || asked != 1 || g.Vars[1].Value != "1" {
		t.Errorf("asked %d times, got %v, %v", asked, g.Vars, diags)
	}
}

func TestReferenceErrorsNameTheCause(t *testing.T) {
	t.Parallel()
	_, diags := parse([]byte("graph: g\nvars: { a: \"${file:/run/x}\" }\naccumulators: { a: {} }"),
		spec.Options{Resolve: func(string) (string, bool, error) {
			return "", false, fmt.Errorf("read it:\n%w", errors.New("disk on fire"))
		}})
	if len(diags) != 1 || diags[0].Code != decode.CodeReferenceFailed ||
		!strings.HasSuffix(diags[0].Text, ": disk on fire") {
		t.Errorf("got %v", diags)
	}
}

func TestBounds(t *testing.T) {
	t.Parallel()
	many := func(what, entry string, n int) string {
		var b strings.Builder
		b.WriteString(what + ":\n")
		for i := range n {
			fmt.Fprintf(&b, "  x%d: %s\n", i, entry)
		}
		return b.String()
	}
	const head = "graph: g\naccumulators: { a: {} }\n"
	for _, c := range []struct{ name, text, want string }{
		{"bytes", "graph: g\n" + strings.Repeat("#", 1<<20), "too_large"},
		{"accumulators", "graph: g\n" + many("accumulators", "{}", decode.MaxEntries+1), "too_many"},
		{"nodes", head + many("nodes", "{expr: a}", decode.MaxEntries+1), "too_many"},
		{"outputs", head + many("outputs", "{from: a, sink: {drop: {}}}", decode.MaxEntries+1), "too_many"},
		{"subset", head + "reactor: { when: { any: [" + strings.Repeat("a,", decode.MaxEntries+1) + "] } }",
			"too_many"},
		{"key", head + "vars: { x: { " + strings.Repeat("k", 256+1) + ": 1 } }", "too_large"},
		{"name", head + "vars:\n  ? " + strings.Repeat("k", 1<<19) + "\n  : 1\n", "too_large"},
		{"depth", head + "vars: { x: " + strings.Repeat("[", 500) + strings.Repeat("]", 500) + " }", "too_deep"},
		{"nesting", head + "vars:\n  x:\n    " + strings.Repeat("- ", 9000) + "1", "too_deep"},
	} {
		_, diags := parse([]byte(c.text), spec.Options{})
		if len(diags) != 1 || diags[0].Code != c.want {
			t.Errorf("%s: got %.300v, want one %s", c.name, diags, c.want)
			continue
		}
		wellFormed(t, diags[0])
		if n := len(diags[0].String()); n > 500 {
			t.Errorf("%s: the diagnostic has %d bytes", c.name, n)
		}
	}
	// What is just within the bounds is fine.
	text := "graph: g\n" + many("accumulators", "{}", decode.MaxEntries)
	if _, diags := parse([]byte(text), spec.Options{}); len(diags) > 0 {
		t.Errorf("got %.300v", diags)
	}
	if _, diags := parse([]byte(head), spec.Options{MaxBytes: len(head)}); len(diags) > 0 {
		t.Errorf("got %v", diags)
	}
	if _, diags := parse([]byte(head), spec.Options{MaxBytes: len(head) - 1}); len(diags) != 1 ||
		diags[0].Code != decode.CodeTooLarge {
		t.Errorf("got %v", diags)
	}
}

// A long list of mistakes ends with a word that it was cut; references cannot
// multiply what a small document costs.
func TestCutShort(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	b.WriteString("graph: g\naccumulators:\n")
	for i := range 3000 {
		fmt.Fprintf(&b, "  a%d: { capacty: 1 }\n", i)
	}
	_, diags := parse(b.Bytes(), spec.Options{})
	if len(diags) != 1000+1 || diags[1000].Code != decode.CodeTooManyErrors {
		t.Errorf("got %d diagnostics, the last %v", len(diags), diags[len(diags)-1])
	}

	text := "graph: g\naccumulators: { a: {} }\nvars:\n  x: \"" + strings.Repeat("${BIG}", 100) + "\"\n"
	_, diags = parse([]byte(text), spec.Options{Resolve: func(string) (string, bool, error) {
		return strings.Repeat("x", 1<<16), true, nil
	}})
	if got := codes(diags); !slices.Equal(got, []string{"vars.x too_large"}) {
		t.Errorf("got %v", got)
	}
}

// The text form is what editors understand.
func TestDiagnosticString(t *testing.T) {
	t.Parallel()
	_, diags := parse([]byte("graph: g\naccumulators:\n  a: { sorce: {} }\n"), spec.Options{File: "g.yaml"})
	const want = `g.yaml:3:8: unknown_field: an accumulator has no field "sorce"; remove it or correct its name ` +
		`(did you mean source?)`
	if got := diags.Err(); got == nil || got.Error() != want {
		t.Errorf("got %v, want %s", got, want)
	}
	if diags[0].Path != "accumulators.a.sorce" {
		t.Errorf("got path %s", diags[0].Path)
	}
}

// A nil graph means that nothing could be made of the document.
func TestNothing(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "---", "a: [1, 2\nb: 3", "graph: \"x", "\xff"} {
		if g, diags := parse([]byte(text), spec.Options{}); g != nil || len(diags) == 0 {
			t.Errorf("%q: got %v and %v", text, g, diags)
		}
	}
	for _, text := range []string{"[]", "x", "{}"} {
		if g, diags := parse([]byte(text), spec.Options{}); g == nil || len(diags) == 0 {
			t.Errorf("%q: got %v and %v", text, g, diags)
		}
	}
}
