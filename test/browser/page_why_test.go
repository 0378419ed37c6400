package browser

import (
	"testing"

	"github.com/graphd/graphd"
	"github.com/graphd/graphd/client"
)

const asked = `graph: orders
accumulators:
  orders: { where: event.amount > 0, strategy: sequential }
  limit: { passive: true, default: { amount: 50 } }
  note: { passive: true }
reactor: { guard: orders.amount <= limit.amount * 10 }
nodes:
  size: { route: { large: orders.amount > limit.amount, small: true } }
  alarm: { after: size.large, expr: '"large: " + string(orders.amount)' }
outputs:
  alarms: { from: alarm, sink: { drop: {} } }
`

// TestPageSaysWhy: an epoch in full says why it ran and what came of it, and whoever asks why nothing comes is told
// what has kept it back: of an output, and since when.
func TestPageSaysWhy(t *testing.T) {
	port, _ := run(t, graphd.Config{Declarations: map[string][]byte{"orders": []byte(asked)}})
	at := "http://localhost:" + port
	c, err := client.New(client.Config{BaseURL: at})
	if err != nil {
		t.Fatal(err)
	}
	pushed(t, c, "orders", "orders", `{"amount":80}`, `{"amount":20}`, `{"amount":0}`, `{"amount":900}`)
	text := axe(t)
	p := start(t).open(at + "/graphs/orders?epoch=1")
	p.view(1440, "light")
	shows := func(what, within string) {
		t.Helper()
		p.until(what, `document.querySelector("`+within+`").innerText.includes("`+what+`")`)
	}
	shows("ran because orders had something new, and the guard held", ".panel")
	shows("orders.amount <= limit.amount * 10", ".panel")
	shows("its default", ".panel")
	// Nothing has come of note: it has no value anywhere.
	const note = `document.querySelector('.picture [data-id="i:note"]')`
	p.until("what was absent", note+`.querySelector(".tag").textContent === "absent" && `+note+
		`.querySelector(".text").textContent === "–"`)
	p.until("no value of it", `[...document.querySelectorAll(".panel details")].some(d => !d.querySelector(".value") &&
		/^note absent\s*Nothing has come of it yet.$/.test(d.textContent.trim().replace(/\s+/g, " ")))`)
	p.now(note + `.dispatchEvent(new MouseEvent("click", { bubbles: true }))`)
	shows("None.", ".piece")
	shows("firing id", ".panel")
	p.accessible("why", text)
	p.keep("why", false)
	p.now(`[...document.querySelectorAll(".panel button")].find(b => b.textContent === "Later").click()`)
	shows("node alarm comes after route size.large, and size took small", ".panel")
	p.now(`document.querySelector('.panel [aria-label="Close"]').click()`)
	p.click("main", "Ask why not")
	shows("the guard was false", "main")
	p.until("the amount that the guard was false of", `[...document.querySelectorAll(".read code")].some(c =>
		c.textContent.includes("900"))`)
	p.accessible("why not", text)
	p.keep("why-not", true)
	p.now(`(field => { field.value = "alarms"; field.dispatchEvent(new Event("change", { bubbles: true })) })(
		document.querySelector('[aria-labelledby="silent"] select'))`)
	p.until("the address", `location.search.includes("silent-output=alarms")`)
	shows("route not taken", "main")
	p.quiet()
}

// silences are graphs whose output o is silent, each for another reason, with what is pushed to them and what the page
// says. A route that was not taken is in TestPageSaysWhy.
var silences = map[string]struct {
	declaration string
	push        []string
	says        string
}{
	"guarded": {`graph: guarded
accumulators: { a: {} }
reactor: { guard: a > 10 }
nodes: { n: { expr: a } }
outputs: { o: { from: n, sink: { drop: {} } } }
`, []string{"1"}, "the guard was false of what had come of a: a > 10"},
	"filtered": {`graph: filtered
accumulators: { a: { where: event > 10 } }
nodes: { n: { expr: a } }
outputs: { o: { from: n, sink: { drop: {} } } }
`, []string{"1"}, "the where of input a was false of an event: event > 10"},
	"waiting": {`graph: waiting
accumulators: { a: {}, b: {} }
reactor: { when: { all: [a, b] } }
nodes: { n: { expr: a + b } }
outputs: { o: { from: n, sink: { drop: {} } } }
`, []string{"1"}, "the graph waits for b: when: all takes something new of each; a has come"},
	"paused": {`graph: paused
accumulators: { a: {} }
nodes: { n: { expr: a } }
outputs: { o: { from: n, sink: { drop: {} } } }
`, nil, "the graph is paused by anonymous"},
	"failing": {`graph: failing
accumulators: { a: {} }
nodes: { n: { expr: a } }
outputs: { o: { from: n, sink: { http: { url: "http://127.0.0.1:1/" } }, delivery: outbox } }
`, []string{"1"}, "sink http of output o fails: send to 127.0.0.1:1"},
}

// TestPageNamesWhyAnOutputIsSilent: whoever asks why an output gives nothing is told it in words, first of all.
func TestPageNamesWhyAnOutputIsSilent(t *testing.T) {
	declarations := map[string][]byte{}
	for name, g := range silences {
		declarations[name] = []byte(g.declaration)
	}
	port, _ := run(t, graphd.Config{Declarations: declarations})
	at := "http://localhost:" + port
	c, err := client.New(client.Config{BaseURL: at})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Pause(t.Context(), "paused"); err != nil {
		t.Fatal(err)
	}
	for name, g := range silences {
		pushed(t, c, name, "a", g.push...)
	}
	b := start(t)
	for name, g := range silences {
		p := b.open(at + "/graphs/" + name + "?silent-output=o")
		p.view(1440, "light")
		p.click("main", "Ask why not")
		p.says(`[aria-labelledby="silent"]`, g.says)
		p.quiet()
	}
}
