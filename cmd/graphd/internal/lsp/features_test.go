package lsp_test

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/graphd/graphd/internal/language/text"
)

const rich = `graph: quotes
vars: { limit: 5 }
accumulators:
  book:
    source: { kafka: { topic: book, start: earliest } }
    schema: { type: object, properties: { bid: { type: number }, ask: { type: number }, size: { type: integer } } }
    where: event.size > vars.limit
    strategy: latest
  trades: { source: { websocket: {} } }
reactor: { when: { any: [book] }, strategy: latest }
lanes:
  heavy: { pool: { max_threads: 2 } }
nodes:
  mid: { expr: (book.bid + book.ask) / 2, lane: heavy }
  decide:
    route: { trade: abs(mid) > vars.limit, hold: true }
  signal:
    after: decide.trade
    expr: '{ "at": mid, "size": book.size ?? 0 }'
outputs:
  signals: { from: signal, sink: { stdout: {} } }
`

// cursor takes the mark ‸ out of a text, and says where it was.
func cursor(t *testing.T, marked string) (string, place) {
	t.Helper()
	before, after, ok := strings.Cut(marked, "‸")
	if !ok {
		t.Fatalf("no cursor in %q", marked)
	}
	return before + after, place(text.New(before + after).Position(len(before)))
}

func at(uri string, p place) map[string]any {
	return map[string]any{"textDocument": map[string]any{"uri": uri}, "position": p}
}

// typed is the document rich once something in it is another, with the cursor.
func typed(old, new string) string {
	if !strings.Contains(rich, old) {
		panic(old)
	}
	return strings.Replace(rich, old, new, 1)
}

type item struct {
	Label, Detail, Documentation string
	TextEdit                     struct {
		Range   text.Range
		NewText string
	}
}

// completions are what can be put at the cursor.
func (e *editor) completions(uri, marked string, version int) map[string]item {
	e.t.Helper()
	doc, p := cursor(e.t, marked)
	e.edit(uri, version, doc)
	var list struct{ Items []item }
	e.result("textDocument/completion", at(uri, p), &list)
	all := map[string]item{}
	for _, i := range list.Items {
		all[i.Label] = i
	}
	return all
}

