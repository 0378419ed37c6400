package language_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/graphd/graphd/internal/builtin"
	"github.com/graphd/graphd/internal/expression"
	"github.com/graphd/graphd/internal/language"
	"github.com/graphd/graphd/internal/language/text"
)

const shop = `graph: shop
vars: { limit: 5, near: { cents: 10 } }
accumulators:
  orders:
    schema:
      type: object
      additionalProperties: false
      properties:
        id: { type: string }
        side: { enum: [buy, sell] }
        at: { type: string, format: date-time }
        price: { type: number }
        lines:
          type: array
          items: { type: object, properties: { sku: { type: string }, count: { type: integer } } }
    time: event.at
    where: event.price > vars.limit
  payments:
    schema:
      type: object
      properties: { id: { type: string }, at: { type: string, format: date-time }, paid: { type: number } }
    time: event.at
  both: { join: { left: orders, right: payments, on: id, within: 1m, type: left } }
  hours: { from: total, time: event.at, window: { tumbling: 1h, aggregate: { most: max(event.sum), n: count() } } }
  loose: { where: event.kind == "a" }
  merchants:
    table: { key: event.id }
    schema: { type: object, properties: { id: { type: string }, city: { type: string } } }
reactor: { when: { any: [both, hours, loose] }, guard: both.left.price > 1 }
nodes:
  total: { expr: '{ "at": both.at, "sum": both.left.price }' }
  open:
    expr: loose.weight + loose.size
  shown: { expr: 'hours.most ?? 0' }
outputs:
  shown: { from: shown, where: value > 1, sink: { drop: {} } }
  total: { from: total, sink: { drop: {} } }
`

// offered is what can be put at the mark ‸ of the text once something in it is another.
func offered(t *testing.T, was, is string) map[string]language.Offer {
	t.Helper()
	if !strings.Contains(shop, was) {
		t.Fatalf("there is no %q", was)
	}
	return complete(t, strings.Replace(shop, was, is, 1))
}

// complete is what can be put at the mark ‸ of a document.
func complete(t *testing.T, doc string) map[string]language.Offer {
	t.Helper()
	before, after, marked := strings.Cut(doc, "‸")
	if !marked {
		t.Fatalf("no cursor in %q", doc)
	}
	kinds := new(builtin.Kinds)
	grammar, err := language.NewGrammar(kinds.Schema())
	if err != nil {
		t.Fatal(err)
	}
	at, ok := language.At(before+after, len(before))
	if !ok {
		t.Fatalf("no place in %q", doc)
	}
	a := language.Around{Grammar: grammar,
		Ask: func(marked string, told func(expression.Found)) {
			kinds.Ask(t.Context(), "default", []byte(marked), "", told)
		}}
	for _, x := range []*language.Index{at.Index(text.New(before + after)), language.NewIndex(text.New(shop))} {
		if x != nil {
			a.Files = append(a.Files, x)
		}
	}
	items, _ := a.Complete(at)
	all := map[string]language.Offer{}
	for _, i := range items {
		all[i.Label] = i
	}
	return all
}

