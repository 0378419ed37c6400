package spec_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/graphd/graphd/internal/spec"
)

// The hash is of the meaning: formatting, comments, defaults written out, order
// where it means nothing and what references resolve to make no difference.
func TestHashIsOfTheMeaning(t *testing.T) {
	t.Parallel()
	const text = `
graph: g
vars: { a: 1, b: "${SECRET}" }
accumulators:
  x: { emit: { p: event.p, q: event.q }, default: { k: 1, l: [2] } }
  y: {}
reactor: { when: { any: [x, y] } }
nodes:
  n: { expr: x.p + y.v }
  m: { expr: n, after: [n, l] }
  l: { expr: n, after: { all: [n] } }
outputs:
  o: { from: n, sink: { stdout: {} } }
`
	want := mustParse(t, text).Hash
	if len(want) != 64 {
		t.Fatalf("got hash %q", want)
	}
	for name, same := range map[string]string{
		"comment": strings.Replace(text, "graph: g", "# about\ngraph: g # it", 1),
		"quotes":  strings.Replace(text, "expr: x.p + y.v", "expr: 'x.p + y.v'", 1),
		"after":   strings.Replace(text, "[n, l]", "[l, n]", 1),
		"one":     strings.Replace(text, "after: { all: [n] }", "after: n", 1),
		"block":   strings.Replace(text, "{ expr: x.p + y.v }", "\n    expr: |\n      x.p + y.v", 1),
		"default": strings.Replace(text, "y: {}",
			"y: { capacity: 1024, strategy: latest, source: { websocket: {} }, passive: false }", 1),
		"vars":          strings.Replace(text, `{ a: 1, b: "${SECRET}" }`, `{ b: "${SECRET}", a: 1 }`, 1),
		"emit":          strings.Replace(text, "{ p: event.p, q: event.q }", "{ q: event.q, p: event.p }", 1),
		"default value": strings.Replace(text, "{ k: 1, l: [2] }", "{ l: [2], k: 1 }", 1),
		"subset":        strings.Replace(text, "[x, y]", "[y, x]", 1),
		"units":         strings.Replace(text, "reactor: {", "reactor: { warm_timeout: 0.5m,", 1),
		"parts":         "history: {}\n" + text,
		"json": `{"graph": "g", "vars": {"a": 1, "b": "${SECRET}"}, 
			"accumulators": {"x": {"emit": {"p": "event.p", "q": "event.q"}, "default": {"k": 1, "l": [2]}}, "y": {}},
			"reactor": {"when": {"any": ["x", "y"]}},
			"nodes": {"n": {"expr": "x.p + y.v"}, "m": {"expr": "n", "after": ["n", "l"]}, 
				"l": {"expr": "n", "after": ["n"]}},
			"outputs": {"o": {"from": "n", "sink": {"stdout": {}}}}}`,
	} {
		if got := mustParse(t, same).Hash; got != want {
			t.Errorf("%s: the hash differs:\n%s", name, strings.Join(spec.Diff(mustParse(t, text), mustParse(t, same)),
				"\n"))
		}
	}
	for name, other := range map[string]string{
		"name":        strings.Replace(text, "graph: g", "graph: h", 1),
		"description": strings.Replace(text, "graph: g", "graph: g\ndescription: d", 1),
		"var":         strings.Replace(text, "a: 1", "a: 2", 1),
		"float":       strings.Replace(text, "a: 1", "a: 1.0", 1),
		"text":        strings.Replace(text, "a: 1", "a: '1'", 1),
		"reference":   strings.Replace(text, "${SECRET}", "${SECRET:-x}", 1),
		"its text":    strings.Replace(text, "${SECRET}", secret, 1),
		"literal":     strings.Replace(text, "${SECRET}", "$${SECRET}", 1),
		"expression":  strings.Replace(text, "x.p + y.v", "x.p - y.v", 1),
		"field":       strings.Replace(text, "q: event.q", "r: event.q", 1),
		"emit kind":   strings.Replace(text, "{ p: event.p, q: event.q }", "'{p: event.p, q: event.q}'", 1),
		"order":       strings.Replace(text, "  y: {}\n", "", 1) + "\n",
		"capacity":    strings.Replace(text, "y: {}", "y: { capacity: 5 }", 1),
		"list":        strings.Replace(text, "[2]", "[2, null]", 1),
		"subset":      strings.Replace(text, "[x, y]", "[x]", 1),
		"criteria":    strings.Replace(text, "any: [x, y]", "all: [x, y]", 1),
		"any or all":  strings.Replace(text, "[n, l]", "{ all: [n, l] }", 1),
		"after":       strings.Replace(text, "[n, l]", "[n]", 1),
		"event":       strings.Replace(text, "{ expr:", "{ event: false, expr:", 1),
		"sink":        strings.Replace(text, "stdout: {}", "drop: {}", 1),
		"history":     text + "history: { keep: 5 }\n",
	} {
		g, _ := parse([]byte(other), spec.Options{Resolve: environment})
		if g.Hash == want {
			t.Errorf("%s: the hash is the same", name)
		}
	}
	if g := mustParse(t, text); g.Fingerprint() != g.Hash {
		t.Error("the fingerprint of an unchanged graph is not its hash")
	}
}

