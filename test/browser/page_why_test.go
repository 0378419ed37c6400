package browser

import (
	"encoding/json"
	"testing"

	"github.com/graphd/graphd"
	"github.com/graphd/graphd/client"
)

const asked = `graph: orders
accumulators:
  orders: { where: event.amount > 0, strategy: sequential }
  limit: { passive: true, default: { amount: 50 } }
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
	for _, event := range []string{"80", "20", "0", "900"} {
		if _, err := c.Push(t.Context(), "orders", "orders", json.RawMessage(`{"amount":`+event+`}`)); err != nil {
			t.Fatal(err)
		}
	}
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
	shows("firing id", ".panel")
	p.accessible("why", text)
	p.keep("why", false)
	p.now(`[...document.querySelectorAll(".panel button")].find(b => b.textContent === "Later").click()`)
	shows("node alarm comes after route size.large, and size took small", ".panel")
	p.now(`document.querySelector('.panel [aria-label="Close"]').click()`)
	p.now(`[...document.querySelectorAll("button")].find(b => b.textContent === "Ask why not").click()`)
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
