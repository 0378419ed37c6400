package browser

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/graphd/graphd"
	"github.com/graphd/graphd/client"
	"github.com/graphd/graphd/examples"
	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/web/make/npm"
)

// axeCore looks for what keeps people out of a page who cannot see it, or use no mouse.
var axeCore = npm.Package{Name: "axe-core", Version: "4.14.1",
	Sum: "e6b0ce02b84d892e2e33e403485e7f3d6c29e2be6df65daf44d89ba564139745"}

// widths are those of a telephone, a tablet and a laptop.
var widths = []int{390, 1024, 1440}

// demo are graphs to look at: one that moves, one that waits, one that cannot run, and one with keys.
func demo(t *testing.T) map[string][]byte {
	t.Helper()
	moving, err := examples.Files.ReadFile("market-maker/market_maker.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return map[string][]byte{"market_maker": moving, "quotes": []byte(quotes), "waiting": []byte(waiting),
		"spread": []byte(spread), "failing": []byte(failing)}
}

const waiting = `graph: waiting
description: Waits for two inputs, of which one never comes.
accumulators: { left: {}, right: {} }
reactor: { when: all }
nodes: { both: { expr: left + right } }
outputs: { sums: { from: both, sink: { drop: {} } } }
`

const spread = `graph: spread
description: The spread of each symbol.
accumulators:
  book:
    source:
      generator:
        every: 200ms
        expr: '{ "symbol": "S" + string(i % 7), "bid": 100 + i % 5, "ask": 101 + i % 3 }'
reactor: { key: symbol }
nodes: { gap: { expr: book.ask - book.bid } }
outputs: { gaps: { from: gap, sink: { drop: {} } } }
`

const failing = `graph: failing
description: Fails on every second event.
accumulators:
  ticks: { source: { generator: { every: 300ms, expr: i % 2 } } }
nodes: { inverse: { expr: 10 / ticks } }
outputs: { o: { from: inverse, sink: { drop: {} } } }
`

// view has a page be so wide, in a theme, and hear what it complains of.
func (p *page) view(width int, theme string) {
	p.b.t.Helper()
	for method, params := range map[string]map[string]any{
		"Runtime.enable": {}, "Log.enable": {},
		"Emulation.setDeviceMetricsOverride": {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": false},
		"Emulation.setEmulatedMedia": {"features": []map[string]string{{"name": "prefers-color-scheme", "value": theme},
			{"name": "prefers-reduced-motion", "value": "reduce"}}},
	} {
		if why := p.b.call(p.session, method, params, &struct{}{}); why != "" {
			p.b.t.Fatalf("%s: %s", method, why)
		}
	}
}

// tries of two seconds each is how long something may take to be shown.
const tries = 20

// until waits for an expression of the page to be true, and fails where it never is.
func (p *page) until(what, expression string) {
	p.b.t.Helper()
	promise := fmt.Sprintf(`new Promise(done => { let n = 0; const look = () => {
		let is = false
		try { is = %s } catch {}
		is ? done("yes") : n++ < 100 ? setTimeout(look, 20) : done("no") }; look() })`, expression)
	for range tries {
		if p.try(promise) == "yes" {
			return
		}
	}
	shown := p.now(`document.body.innerText`)
	p.b.t.Fatalf("the page does not show %s\n%s\n%s", what, shown, strings.Join(p.b.said, "\n"))
}

// now is what an expression of the page comes to, as a text.
func (p *page) now(expression string) string {
	p.b.t.Helper()
	return p.try("Promise.resolve(String(" + expression + "))")
}

// keep stores a picture of the page, where GRAPHD_SCREENSHOTS names a folder.
func (p *page) keep(name string, whole bool) {
	p.b.t.Helper()
	dir := os.Getenv("GRAPHD_SCREENSHOTS")
	if dir == "" {
		return
	}
	var shot struct{ Data string }
	// A scroll bar takes room of the page's width and is not in the picture.
	hidden := map[string]any{"hidden": true}
	if why := p.b.call(p.session, "Emulation.setScrollbarsHidden", hidden, &struct{}{}); why != "" {
		p.b.t.Fatal(why)
	}
	how := map[string]any{"captureBeyondViewport": whole}
	if why := p.b.call(p.session, "Page.captureScreenshot", how, &shot); why != "" {
		p.b.t.Fatal(why)
	}
	png, err := base64.StdEncoding.DecodeString(shot.Data)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, name+".png"), png, 0o644)
	}
	if err != nil {
		p.b.t.Fatal(err)
	}
}

// violation is what axe has found.
type violation struct {
	ID, Impact, Help string
	Nodes            []struct {
		Target         []string
		FailureSummary string
	}
}

