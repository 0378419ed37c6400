package browser

import (
	"encoding/json"
	"testing"

	"github.com/graphd/graphd"
	"github.com/graphd/graphd/client"
)

// shapes are graphs whose pictures have what others do not: a loop and a delay, a join, a stage, shards, and an output
// that cannot deliver.
func shapes() map[string][]byte {
	return map[string][]byte{"loopy": []byte(`graph: loopy
accumulators:
  supply: { source: { generator: { every: 100ms, expr: 10 + i % 5 } } }
  fills: { strategy: sequential, source: { generator: { every: 100ms, expr: '{ "size": i % 3 }' } } }
nodes:
  price: { expr: '(demand ?? 1) / supply + 1' }
  demand: { expr: 10 / price }
  total: { expr: '(total ?? 0) + fills.size', delay: [total] }
loops: { settle: { nodes: [price, demand], max_iterations: 50, until: 'abs(demand - price) < 1e-6',
  on_no_convergence: commit } }
outputs: { o: { from: price, sink: { drop: {} } }, t: { from: total, sink: { drop: {} } } }
`), "dealt": []byte(`graph: dealt
accumulators:
  book: { source: { generator: { every: 50ms, expr: '{ "symbol": "S" + string(i % 9), "bid": 100 + i % 5 }' } } }
reactor: { key: symbol, shards: 4 }
nodes: { double: { expr: book.bid * 2 } }
outputs: { doubles: { from: double, sink: { drop: {} } } }
`), "silent": []byte(`graph: silent
accumulators: { book: {} }
nodes: { n: { expr: book } }
outputs: { o: { from: n, sink: { http: { url: 'http://127.0.0.1:1/' } } } }
`)}
}

// TestPageOfShapes: loops and delays lead back in the picture, shards have a row each, and an output that does not
// deliver says why.
func TestPageOfShapes(t *testing.T) {
	port, _ := run(t, graphd.Config{Declarations: shapes()})
	at, text := "http://localhost:"+port, axe(t)
	b := start(t)
	p := b.open(at + "/graphs/loopy?zoom=whole")
	p.view(1024, "dark")
	p.until("that the picture leads back", `document.querySelectorAll(".line.back").length >= 1 &&
		document.querySelectorAll(".line.delay").length === 1`)
	p.until("values of the loop", `/\d/.test(document.querySelector('[data-id="n:price"] .text').textContent)`)
	p.accessible("loopy", text)
	p.keep("loopy", false)
	p.quiet()
	p = b.open(at + "/graphs/dealt")
	p.view(1024, "light")
	p.until("its shards", `document.querySelectorAll("#shards ~ .scroll tbody tr").length === 4`)
	p.until("firings of several", `new Set([...document.querySelectorAll(".firings tbody button")].map(x =>
		x.textContent.split("/")[0])).size > 1`)
	p.accessible("dealt", text)
	p.keep("dealt", true)
	p.now(`[...document.querySelectorAll(".firings tbody button")].find(x => !x.textContent.startsWith("0/")).click()`)
	p.until("the firing of a shard", `document.querySelectorAll(".panel .nodes li").length === 1 &&
		new URLSearchParams(location.search).get("shard") > 0`)
	p.quiet()
	c, err := client.New(client.Config{BaseURL: at})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Push(t.Context(), "silent", "book", json.RawMessage("1")); err != nil {
		t.Fatal(err)
	}
	p = b.open(at + "/graphs/silent")
	p.view(390, "dark")
	p.until("why nothing is delivered",
		`document.querySelector("#outputs ~ .scroll .wrap").textContent.includes("refused")`)
	p.accessible("silent", text)
	p.keep("silent", true)
	p = b.open(at + "/?health=attention")
	p.until("who needs a look", `document.querySelectorAll(".graphs .body .row").length === 1 &&
		document.querySelector(".c-graph a").textContent === "silent"`)
}