// Behind a dot stand the fields of what is before it, wherever an expression is and however little of it is there; by
// itself what the expression can read and call.
func TestComplete(t *testing.T) {
	t.Parallel()
	if _, diags := new(builtin.Kinds).Parse([]byte(shop), ""); len(diags) > 0 {
		t.Fatal(diags)
	}
	const node = "loose.weight + loose.size"
	for _, c := range []struct{ was, is, offered, not string }{
		{"event.price > vars.limit", "event.‸", "id at price lines", "paid orders event abs"},
		{"event.price > vars.limit", "event.pr‸", "price", "id"},
		{"event.price > vars.limit", "event.price > vars.‸", "limit near", "price"},
		{"event.price > vars.limit", "event.price > (vars.near.‸", "cents", "limit"},
		{"event.price > vars.limit", "any(event.lines, .‸", "sku count", "id price"},
		{"event.price > vars.limit", "any(event.lines, .count > 1 and .‸)", "sku count", "id"},
		{"event.price > vars.limit", "event.lines[0].‸ == 1", "sku count", "id"},
		{node, "both.at.‸", "Hour Unix", "left Hours sku"},
		{"event.price > vars.limit", "let o = event; o.‸", "id price", "sku"},
		{"event.price > vars.limit", "‸", "event meta vars abs any", "orders ema now fresh both"},
		{"    time: event.at\n    where", "    time: event.‸\n    where", "at id", "paid"},
		{"on: id", "on: ‸", "id at", "orders"},
		{"key: event.id", "key: event.‸", "id city", "paid price"},
		{"max(event.sum)", "max(event.‸)", "at sum", "price most"},
		{"max(event.sum)", "event.‸", "at sum", "price"},
		{"max(event.sum), n: count() } } }\n  loose: { where: event.kind",
			"max(event.‸) } } }\n  loose: { where: event.kind ==",
			"at sum", "price"}, // with a mistake elsewhere
		{"max(event.sum)", "ma‸", "max", "min"},
		{"max(event.sum)", "‸", "event vars max first", "both"},
		{"guard: both.left.price > 1", "guard: both.‸", "left right matched at key", "paid abs price"},
		{"guard: both.left.price > 1", "guard: (both.matched > (both.left.‸", "price lines", "both matched"},
		{"guard: both.left.price > 1", "guard: bo‸", "both", "total"},
		{node, "hours.‸", "start end most n", "sum price"},
		{node, "both.‸", "left right at key matched", "start price"},
		{node, "total.‸", "at sum", "price"},
		{node, "'total?.‸'", "at sum", "price"},
		{node, "total.sum + ‸", "total both hours vars ema now abs", "event value"},
		{node, "'(total ?? total).‸'", "at sum", ""},
		{node, "merchants[both.key].‸", "id city", "price"},
		{node, "filter(values(merchants), .‸", "id city", "price"},
		{node, "merchants[both.left.‸", "id price", "city"},
		{node, "total.sum > both.‸ ? 1 : ", "left", "sum"},
		{node, "f(1, both.‸", "left", "sum"},
		{node, `'{ "a": both.key, "b": both.right.‸'`, "paid", "a price"},
		{node, "loose.size + loose.‸", "weight", "kind"},
		{"value > 1, sink", "va‸, sink", "value vars", "event"},
		{"from: shown, where: value > 1", "from: total, where: value.‸", "at sum", "price"},
		{`event.kind == "a"`, "event.‸", "kind", "at price weight"},
		{"event.price > vars.limit", `event.side == "‸`, "buy sell", "event abs vars"},
		{"event.price > vars.limit", `event.side != "‸" and event.price > 1`, "buy sell", "event abs"},
		{"event.price > vars.limit", `event.side in ["buy", "s‸`, "sell", "buy"},
		{"event.price > vars.limit", `"event.side == \"‸\""`, "buy sell", "event"},
		{"event.price > vars.limit", `'event.side == ''b‸'''`, "buy", "sell"},
		{`event.kind == "a"`, `event.kind == "‸`, "", "event abs vars a"},
		{`event.kind == "a"`, `event.kind == "a" and ‸`, "event abs", ""},
		{node, `both.left.side == "‸`, "buy sell", "both"},
		{"any: [both, hours, loose]", "any: [both, ‸, loose]", "hours", "both loose merchants"},
		{node, "‸", "total shown", "open"},
		{node, "‸\n    delay: [open]", "total open", ""},
		{node, "total\n    delay: [‸]", "total open", ""},
	} {
		got := offered(t, c.was, c.is)
		for word := range strings.FieldsSeq(c.offered) {
			if _, ok := got[word]; !ok {
				t.Errorf("%s: %s is not offered: %v", c.is, word, labels(got))
			}
		}
		for word := range strings.FieldsSeq(c.not) {
			if _, ok := got[word]; ok {
				t.Errorf("%s: %s is offered", c.is, word)
			}
		}
	}
	if got := offered(t, node, "total.‸")["sum"]; got.Detail != "float" || got.Sort != language.SortMember {
		t.Errorf("a field has its type: %+v", got)
	}
	got := offered(t, "max(event.sum), n: count() } } }\n  loose: { where: event.kind",
		"max(event.‸) } } }\n  loose: { where: event.kind ==")["sum"]
	if got.Detail != "float" {
		t.Errorf("beside a mistake elsewhere a stage's field has its type: %+v", got)
	}
	if got := offered(t, node, "both.left.‸")["side"]; got.Detail != "buy, sell" {
		t.Errorf("an enum says what it can be: %+v", got)
	}
	if got := offered(t, node, "tot‸")["total"]; got.Detail != "node expr" || got.About != "{at: time, sum: float}" {
		t.Errorf("a name says what it is: %+v", got)
	}
	if got := offered(t, node, "spl‸")["split"]; got.Detail != "split(text, separator[, most])" {
		t.Errorf("a function says how it is called: %+v", got)
	}
}

// Of a document that cannot be read as it stands, with brackets and quotes open and more of it below, what it reads
// elsewhere is offered, and never what stands in for the word.
func TestCompleteWhereBracketsAreOpen(t *testing.T) {
	t.Parallel()
	const doc = "graph: g\naccumulators:\n  a: { schema: { type: object, properties: { x: { type: number } } } }\n" +
		"  b: {}\nnodes:\n"
	for text, want := range map[string]string{
		"  n: { expr: a.‸":                                       "x",
		"  n: { expr: b.‸":                                       "",
		"  m: { expr: b.y }\n  n: {\n    expr: b.‸":              "y",
		"  n: { expr: b.‸\n  m: { expr: b.y }\n":                 "y",
		"  n: { expr: \"b.‸\n  m: { expr: b.y }\n":               "y",
		"  n: { expr: b.x + b.‸\n  m: { expr: b.y }\n":           "x y",
		"  n: { expr: '{ \"s\": b.‸\n  m: { expr: b.y }\n":       "y",
		"  n: { expr: a.‸\noutputs:\n  o: { from: n, sink: {":    "x",
		"  n: { expr: a.x + b.‸ }\n  m: { expr: 'b.y + b.z' }\n": "y z",
	} {
		got := labels(complete(t, doc+text))
		got = slices.DeleteFunc(got, func(name string) bool { return name[0] >= 'A' && name[0] <= 'Z' }) // methods
		if !slices.Equal(got, strings.Fields(want)) {
			t.Errorf("%q: %v, want %s", text, got, want)
		}
	}
	got := complete(t, doc+"  n: { expr: 'm.‸ + o.y' }\n  m: { expr: '{ \"s\": n.z }' }\n")
	for label, o := range got {
		if strings.Contains(label+o.Detail+o.About+o.Text, expression.Cursor) {
			t.Errorf("%+v", o)
		}
	}
}

func labels(all map[string]language.Offer) (names []string) {
	for name := range all {
		names = append(names, name)
	}
	slices.Sort(names)
	return names[:min(len(names), 30)]
}