// accessible has axe look at the page, and fails with each violation that it finds.
func (p *page) accessible(name, axe string) {
	p.b.t.Helper()
	if axe == "" {
		return
	}
	p.now("typeof axe === 'undefined' && (" + "0, eval)" + "(" + strconv.Quote(axe) + ")")
	text := p.try(`axe.run(document, { resultTypes: ["violations"] }).then(found => JSON.stringify(found.violations),
		error => JSON.stringify([{ id: "axe", help: String(error) }]))`)
	var found []violation
	if err := json.Unmarshal([]byte(text), &found); err != nil {
		p.b.t.Fatalf("%s: axe has not looked: %v %s", name, err, text)
	}
	for _, v := range found {
		p.b.t.Errorf("%s: %s (%s): %s", name, v.ID, v.Impact, v.Help)
		for _, n := range v.Nodes {
			p.b.t.Errorf("  %v: %s", n.Target, n.FailureSummary)
		}
	}
}

// axe is the text of axe, "" where npm cannot fetch it.
func axe(t *testing.T) (text string) {
	t.Helper()
	archive, err := npm.Fetch(t.Context(), axeCore)
	if errors.Is(err, npm.ErrAway) && os.Getenv("GRAPHD_TEST_REQUIRE") == "" {
		t.Logf("nothing is looked at by axe: %v", err)
		return ""
	}
	if err == nil {
		err = npm.Each(archive, func(name string, file []byte) error {
			if name == "axe.min.js" {
				text = string(file)
			}
			return nil
		})
	}
	if err != nil || text == "" {
		t.Fatalf("axe: %v", err)
	}
	return text
}

// quiet fails with what the page has complained of.
func (p *page) quiet() {
	p.b.t.Helper()
	p.now("1") // what was said before is heard with the answer
	for _, said := range p.b.said {
		p.b.t.Errorf("the page complains: %s", said)
	}
	p.b.said = nil
}

// TestPageAddresses: a view is had again by its address, and a graph that is not there is told.
func TestPageAddresses(t *testing.T) {
	port, _ := run(t, graphd.Config{Declarations: demo(t)})
	at := "http://localhost:" + port
	b := start(t)
	p := b.open(at + "/?q=waits&sort=graph")
	p.until("what was searched for", `document.querySelectorAll(".graphs .body .row").length === 1 &&
		document.getElementById("search").value === "waits" &&
		document.querySelector(".c-graph a").textContent === "waiting"`)
	p = b.open(at + "/graphs/waiting")
	p.until("what it waits for",
		`document.querySelector("#ready").parentElement.innerText.includes("Waiting for left and right")`)
	c, err := client.New(client.Config{BaseURL: at})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Push(t.Context(), "waiting", "left", json.RawMessage("1")); err != nil {
		t.Fatal(err)
	}
	p.until("what has come", `document.querySelector("#ready").parentElement.innerText.includes("1 of 2 inputs")`)
	if _, err := c.Push(t.Context(), "waiting", "right", json.RawMessage("2")); err != nil {
		t.Fatal(err)
	}
	p.until("that it has fired", `document.querySelectorAll(".firings tbody tr").length === 1`)
	p = b.open(at + "/graphs/waiting?epoch=1&at=n%3Aboth")
	p.until("the epoch of the address", `document.querySelector(".panel h2").textContent === "Epoch 1" &&
		document.querySelector(".piece .value").textContent === "3"`)
	p = b.open(at + "/graphs/waiting?epoch=9999")
	p.until("that there is no such epoch, and no picture of it", `document.querySelector(".panel [role=alert]") &&
		document.querySelector(".picture") && !document.querySelector(".asof")`)
	p = b.open(at + "/graphs/nothing")
	p.until("that there is no such graph", `document.body.innerText.includes("There is no graph of this name")`)
}

