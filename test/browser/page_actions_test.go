package browser

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/graphd/graphd"
	"github.com/graphd/graphd/client"
)

const limited = `graph: limited
accumulators:
  orders:
    strategy: sequential
    where: event.amount > 0
    schema:
      type: object
      required: [id, amount]
      properties: { id: { type: integer }, amount: { type: number }, side: { enum: [buy, sell] } }
  limit: { passive: true, default: 50 }
reactor: { guard: orders.amount < 1000 }
nodes: { over: { expr: 'orders == nil ? 0.0 : orders.amount - limit' } }
outputs: { excess: { from: over, sink: { drop: {} } } }
`

const keyedLimits = `graph: keyed
accumulators:
  orders: {}
  limit: { passive: true, global: true, default: 50 }
reactor: { key: symbol }
nodes: { over: { expr: 'orders == nil ? 0.0 : orders.amount - limit' } }
outputs: { excess: { from: over, sink: { drop: {} } } }
`

// says waits for a part of the page to have a text.
func (p *page) says(within, text string) {
	p.b.t.Helper()
	p.until(text, fmt.Sprintf(`document.querySelector(%q).innerText.includes(%q)`, within, text))
}

// refused takes out of what the page has complained of that so many requests were refused, which the browser says of
// each.
func (p *page) refused(times int) {
	p.b.t.Helper()
	p.now("1") // what was said before is heard with the answer
	all := len(p.b.said)
	p.b.said = slices.DeleteFunc(p.b.said, func(said string) bool {
		return strings.Contains(said, "the server responded with a status of 4")
	})
	if n := all - len(p.b.said); n != times {
		p.b.t.Errorf("%d requests were refused, not %d", n, times)
	}
}

// TestPageActs: what can be done with a graph by hand says what it will do, does nothing before it is told to, and says
// what it has done.
func TestPageActs(t *testing.T) {
	port, _ := run(t, graphd.Config{Declarations: map[string][]byte{"limited": []byte(limited),
		"keyed": []byte(keyedLimits)}})
	at, text := "http://localhost:"+port, axe(t)
	c, err := client.New(client.Config{BaseURL: at})
	if err != nil {
		t.Fatal(err)
	}
	p := start(t).open(at + "/graphs/limited")
	p.view(1440, "light")
	p.click(".buttons", "Push")
	p.until("the form of its schema", `document.querySelector(".form input[name=amount]")`)
	p.choose(".form input[name=id]", "12345678901234567890")
	p.choose(".form input[name=amount]", "80.5")
	p.choose(".form select", `"sell"`)
	p.says(".act", "It triggers: epoch 1 may run of it")
	p.accessible("push", text)
	p.keep("push", false)
	p.click(".act", "Push")
	p.says("main", "does not fit 64 bits") // nothing is rounded on the way
	p.choose(".form input[name=id]", "9007199254740993")
	p.click(".act", "Push")
	p.says(".act .did", "It was taken")
	p.until("the epoch that ran", `[...document.querySelectorAll(".did a")].some(a => a.textContent === "1")`)
	p.choose(".form input[name=amount]", "-1")
	p.click(".act", "Push")
	p.says(".act .did", "it was left out")
	state, err := c.State(t.Context(), "limited", "")
	want := `{"amount":80.5,"id":9007199254740993,"side":"sell"}`
	if err != nil || string(state.Cache["orders"]) != want {
		t.Errorf("the order is %s, %v", state.Cache["orders"], err)
	}

	p.click(".buttons", "Pause")
	p.says(".act", "Behind epoch 1 nothing fires until it is resumed")
	p.click(".act", "Pause")
	p.says(".act .did", "Paused behind epoch 1.")
	p.click(".buttons", "Push")
	p.choose(".form input[name=amount]", "60")
	p.says(".act", "The graph is paused: it waits until that is over.")
	p.click(".act", "Push")
	p.says(".act .did", "It was taken")
	p.until("that it waits", epochs+` === "1" &&
		document.querySelector("section[aria-labelledby=ready]").innerText.includes("has something new")`)
	pushed(t, c, "limited", "orders", `{"id":3,"amount":70}`, `{"id":4,"amount":90}`)
	p.click(".buttons", "Step")
	p.says(".act", "3 values")
	p.choose(".act input[type=number]", "2")
	p.click(".act", "Step")
	p.says(".act .did", "It has run 2 epochs, to 3.")
	p.click(".buttons", "More")
	p.click(".act", "Drain")
	p.click(".act .actions", "Drain")
	p.says(".act .did", "Nothing fires while it is paused, the outputs have delivered, and a checkpoint covers "+
		"epoch 3. 1 value waits until it is resumed.")
	p.click(".buttons", "Resume")
	p.says(".act", "1 value waits")
	p.click(".act", "Resume")
	p.says(".act .did", "It fires again")
	p.until("the epoch that waited", epochs+` === "4,3,2,1"`)

	p.click(".buttons", "Fire")
	p.says(".act", "Every output puts out its current value: excess to drop")
	p.click(".act", "Fire")
	p.says(".act .did", "Epoch 5 ran: ✓ ok")
	p.says(".act .did", "40")
	p.choose(".act select", "aside")
	p.until("what there is", `document.querySelector(".act textarea").value.includes("50")`)
	p.choose(".act textarea", `{"limit": 20`)
	p.until("that it is no JSON", `document.querySelector(".act .actions button").disabled`)
	p.choose(".act textarea", `{"limit": 20}`)
	p.says(".act .reasons", "limit 50 → 20")
	p.view(390, "dark")
	p.accessible("aside", text)
	p.keep("aside", true)
	p.click(".act", "Fire aside")
	p.says(".act .did", "Epoch 6 ran aside: ✓ ok")
	p.says(".act .did", "70")
	if state, err = c.State(t.Context(), "limited", ""); err != nil || string(state.Cache["limit"]) != "50" {
		t.Errorf("the limit is %s, %v", state.Cache["limit"], err)
	}
	p.choose(".act select", "with")
	p.says(".act .reasons", "none")
	p.choose(".act textarea", `{"limit": 20, "orders": {"id": 9, "amount": 25}}`)
	p.click(".act", "Fire")
	p.says(".act .did", "Epoch 7 ran: ✓ ok")
	p.choose(".act textarea", `{"limits": 20}`)
	p.click(".act", "Fire")
	p.says(".act [role=alert]", "limits")
	p.refused(2)
	p.quiet()

	pushed(t, c, "keyed", "orders", `{"symbol":"A","amount":60}`, `{"symbol":"B","amount":70}`)
	p = p.b.open(at + "/graphs/keyed?do=fire")
	p.until("the key that has fired last", `document.querySelector(".act input[type=search]")`)
	p.choose(".act input[type=search]", "")
	p.says(".act", "Type the key that is to fire")
	p.choose(".act input[type=search]", "A")
	p.until("that nothing more is asked for", `!document.querySelector(".act").innerText.includes("Type the key")`)
	p.click(".act", "Fire")
	p.says(".act .did", "Epoch 3 ran: ✓ ok")
	p.says(".act .did", "10")
}
