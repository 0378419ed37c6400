package browser

import (
	"strings"
	"testing"

	"github.com/graphd/graphd"
	"github.com/graphd/graphd/client"
)

// TestPageOfRevisions: the page shows what runs and what ran before, how they differ, and goes back once it was told
// to, and not where another revision has come in between.
func TestPageOfRevisions(t *testing.T) {
	port, _ := run(t, graphd.Config{})
	at, text := "http://localhost:"+port, axe(t)
	c, err := client.New(client.Config{BaseURL: at})
	if err != nil {
		t.Fatal(err)
	}
	apply := func(declaration string) {
		t.Helper()
		if _, err := c.Apply(t.Context(), "steps", []byte(declaration), 0, false); err != nil {
			t.Fatal(err)
		}
	}
	const first = "graph: steps\naccumulators: { a: {} }\nnodes:\n  double: { expr: a * 2 }\n" +
		"outputs: { o: { from: double, sink: { drop: {} } } }\n"
	apply(first)
	apply(strings.Replace(first, "a * 2", "a * 3", 1))
	p := start(t).open(at + "/graphs/steps")
	p.view(1024, "light")
	const section = "section[aria-labelledby=declared]"
	p.click(section, "Show revision 2")
	p.says(section+" pre", "expr: a * 3")
	p.accessible("declaration", text)
	p.click(section, "1")
	p.until("what is different", `document.querySelector("`+section+` del").textContent.includes("a * 2") &&
		document.querySelector("`+section+` ins").textContent.includes("a * 3") &&
		document.querySelectorAll("`+section+` :is(del, ins)").length === 2`)
	p.click(section, "Go back to revision 1")
	p.says(section+" .act .reasons", "double")
	p.accessible("go back", text)
	p.keep("revisions", true)
	apply(strings.Replace(first, "a * 2", "a * 4", 1))
	p.until("the one in between", `document.querySelectorAll(".revisions tbody tr").length === 3`)
	p.click(section+" .act", "Go back")
	p.until("that another has come", `document.querySelector("`+section+` .act [role=alert]")`)
	p.click(section+" .act", "Close")
	p.click(section, "Go back to revision 1")
	p.until("what would change", `document.querySelector("`+section+` .act .reasons li")`)
	p.click(section+" .act", "Go back")
	p.says(section+" .act .did", "Revision 4 runs")
	found, err := c.Declaration(t.Context(), "steps")
	if err != nil || string(found) != first {
		t.Errorf("what runs is %s, %v", found, err)
	}
	p.refused(1)
	p.quiet()
}