// TestPageSignsIn: where the daemon asks for a token the page asks for it, once, and keeps it nowhere.
func TestPageSignsIn(t *testing.T) {
	port, said := run(t, graphd.Config{Declarations: demo(t)})
	at := "http://localhost:" + port
	c, err := client.New(client.Config{BaseURL: at})
	if err != nil {
		t.Fatal(err)
	}
	made, err := c.CreateToken(t.Context(), api.TokenRequest{Name: "root", Role: "platform-admin"})
	if err != nil {
		t.Fatal(err)
	}
	p := start(t).open(at + "/graphs/quotes?at=n%3An")
	p.view(390, "light")
	p.until("that it asks for a token", `document.getElementById("token")`)
	p.accessible("sign in", axe(t))
	p.keep("signin", false)
	p.signIn("gd_nothing")
	p.until("that the token is none", `document.querySelector("[role=alert]").textContent !== ""`)
	p.signIn(made.Text)
	p.until("the view that was asked for", `document.querySelector(".piece h3").textContent === "n"`)
	held := p.now(`JSON.stringify([document.cookie, { ...localStorage }, { ...sessionStorage }, location.href])`)
	if strings.Contains(held, strings.Split(made.Text, "_")[1]) {
		t.Errorf("the page has kept the token: %s", held)
	}
	for _, line := range said.requests("") {
		if strings.Contains(line, made.Text) {
			t.Errorf("the log has the token: %s", line)
		}
	}
	p.now(`[...document.querySelectorAll(".top button")].find(b => b.textContent === "Sign out").click()`)
	p.until("that it is left", `document.getElementById("token") && document.body.innerText.includes("signed out")`)
}

// TestPageSaysThatNoSessionIsKept: a browser keeps no session that came over plain HTTP from another machine, and says
// nothing of that; the page does.
func TestPageSaysThatNoSessionIsKept(t *testing.T) {
	port, _ := run(t, graphd.Config{Hosts: []string{"daemon.example"}})
	c, err := client.New(client.Config{BaseURL: "http://localhost:" + port})
	if err != nil {
		t.Fatal(err)
	}
	made, err := c.CreateToken(t.Context(), api.TokenRequest{Name: "root", Role: "platform-admin"})
	if err != nil {
		t.Fatal(err)
	}
	p := start(t).open("http://daemon.example:" + port + "/")
	p.signIn(made.Text)
	p.until("why one is not in", `
		document.querySelector("[role=alert]").textContent.includes("does not keep the session")`)
}

// TestPageOfManyGraphs: of a thousand graphs those are in the page that can be seen, and the rest by scrolling.
func TestPageOfManyGraphs(t *testing.T) {
	all := map[string][]byte{}
	for i := range 1000 {
		name := fmt.Sprintf("g%03d", i)
		all[name] = []byte(strings.Replace(quotes, "graph: quotes", "graph: "+name, 1))
	}
	port, _ := run(t, graphd.Config{Declarations: all})
	p := start(t).open("http://localhost:" + port + "/")
	p.view(1440, "light")
	p.until("a thousand graphs", `document.querySelector(".graphs").getAttribute("aria-rowcount") === "1001"`)
	if n := p.now(`document.querySelectorAll(".graphs .body .row").length`); len(n) > 2 {
		t.Errorf("the page has %s rows", n)
	}
	// A graph that stays in sight keeps its element, and who is at it stays there; the others' are used again, and who
	// was at one of these is at none that has come instead.
	const at = `document.activeElement.closest(".row")?.getAttribute("aria-rowindex")`
	p.now(`document.querySelectorAll(".graphs .body .row").forEach(r => r.old = true),
		document.querySelector('[aria-rowindex="9"] a').focus({ preventScroll: true })`)
	p.now(`scrollTo(0, scrollY + document.querySelector(".graphs .body").getBoundingClientRect().top + 400)`)
	p.until("others", `document.querySelector('[aria-rowindex="36"]') &&
		!document.querySelector('[aria-rowindex="2"]')`)
	if row := p.now(at); !strings.Contains(row, "9") {
		t.Errorf("who was at the eighth graph is at the row %s", row)
	}
	p.now(`(name => new MutationObserver(() => { // what is drawn is as it is now before it is painted
		const at = document.activeElement
		window.strayed ||= at.closest(".row") && at.textContent !== name
	}).observe(document.querySelector(".graphs .body"), { subtree: true, childList: true, characterData: true,
		attributes: true }))(document.activeElement.textContent)`)
	p.now(`scrollTo(0, document.body.scrollHeight)`)
	p.until("the last", `document.querySelector('[aria-rowindex="1001"]')`)
	p.until("that nobody is at a graph", `document.activeElement === document.body`)
	if p.now(`window.strayed`) == "true" {
		t.Error("who was at a graph was at another, for as long as that was painted")
	}
	const fresh = `[...document.querySelectorAll(".graphs .body .row")].filter(r => !r.old).length`
	if n := p.now(fresh); len(n) > 1 {
		t.Errorf("%s rows were made anew", n)
	}
	p.now(`(field => { field.value = "g77"; field.dispatchEvent(new Event("input", { bubbles: true })) })(
		document.getElementById("search"))`)
	p.until("what was searched for", `document.querySelector(".graphs").getAttribute("aria-rowcount") === "11" &&
		location.search === "?q=g77"`)
}