// The order of a route is part of what it means, in both of its forms, which mean the same.
func TestOrderOfRoutes(t *testing.T) {
	t.Parallel()
	hash := func(route string) string {
		return mustParse(t, "graph: g\naccumulators: { a: {} }\nnodes: { n: { route: "+route+" } }\n").Hash
	}
	want := hash("{ wide: a.n > 5, narrow: true }")
	for _, same := range []string{
		`[{ wide: a.n > 5 }, { narrow: true }]`, `[{"wide": "a.n > 5"}, {"narrow": "true"}]`,
	} {
		if hash(same) != want {
			t.Errorf("%s means something else", same)
		}
	}
	for _, other := range []string{"{ narrow: true, wide: a.n > 5 }", "[{ narrow: true }, { wide: a.n > 5 }]"} {
		if hash(other) == want {
			t.Errorf("%s means the same", other)
		}
	}
}

// Neither hash nor diff knows what references resolve to, also where a default
// follows from one.
func TestReferencesTakeNoPart(t *testing.T) {
	t.Parallel()
	text := readFile(t, "testdata/valid/references.yaml")
	a := mustParse(t, text)
	b, diags := parse([]byte(text), spec.Options{Resolve: func(ref string) (string, bool, error) {
		value, ok := map[string]string{
			"CAPACITY": "65", "WORD": "latest", "PATH_TO": "other.csv", "SECRET": "x", "INTERVAL": "6s", "YES": "false",
			"file:/run/secrets/token": "y", "NAME": "named", "MODE": "checkpoint", "WHEN": "any", "OUT": "p",
			"EMIT": "on_change",
		}[ref]
		return value, ok, nil
	}})
	if len(diags) > 0 {
		t.Fatal(diags)
	}
	if a.Hash != b.Hash {
		t.Errorf("the hashes differ:\n%s", strings.Join(spec.Diff(a, b), "\n"))
	}
	if lines := spec.Diff(nil, a); strings.Contains(strings.Join(lines, "\n"), secret) {
		t.Error("the diff shows a secret")
	}
	for old, new := range map[string]string{
		"strategy: ${WORD}": "strategy: latest", "capacity: ${CAPACITY}": "capacity: ${CAPACITY:-9}",
		"when: \"${WHEN:-all}\"": "when: any",
	} {
		if other := mustParse(t, strings.Replace(text, old, new, 1)); a.Hash == other.Hash {
			t.Errorf("%s: a reference hides the difference", new)
		}
	}
	lines := spec.Diff(a, mustParse(t, strings.Replace(text, "token: ${SECRET}", "token: known", 1)))
	if want := []string{`changed vars.token: ${SECRET} → "known"`}; !slices.Equal(lines, want) {
		t.Errorf("got %q, want %q", lines, want)
	}
}

