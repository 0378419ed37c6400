package browser

import (
	"fmt"
	"testing"

	"github.com/graphd/graphd"
	"github.com/graphd/graphd/client"
)

const manyKeys = `graph: pairs
description: Waits for the other side of each id.
accumulators:
  left: { strategy: sequential }
  right: { strategy: sequential }
reactor: { key: id, when: all }
nodes: { sum: { expr: left.x + right.x } }
outputs: { o: { from: sum, sink: { drop: {} } } }
`

// TestPageOfKeys: of many keys those are listed that are searched for, in the order that is asked for, a page at a
// time; one is opened with what it has and what of it waits, and leads to its firings.
func TestPageOfKeys(t *testing.T) {
	port, _ := run(t, graphd.Config{Declarations: map[string][]byte{"pairs": []byte(manyKeys)}})
	at, text := "http://localhost:"+port, axe(t)
	c, err := client.New(client.Config{BaseURL: at})
	if err != nil {
		t.Fatal(err)
	}
	const n = 3000
	for from := 0; from < n; from += 1000 {
		var events []byte
		for i := from; i < from+1000; i++ {
			events = fmt.Appendf(events, `{"id":"K%04d","x":%d}`+"\n", i, i)
		}
		if _, err := c.PushAll(t.Context(), "pairs", "left", events); err != nil {
			t.Fatal(err)
		}
	}
	pushed(t, c, "pairs", "right", `{"id":"K0007","x":1}`)
	pushed(t, c, "pairs", "left", `{"id":"K0042","x":1}`)
	p := start(t).open(at + "/graphs/pairs")
	p.view(1440, "light")
	const section = "section[aria-labelledby=keys]"
	listed := fmt.Sprintf(`[...document.querySelectorAll(%q)]`, section+" tbody tr")
	p.says(section, "It has 3,000 keys")
	p.click(section, "Show keys")
	p.until("the last that came", listed+`.length === 100 && /K00(42|07)/.test(`+listed+`[0].textContent)`)
	p.says(section, "3,000 keys")
	p.click(section, "More keys")
	p.until("more", listed+`.length === 200`)
	p.choose(section+" select", "waiting")
	p.until("who has most waiting", listed+`[0].textContent.includes("K0042") && `+listed+
		`[0].querySelector(".number").textContent === "2" && location.search.includes("keys-sort=waiting")`)
	p.choose(section+" input", "k0007")
	p.until("what was searched for", listed+`.length === 1`)
	p.says(section, "1 key of 3,000")
	p.click(section+" tbody", `"K0007"`)
	p.says(section+" .one", "Nothing of it waits.")
	p.until("what its nodes came to", `document.querySelector(".one .value").textContent.includes('"sum": 8')`)
	p.accessible("keys", text)
	p.keep("keys-light-1440", true)
	pushed(t, c, "pairs", "left", `{"id":"K0007","x":2}`)
	p.click(section+" .one", "Look again")
	p.says(section+" .one", "Something of left waits.")
	pushed(t, c, "pairs", "right", `{"id":"K0007","x":5}`)
	p.until("that it has fired", `document.querySelector(".one .value").textContent.includes('"sum": 7')`)
	p.view(390, "dark")
	p.until("that nothing is wider than the page", `document.documentElement.scrollWidth <= innerWidth`)
	p.accessible("keys", text)
	p.keep("keys-dark-390", true)
	p.now(`[...document.querySelectorAll(".one a")].find(a => a.textContent === "Its firings").click()`)
	p.until("its firings", `location.search.includes("key=%22K0007%22") &&
		document.querySelectorAll(".firings tbody tr").length === 2`)
	p.quiet()
}
