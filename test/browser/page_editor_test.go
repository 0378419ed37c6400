package browser

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/graphd/graphd"
	"github.com/graphd/graphd/client"
)

// checked takes out of what the page has complained of that the daemon has refused texts, which the browser says of
// each.
func (p *page) checked() {
	p.b.t.Helper()
	p.now("1") // what was said before is heard with the answer
	p.b.said = slices.DeleteFunc(p.b.said, func(said string) bool {
		return strings.Contains(said, "the server responded with a status of 422")
	})
}

// press has a key pressed, as somebody does.
func (p *page) press(key, code string, number, modifiers int) {
	p.b.t.Helper()
	for _, kind := range []string{"rawKeyDown", "keyUp"} {
		if why := p.b.call(p.session, "Input.dispatchKeyEvent", map[string]any{"type": kind, "key": key, "code": code,
			"windowsVirtualKeyCode": number, "modifiers": modifiers}, &struct{}{}); why != "" {
			p.b.t.Fatal(why)
		}
	}
}

const (
	written = "#declaration"
	right   = "graph: mine\naccumulators: { a: {} }\nnodes:\n  double: { expr: a * 2 }\n" +
		"outputs: { o: { from: double, sink: { drop: {} } } }\n"
	rightsTwo = "graph: mine\ncases:\n  - name: two\n    steps:\n      - push: { a: 1 }\n      - expect: { o: [3] }\n"
)

// TestPageWritesGraphs: a graph is written in the page, where mistakes stand as one types, its tests run beside, and it
// is live; it is changed in the same way, what is wrong cannot be applied, and an earlier revision comes back.
func TestPageWritesGraphs(t *testing.T) {
	port, _ := run(t, graphd.Config{})
	at, text := "http://localhost:"+port, axe(t)
	c, err := client.New(client.Config{BaseURL: at})
	if err != nil {
		t.Fatal(err)
	}
	p := start(t).open(at + "/")
	p.view(1024, "light")
	p.until("the way to a new graph", `document.querySelector("a.button")`)
	p.now(`document.querySelector("a.button").click()`)
	p.says(".checked", "No mistake")
	p.click("main", "Run the tests")
	p.says(".ran", "1 case has passed")
	p.accessible("new graph", text)
	p.choose(written, strings.Replace(right, "expr: a *", "expr: b *", 1))
	p.says(".checked", "1 mistake")
	p.until("the mistake at its place", `document.querySelector(".text-of mark").textContent === "b" &&
		document.querySelector(".lines-of .bad").textContent === "4" &&
		document.querySelector(".text-of .remark").textContent.includes("b")`)
	p.says("#declaration-said", "Line 4, column ")
	p.until("that it cannot be applied", `[...document.querySelectorAll("button.main")].every(b => b.disabled)`)
	for _, theme := range []string{"light", "dark"} {
		for _, width := range widths {
			p.view(width, theme)
			p.accessible(fmt.Sprintf("mistake at %d, %s", width, theme), text)
			p.until("no scrolling aside", `document.documentElement.scrollWidth <= innerWidth`)
			p.keep(fmt.Sprintf("editor-%d-%s", width, theme), true)
		}
	}
	p.view(1024, "light")
	p.choose(written, right)
	p.says(".checked", "No mistake")
	p.choose("#tests", rightsTwo)
	p.click("main", "Run the tests")
	p.says("#tests-said", "Line 6 output o: value 1: is 2, expected 3")
	p.checked()
	p.click("main", "Apply")
	p.until("the graph's page", `location.pathname === "/graphs/mine" && document.querySelector(".picture .box.node")`)
	if _, err := c.Push(t.Context(), "mine", "a", []byte("21")); err != nil {
		t.Fatal(err)
	}
	p.until("its value", `[...document.querySelectorAll(".picture .box.node .text")].some(v => v.textContent === "42")`)
	p.changed(at, c, text)
	p.checked()
	p.quiet()
}

// changed changes the graph in the page, and goes back.
func (p *page) changed(at string, c *client.Client, axe string) {
	p.b.t.Helper()
	const section = "section[aria-labelledby=declared]"
	p.click(section, "Show revision 1")
	p.click(section, "Edit")
	p.says(section+" .checked", "No mistake")
	p.choose(written, strings.Replace(right, "expr: a * 2", "expr: a +", 1))
	p.says(section+" #declaration-said", "Line 4")
	p.choose(written, "graph: mine\n")
	p.now(`(field => { field.focus(); field.setSelectionRange(field.value.length, field.value.length) })(` +
		`document.querySelector("` + written + `"))`)
	p.press(" ", "Space", 32, 2)
	p.until("the fields that there are", `[...document.querySelectorAll("[role=option] strong")].some(o =>
		o.textContent === "accumulators") &&
		![...document.querySelectorAll("[role=option] strong")].some(o => o.textContent === "graph") &&
		document.querySelector("[role=option][aria-selected=true]")`)
	p.accessible("completion", axe)
	p.keep("editor-options", false)
	p.press("Enter", "Enter", 13, 0)
	p.until("the field in the text", `document.querySelector("`+written+`").value.length > "graph: mine\n".length + 4`)
	p.choose(written, strings.Replace(right, "a * 2", "a * 3", 1))
	p.says(section+" .editor", "changed nodes.double")
	p.accessible("change", axe)
	p.click(section, "Apply")
	p.says(section+" .did", "Revision 2 runs")
	p.click(section, "Close")
	p.says(section+" pre", "a * 3")
	p.click(section, "1")
	p.click(section, "Go back to revision 1")
	p.click(section+" .act", "Go back")
	p.says(section+" .act .did", "Revision 3 runs")
	found, err := c.Declaration(p.b.t.Context(), "mine")
	if err != nil || string(found) != right {
		p.b.t.Errorf("what runs is %s, %v", found, err)
	}
}

// TestPageCompletesBehindADot: what is typed behind a dot is completed by what the name is, while the text is no
// declaration, and what was chosen stands in the text.
func TestPageCompletesBehindADot(t *testing.T) {
	port, _ := run(t, graphd.Config{})
	text := "graph: mine\naccumulators:\n  orders:\n    schema: { type: object, properties: { price: " +
		"{ type: number }, id: { type: string } } }\nnodes:\n  n: { expr: '(1 + ' }\n" +
		"outputs: { o: { from: n, sink: { drop: {} } } }\n"
	p := start(t).open("http://localhost:" + port + "/")
	p.view(1024, "light")
	p.until("the way to a new graph", `document.querySelector("a.button")`)
	p.now(`document.querySelector("a.button").click()`)
	p.choose(written, text)
	p.now(fmt.Sprintf(`(field => { field.focus(); field.setSelectionRange(%[1]d, %[1]d) })(
		document.querySelector(%[2]q))`, strings.Index(text, "' }"), written))
	if why := p.b.call(p.session, "Input.insertText", map[string]any{"text": "orders."}, &struct{}{}); why != "" {
		t.Fatal(why)
	}
	p.until("the fields of what comes", `[...document.querySelectorAll("[role=option] strong")].map(o =>
		o.textContent).join() === "id,price" &&
		[...document.querySelectorAll("[role=option]")].some(o => o.textContent.trim() === "price float")`)
	p.keep("editor-fields", false)
	p.press("ArrowDown", "ArrowDown", 40, 0)
	p.press("ArrowDown", "ArrowDown", 40, 0)
	p.press("Enter", "Enter", 13, 0)
	p.until("the field in the text", `document.querySelector("`+written+`").value.includes("'(1 + orders.price' }")`)
	p.checked()
	p.quiet()
}