func TestDiff(t *testing.T) {
	t.Parallel()
	a := mustParse(t, `
graph: g
vars: { limit: 1, gone: [1] }
accumulators: { a: {}, b: { batch: { size: 3 } }, c: { schema: { type: object } } }
nodes:
  n: { expr: a.x }
  r: { route: { yes: a.x > 1, no: true } }
  old: { expr: "1" }
reactor: { strategy: latest }
outputs: { o: { from: n, sink: { file: { path: p } } } }
`)
	b := mustParse(t, `
graph: g
vars: { limit: 2, list: { k: 1 } }
accumulators: { b: { batch: { size: 3, interval: 1s } }, a: { capacity: 5 }, c: { schema: { type: array } } }
reactor: { when: { all: [a] }, strategy: latest, guard: a.x > 0 }
nodes:
  n: { expr: "a.x +\n  1" }
  r: { route: { no: true, yes: a.x > 1 } }
  new: { expr: "2" }
outputs: { o: { from: r, sink: { drop: {} } } }
`)
	want := []string{
		"changed vars.limit: 1 → 2",
		"added vars.list",
		"removed vars.gone",
		"changed accumulators.b.batch.interval: 0s → 1s",
		"changed accumulators.a.capacity: 1024 → 5",
		`changed accumulators.c.schema.type: "object" → "array"`,
		"reordered accumulators",
		`changed reactor.when: "any" → …`,
		"added reactor.when.all",
		"added reactor.guard: a.x > 0",
		"changed nodes.n.expr: a.x → a.x + 1",
		"reordered nodes.r.route",
		"added nodes.new",
		"removed nodes.old",
		`changed outputs.o.from: "n" → "r"`,
		"added outputs.o.sink.drop",
		"removed outputs.o.sink.file",
	}
	if got := spec.Diff(a, b); !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if got := spec.Diff(a, a); len(got) > 0 {
		t.Errorf("got %q from a graph to itself", got)
	}
	if got := spec.Diff(a, nil); len(got) == 0 || got[0] != `removed graph: "g"` {
		t.Errorf("got %q", got)
	}
}

// What a kind's configuration says counts: a source or sink with another topic is another one.
func TestHashIsOfKafkaToo(t *testing.T) {
	t.Parallel()
	const text = `
graph: g
accumulators:
  a:
    source:
      kafka: { topic: in, start: earliest, brokers: "b:9092", sasl: { username: u, password: "${SECRET}" } }
outputs:
  o: { from: a, sink: { kafka: { topic: out, key: value.k, compression: gzip } } }
`
	want := mustParse(t, text)
	for name, other := range map[string]string{
		"topic":        strings.Replace(text, "topic: in", "topic: im", 1),
		"start":        strings.Replace(text, "start: earliest", "start: latest", 1),
		"brokers":      strings.Replace(text, "b:9092", "c:9092", 1),
		"user":         strings.Replace(text, "username: u", "username: v", 1),
		"password":     strings.Replace(text, "${SECRET}", "plain", 1),
		"sink's topic": strings.Replace(text, "topic: out", "topic: outer", 1),
		"key":          strings.Replace(text, "value.k", "value.l", 1),
		"compression":  strings.Replace(text, "gzip", "zstd", 1),
	} {
		got := mustParse(t, other)
		if got.Hash == want.Hash || len(spec.Diff(want, got)) != 1 {
			t.Errorf("%s: the hash is %s after %s, and the difference %q", name, got.Hash, want.Hash,
				spec.Diff(want, got))
		}
	}
	if shown := strings.Join(spec.Diff(nil, want), "\n") + want.Hash; strings.Contains(shown, secret) {
		t.Error("the password is shown")
	}
}