// What can stand at a place is offered there, and nothing else; also where the document cannot be read as it is.
func TestCompletion(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *editor) {
		e.begin()
		uri := "untitled:rich"
		e.open(uri, rich)
		if got := e.mistakes(uri, 1); slices.ContainsFunc(got, func(m mistake) bool { return m.Severity == 1 }) {
			t.Fatalf("%+v", got)
		}
		for i, c := range []struct {
			marked  string
			offered string // words
			not     string
		}{
			{typed("    strategy: latest\n", "    str‸\n"), "strategy", "source sink"},
			{typed("    strategy: latest\n", "    strategy: ‸\n"), "latest sequential burst", "strategy abs"},
			{typed("strategy: latest }\nlanes", "rate‸ }\nlanes"), "rate_limit", "when strategy"},
			{typed("strategy: latest }\nlanes", "‸ }\nlanes"), "rate_limit strategy guard", "when"},
			{typed("lanes:\n", "li‸\nlanes:\n"), "limits", "graph nodes"},
			{typed("reactor: {", "‸\nreactor: {"), "durability history", "graph nodes reactor"},
			{typed("lane: heavy", "lane: ‸"), "heavy", "book mid"},
			{typed("{ any: [book] }", "{ any: [b‸] }"), "book", "mid trades"},
			{typed("abs(mid)", "ab‸(mid)"), "abs", "book"},
			{typed("abs(mid)", "‸"), "abs book mid trades vars key now", "heavy event signals"},
			{typed("(book.bid + book.ask) / 2", "book.‸"), "bid ask size", "book mid abs"},
			{typed("(book.bid + book.ask) / 2", "'book?.b‸'"), "bid", "ask"},
			{typed("'{ \"at\": mid, \"size\": book.size ?? 0 }'", "'{ \"at\": book.‸"), "bid ask", "mid"},
			{typed("event.size > vars.limit", "ev‸"), "event", "book mid"},
			{typed("event.size > vars.limit", "event.‸"), "bid size", "book"},
			{typed("abs(mid)", "abs(mid) > (book.‸"), "bid ask size", "mid"},
			{typed("abs(mid)", "signal.‸"), "at size", "bid ask"},
			{typed("(book.bid + book.ask) / 2", "'filter([book], .‸"), "bid ask size", "mid"},
			{typed("{ any: [book] }", "{ any: [book] }, guard: book.‸"), "bid ask size", "mid"},
			{typed("signals: { from: signal, ", "signals: { from: signal, where: value.‸, "), "at size", "bid"},
			{typed("event.size > vars.limit", "em‸"), "", "ema"},
			{typed("> vars.limit\n    strategy", "> vars.‸\n    strategy"), "limit", "book"},
			{typed("after: decide.trade", "after: dec‸"), "decide decide.trade decide.hold", "heavy"},
			{typed("after: decide.trade", "after: decide.‸"), "trade hold", "decide"},
			{typed("from: signal,", "from: ‸,"), "signal book reactor", "heavy signals"},
			{typed("kafka: { topic: book, start: earliest }", "ka‸"), "kafka", "topic"},
			{typed("topic: book, ", "topic: book, for‸, "), "", "topic start"},
			{typed("start: earliest", "start: ‸"), "earliest latest", "book"},
			{typed("sink: { stdout: {} }", "sink: { std‸"), "stdout", "kafka"},
			{typed("max_threads: 2", "max_threads: 2, over‸"), "overflow", "max_threads"},
			{"‸", "graph accumulators nodes include", "strategy"},
			{"gr‸", "graph", "nodes"},
			{typed("graph: quotes", "graph: '🙂'\ndescription: '🙂🙂' # 🙂\nhis‸"), "history", "graph"},
			{"graph: g\naccumulators:\n  b: {}\nnodes:\n  n: { expr: b.‸\n  m: { expr: b.y }\n", "y", "b m Hour"},
			{"services:\n  web:\n    ‸", "", "graph strategy"},
		} {
			got := e.completions(uri, c.marked, i+2)
			for word := range strings.FieldsSeq(c.offered) {
				if _, ok := got[word]; !ok {
					t.Errorf("%q: %s is not offered: %v", around(c.marked), word, slices.Sorted(maps.Keys(got)))
				}
			}
			for word := range strings.FieldsSeq(c.not) {
				if _, ok := got[word]; ok {
					t.Errorf("%q: %s is offered", around(c.marked), word)
				}
			}
		}
		got := e.completions(uri, typed("abs(mid)", "🙂 spl‸"), 100)["split"]
		if got.Detail != "split(text, separator[, most])" {
			t.Errorf("the signature: %+v", got)
		}
		got = e.completions(uri, typed("    strategy: latest\n", "    # 🙂\n    strat‸: latest\n"), 101)["strategy"]
		if got.TextEdit.NewText != "strategy" || got.Documentation == "" ||
			got.TextEdit.Range.End.Character-got.TextEdit.Range.Start.Character != 5 {
			t.Errorf("a key with its colon: %+v", got)
		}
		e.finish()
	})
}

func around(marked string) string {
	i := strings.Index(marked, "‸")
	return marked[max(0, i-30):min(len(marked), i+15)]
}

// What graphd explain and the JSON Schema say of a field, how a function is called, and of which type something is.
func TestHover(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *editor) {
		e.begin()
		uri := "untitled:rich"
		e.open(uri, rich)
		e.mistakes(uri, 1)
		for i, c := range []struct{ marked, says string }{
			{typed("strategy: latest }\nlanes", "strat‸egy: latest }\nlanes"), "docs/declaration.md, reactor"},
			{typed("max_threads", "max_‸threads"), "Default: `4`"},
			{typed("abs(mid)", "a‸bs(mid)"), "abs(x)"},
			{typed("abs(mid)", "abs(‸mid)"), "node expr"},
			{typed("abs(mid)", "abs(m‸id)"), "float"},
			{typed("(book.bid", "(bo‸ok.bid"), "accumulator kafka"},
			{typed("(book.bid", "(book.b‸id"), "book.bid: float"},
			{typed("  signal:\n", "  sig‸nal:\n"), "at: float"},
			{typed("vars.limit, hold", "vars.lim‸it, hold"), "vars.limit: int"},
			{typed("decide.trade", "decide.tr‸ade"), "a route of the node decide"},
			{typed("lane: heavy", "lane: he‸avy"), "lane pool"},
			{typed("kafka: {", "kaf‸ka: {"), "docs/kinds.md"},
			{typed("graph: quotes", "gra‸ph: quotes"), "The name of the graph."},
		} {
			doc, p := cursor(t, c.marked)
			e.edit(uri, i+2, doc)
			var h *struct{ Contents struct{ Kind, Value string } }
			if e.result("textDocument/hover", at(uri, p), &h); h == nil || !strings.Contains(h.Contents.Value, c.says) {
				t.Errorf("%q: %+v; want %s", around(c.marked), h, c.says)
			}
		}
		for _, marked := range []string{typed("mid:", "‸ mid:"), "# co‸mment\n", "a: ‸b", "‸"} {
			doc, p := cursor(t, marked)
			e.edit(uri, 50, doc)
			if m := e.ask("textDocument/hover", at(uri, p)); string(m.Result) != "null" {
				t.Errorf("%q: %s", around(marked), m.Result)
			}
		}
		e.finish()
	})
}