// Lists that come of one text count as that text was written.
func TestReferencesInKafka(t *testing.T) {
	t.Parallel()
	for _, kafka := range []string{
		`{ topic: "${T}", brokers: "${B}" }`, `{ topics: [a, "${T}"], brokers: ["x:1", "${B}"] }`,
	} {
		var hashes []string
		for _, tail := range []string{"1", "2"} {
			resolve := func(ref string) (string, bool, error) {
				return map[string]string{"T": "t" + tail, "B": "b:" + tail + ",c:" + tail}[ref], true, nil
			}
			text := "graph: g\naccumulators: { a: { source: { kafka: " + kafka + " } } }"
			g, diags := parse([]byte(text), spec.Options{Resolve: resolve})
			if len(diags) > 0 {
				t.Fatal(diags)
			}
			hashes = append(hashes, g.Hash)
		}
		if hashes[0] != hashes[1] {
			t.Errorf("%s: the hash is of what the references resolve to", kafka)
		}
	}
}

// What may be a secret is hidden in a difference, also where it was written into the document or beside a reference.
func TestDiffHidesSecrets(t *testing.T) {
	t.Parallel()
	const text = `
graph: g
accumulators:
  a: { source: { poll: { http: "https://u:hunterN@h/p?token=hunterN", every: 1s, headers: { X: hunterN } } } }
  b: { source: { websocket_client: { url: "wss://u:hunterN@h/p" } } }
  c: { source: { poll: { sql: select 1, key: x, every: 1s, connection: "postgres://u:hunterN@h/d" } } }
outputs:
  o: { from: a, sink: { http: { url: "https://h/hunter?hunterN", headers: { X: "hunterN ${SECRET}" } } } }
  p: { from: a, sink: { kafka: { topic: t, sasl: { username: hunterN, password: hunterN } } } }
  q: { from: a, sink: { postgres: { table: t, dsn: "postgres://u:hunterN@h/d" } } }
  r: { from: a, sink: { http: { url: "https://u:hunterN${SECRET}@h/" } } }
`
	a, b := mustParse(t, strings.ReplaceAll(text, "hunterN", "hunter1")), mustParse(t,
		strings.ReplaceAll(text, "hunterN", "hunter2"))
	want := []string{
		"changed accumulators.a.source.poll.http", "changed accumulators.a.source.poll.headers.X",
		"changed accumulators.b.source.websocket_client.url", "changed accumulators.c.source.poll.connection",
		"changed outputs.o.sink.http.url", "changed outputs.o.sink.http.headers.X",
		"changed outputs.p.sink.kafka.sasl.username", "changed outputs.p.sink.kafka.sasl.password",
		"changed outputs.q.sink.postgres.dsn", "changed outputs.r.sink.http.url",
	}
	if got := spec.Diff(a, b); !slices.Equal(got, want) {
		t.Errorf("got %s", strings.Join(got, "\n"))
	}
	for _, other := range []*spec.Graph{nil, mustParse(t, "graph: g\naccumulators: { a: {}, b: {}, c: {} }\n")} {
		for _, lines := range [][]string{spec.Diff(other, a), spec.Diff(a, other)} {
			if all := strings.Join(lines, "\n"); strings.Contains(all, "hunter1") || strings.Contains(all, "hidden, ") {
				t.Errorf("shown: %s", all)
			}
		}
	}
}

// A reference that resolves to something else is told of by its name.
func TestReread(t *testing.T) {
	t.Parallel()
	read := func(a, b string) *spec.Graph {
		g, diags := parse([]byte("graph: g\nvars: { a: \"${A}\", b: \"${B:-x}\" }\naccumulators: { i: {} }\n"+
			"outputs: { o: { from: i, sink: { drop: {} } } }\n"),
			spec.Options{Resolve: func(ref string) (string, bool, error) {
				value := map[string]string{"A": a, "B": b}[ref]
				return value, value != "", nil
			}})
		if len(diags) > 0 {
			t.Fatal(diags)
		}
		return g
	}
	for _, tt := range []struct {
		a, b *spec.Graph
		want []string
	}{
		{read("1", "2"), read("1", "2"), nil},
		{read("1", "2"), read("1", "3"), []string{"changed the value of a reference: ${B}"}},
		{read("1", "2"), read("2", "2"), []string{"changed the value of a reference: ${A}"}},
	} {
		if got := spec.Reread(tt.a, tt.b); !slices.Equal(got, tt.want) {
			t.Errorf("got %q, want %q", got, tt.want)
		}
	}
}