// A name leads to where it is declared, in whichever file.
func TestDefinition(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *editor) {
		nodes := "# 🙂\nnodes:\n  mid: { expr: (book.bid + book.ask) / 2, lane: heavy }\n"
		whole := "include: [nodes.yaml]\nx: &shared { a: 1 }\n" + strings.Replace(rich,
			"  mid: { expr: (book.bid + book.ask) / 2, lane: heavy }\n", "", 1)
		dir := written(t, map[string]string{"rich.yaml": whole, "nodes.yaml": nodes,
			"rich_test.yaml": "graph: quotes\ncases:\n  - name: a\n    steps:\n      - push: { trades: {} }\n"})
		main, included := uriOf(filepath.Join(dir, "rich.yaml")), uriOf(filepath.Join(dir, "nodes.yaml"))
		e.begin()
		e.open(main, whole)
		e.mistakes(main, 1)
		e.open(included, nodes)
		e.mistakes(included, 1)
		swap := func(old, new string) string {
			if !strings.Contains(whole, old) {
				t.Fatal(old)
			}
			return strings.Replace(whole, old, new, 1)
		}
		for i, c := range []struct{ marked, uri, before string }{
			{swap("abs(mid)", "abs(m‸id)"), included, "# 🙂\nnodes:\n  "},
			{swap("book.size", "boo‸k.size"), main, "accumulators:\n  "},
			{swap("book.size", "book.si‸ze"), main, "accumulators:\n  "},
			{swap("> vars.limit,", "> vars.l‸imit,"), main, "vars: { "},
			{swap("decide.trade", "dec‸ide.trade"), main, "nodes:\n  "},
			{swap("any: [book]", "any: [‸book]"), main, "accumulators:\n  "},
			{swap("from: signal", "from: signal‸"), main, "hold: true }\n  "},
			{swap("nodes.yaml", "nod‸es.yaml"), included, ""},
			{swap("x: &shared { a: 1 }", "x: &shared { a: 1 }\ny: *sha‸red"), main, "x: "},
		} {
			doc, p := cursor(t, c.marked)
			e.edit(main, i+2, doc)
			var to *struct {
				URI   string
				Range text.Range
			}
			e.result("textDocument/definition", at(main, p), &to)
			in := doc
			if c.uri == included {
				in = nodes
			}
			want := text.New(in).Position(strings.Index(in, c.before) + len(c.before))
			if to == nil || to.URI != c.uri || to.Range.Start != want {
				t.Errorf("%q: %+v; want %v of %s", around(c.marked), to, want, c.uri)
			}
		}
		doc, p := cursor(t, "nodes:\n  mid: { expr: bo‸ok.bid }\n")
		e.edit(included, 2, doc)
		var to *struct{ URI string }
		if e.result("textDocument/definition", at(included, p), &to); to == nil || to.URI != main {
			t.Errorf("from what is included: %+v", to)
		}
		tests := uriOf(filepath.Join(dir, "rich_test.yaml"))
		doc, p = cursor(t, "graph: quotes\ncases:\n  - name: a\n    steps:\n      - push: { tra‸des: {} }\n")
		e.open(tests, doc)
		if e.result("textDocument/definition", at(tests, p), &to); to == nil || to.URI != main {
			t.Errorf("from a test: %+v", to)
		}
		e.finish()
	})
}

func TestSymbols(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *editor) {
		e.begin()
		e.open("untitled:rich", rich)
		type symbol struct {
			Name, Detail          string
			Range, SelectionRange text.Range
			Children              []symbol
		}
		var list []symbol
		e.result("textDocument/documentSymbol", map[string]any{"textDocument": map[string]any{"uri": "untitled:rich"}},
			&list)
		var told []string
		x := text.New(rich)
		for _, s := range list {
			for _, c := range s.Children {
				told = append(told, s.Name+"."+c.Name+":"+c.Detail)
				if r := c.SelectionRange; rich[x.Offset(r.Start):x.Offset(r.End)] != c.Name ||
					x.Offset(c.Range.End) < x.Offset(r.End) {
					t.Errorf("%s is at %v of %v", c.Name, r, c.Range)
				}
			}
		}
		want := "vars.limit: accumulators.book:kafka accumulators.trades:websocket lanes.heavy:pool nodes.mid:expr " +
			"nodes.decide:route nodes.signal:expr outputs.signals:stdout"
		if got := strings.Join(told, " "); got != want {
			t.Errorf("%s; want %s", got, want)
		}
		e.finish()
	})
}

// What was probably meant can be put in the place of what is wrong.
func TestQuickFix(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *editor) {
		e.begin()
		uri := "untitled:rich"
		broken := strings.NewReplacer("strategy: latest }", "stratgy: latest }", "abs(mid)", "abs(midd)").Replace(rich)
		e.open(uri, broken)
		found := e.mistakes(uri, 1)
		var actions []struct {
			Title string
			Edit  struct {
				Changes map[string][]struct {
					Range   text.Range
					NewText string
				}
			}
		}
		e.result("textDocument/codeAction", map[string]any{"textDocument": map[string]any{"uri": uri},
			"context": map[string]any{"diagnostics": append(lowered(found), ofAnother()...)}}, &actions)
		fixed := text.New(broken)
		slices.Reverse(actions) // from the end, so that places stay
		for _, a := range actions {
			for _, c := range a.Edit.Changes[uri] {
				fixed = text.New(fixed.Replace(c.Range, c.NewText))
			}
		}
		if fixed.String() != rich {
			t.Errorf("%d actions for %+v made %s", len(actions), found, fixed)
		}
		e.finish()
	})
}

// ofAnother are diagnostics of another server for the same document, which an editor sends as well.
func ofAnother() []map[string]any {
	at := map[string]int{"line": 0, "character": 0}
	return []map[string]any{{"code": 0, "source": "yaml", "message": "odd", "data": map[string]any{"uri": "x"},
		"range": map[string]any{"start": at, "end": at}}}
}

// lowered are diagnostics as an editor sends them back.
func lowered(found []mistake) (list []map[string]any) {
	for _, m := range found {
		place := func(p place) map[string]int { return map[string]int{"line": p.Line, "character": p.Character} }
		list = append(list, map[string]any{"code": m.Code, "source": m.Source, "message": m.Message, "data": m.Data,
			"range": map[string]any{"start": place(m.Range.Start), "end": place(m.Range.End)}})
	}
	return list
}

// Nothing that can be asked at any place of a document that has been cut anywhere makes a mistake of the server's own.
func TestEveryPlace(t *testing.T) {
	t.Parallel()
	e := inProcess(t)
	e.begin()
	uri := "untitled:rich"
	e.open(uri, rich)
	e.mistakes(uri, 1)
	version := 1
	for cut := 0; cut <= len(rich); cut += 41 {
		version++
		e.edit(uri, version, rich[:cut]+"🙂"+rich[min(len(rich), cut+5):])
		for _, p := range []place{place(text.New(rich).Position(cut)), {0, 0}, {-1, -7}, {1 << 30, 1 << 30}, {cut, 3}} {
			for _, method := range []string{"completion", "hover", "definition"} {
				if m := e.ask("textDocument/"+method, at(uri, p)); m.Error != nil {
					t.Fatalf("%s at %v, cut at %d: %s", method, p, cut, m.Error.Message)
				}
			}
		}
		for _, method := range []string{"documentSymbol", "codeLens", "codeAction"} {
			if m := e.ask("textDocument/"+method, at(uri, place{})); m.Error != nil {
				t.Fatalf("%s, cut at %d: %s", method, cut, m.Error.Message)
			}
		}
	}
	e.finish()
}
